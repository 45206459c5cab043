import type { ReactNode } from 'react'
import { messages } from '../../messages/messages.ts'
import { Icon } from '../../ui/icon.tsx'
import styles from './step.module.css'

type StepProps = { number: number; title: string; isDone: boolean; children: ReactNode }

/** One of the first steps. */
export function Step({ number, title, isDone, children }: StepProps) {
  return (
    <section className={styles.step} aria-labelledby={`step-${number}`}>
      <h2 id={`step-${number}`} className={styles.head}>
        <span className={isDone ? styles.doneMark : styles.mark} aria-hidden="true">
          {isDone ? <Icon name="check" size={14} /> : number}
        </span>
        {title}
        {isDone && <span className="visually-hidden">({messages.home.done})</span>}
      </h2>
      <div className={styles.body}>{children}</div>
    </section>
  )
}
