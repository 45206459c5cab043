import type { ReactNode } from 'react'
import styles from './field.module.css'

type FormProps = {
  className?: string | undefined
  /** The button is beside the field. */
  isInline?: boolean
  onSubmit(): void
  children: ReactNode
}

/** A form that the page submits itself. */
export const Form = ({ isInline, className, onSubmit, children }: FormProps) => (
  <form
    className={className ?? (isInline ? styles.withButton : 'stack')}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
  </form>
)
