import { messages } from '../../../../messages/messages.ts'
import { CheckField, SelectField, TextField } from '../../../../ui/field.tsx'
import { formatNumber } from '../../../../ui/format.ts'
import { type EmbedOptions, flags, isTime, isWidth, widths } from './embed-code.ts'
import styles from './embed-tab.module.css'

const words = messages.video.embed
const defaultWidth = '640'

type EmbedOptionsProps = { options: EmbedOptions; onChange(options: EmbedOptions): void }

export function EmbedOptionsForm({ options, onChange }: EmbedOptionsProps) {
  const set = (change: Partial<EmbedOptions>) => onChange({ ...options, ...change })
  const { start, end, width } = options
  const errorOf = (time: string) => (time.trim() === '' || isTime(time) ? undefined : words.timeError)
  return (
    <fieldset className={styles.options}>
      <legend>{words.options}</legend>
      <div className={styles.flags}>
        {flags.map((name) => (
          <CheckField
            key={name}
            label={words[name]}
            hint={name === 'autoplay' && options.autoplay && !options.muted ? words.autoplayHint : undefined}
            checked={options[name]}
            onChange={(event) => set({ [name]: event.target.checked })}
          />
        ))}
      </div>
      <div className={styles.fields}>
        <TextField
          label={words.start}
          hint={words.timeHint}
          inputMode="decimal"
          value={start}
          error={errorOf(start)}
          onChange={(event) => set({ start: event.target.value })}
        />
        <TextField
          label={words.end}
          inputMode="decimal"
          value={end}
          error={errorOf(end)}
          onChange={(event) => set({ end: event.target.value })}
        />
        <SelectField
          label={words.size}
          value={width === null ? 'responsive' : 'fixed'}
          onChange={(event) => set({ width: event.target.value === 'fixed' ? defaultWidth : null })}
        >
          <option value="responsive">{words.responsive}</option>
          <option value="fixed">{words.fixed}</option>
        </SelectField>
        {width !== null && (
          <TextField
            label={words.width}
            inputMode="numeric"
            value={width}
            error={
              isWidth(width)
                ? undefined
                : words.widthError(formatNumber(widths.min), formatNumber(widths.max))
            }
            onChange={(event) => set({ width: event.target.value })}
          />
        )}
      </div>
      <p className="secondary">{words.colors}</p>
    </fieldset>
  )
}
