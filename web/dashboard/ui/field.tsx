import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import styles from './field.module.css'

type Labels = {
  label: ReactNode
  hint?: ReactNode
  /** A sentence about what is wrong. */
  error?: string | undefined
}

type ControlProps = {
  id: string
  className: string
  'aria-invalid': boolean | undefined
  'aria-describedby': string | undefined
}

/** A label, a control, a hint and an error that belong together. */
export function Field({
  label,
  hint,
  error,
  children,
}: Labels & { children: (control: ControlProps) => ReactNode }) {
  const id = useId()
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: 'control',
        'aria-invalid': error ? true : undefined,
        'aria-describedby': describedBy || undefined,
      })}
      {hint && (
        <div className="secondary" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error && (
        <div className="error-text" id={`${id}-error`} role="alert">
          {error}
        </div>
      )}
    </div>
  )
}

type TextFieldProps = Labels & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }

export function TextField({ label, hint, error, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <input type="text" {...rest} {...control} />}
    </Field>
  )
}

type TextAreaProps = Labels & TextareaHTMLAttributes<HTMLTextAreaElement>

export function TextArea({ label, hint, error, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <textarea {...rest} {...control} />}
    </Field>
  )
}

type SelectFieldProps = Labels & SelectHTMLAttributes<HTMLSelectElement>

export function SelectField({ label, hint, error, children, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <select {...rest} {...control} className="control select">
          {children}
        </select>
      )}
    </Field>
  )
}

type CheckFieldProps = InputHTMLAttributes<HTMLInputElement> & { label: ReactNode; hint?: ReactNode }

export function CheckField({ label, hint, ...rest }: CheckFieldProps) {
  const id = useId()
  return (
    <div className={styles.check}>
      <input type="checkbox" {...rest} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <div className="secondary" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  )
}
