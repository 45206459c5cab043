import type { ReactNode } from 'react'
import styles from './form.module.css'

type FormProps = { className?: string | undefined; onSubmit(): void; children: ReactNode }

/** A form that the page submits itself. Its fields are below each other, unless it has a class. */
export const Form = ({ className = styles.form, onSubmit, children }: FormProps) => (
  <form
    className={className}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
  </form>
)
