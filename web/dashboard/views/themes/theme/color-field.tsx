import { useId } from 'react'
import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { parseColor, toHex, toRgba } from './color.ts'
import styles from './color-field.module.css'

type ColorFieldProps = {
  label: string
  value: string
  error: string | undefined
  onChange(value: string): void
}

/** A CSS color as text, by the color picker of the browser, and its opacity by a slider. */
export function ColorField({ label, value, error, onChange }: ColorFieldProps) {
  const id = useId()
  const color = parseColor(value)
  const problem = color ? error : messages.themes.invalidColor
  const opaque = color ?? { r: 0, g: 0, b: 0, a: 1 }
  return (
    <div className={styles.field}>
      <label className="secondary" htmlFor={id}>
        {label}
      </label>
      <div className={styles.controls}>
        <span className={styles.swatch}>
          <span className={styles.sample} style={{ background: color ? toRgba(color) : undefined }} />
          <input
            type="color"
            className={styles.picker}
            aria-label={messages.themes.colorPicker(label)}
            value={toHex(opaque)}
            onChange={(event) => {
              const chosen = parseColor(event.target.value)
              if (chosen) onChange(toRgba({ ...chosen, a: opaque.a }))
            }}
          />
        </span>
        <input
          id={id}
          type="text"
          className={classNames('control', styles.text)}
          spellCheck={false}
          maxLength={100}
          value={value}
          aria-invalid={problem ? true : undefined}
          aria-describedby={problem ? `${id}-error` : undefined}
          onChange={(event) => onChange(event.target.value)}
        />
        <input
          type="range"
          className={styles.alpha}
          min={0}
          max={100}
          aria-label={messages.themes.opacity(label)}
          aria-valuetext={`${Math.round(opaque.a * 100)} %`}
          value={Math.round(opaque.a * 100)}
          disabled={!color}
          onChange={(event) => onChange(toRgba({ ...opaque, a: Number(event.target.value) / 100 }))}
        />
      </div>
      {problem && (
        <div className="error-text" id={`${id}-error`} role="alert">
          {problem}
        </div>
      )}
    </div>
  )
}
