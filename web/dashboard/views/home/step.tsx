import type { ReactNode } from 'react'
import { messages } from '../../messages/messages.ts'
import { classNames } from '../../ui/class-names.ts'
import { Icon } from '../../ui/icon.tsx'
import styles from './step.module.css'

type StepProps = { number: number; title: string; isDone: boolean; children?: ReactNode }

/** One of the first steps. */
export const Step = ({ number, title, isDone, children }: StepProps) => (
  <li className={styles.step}>
    <span className={classNames(styles.mark, isDone && styles.done)} aria-hidden="true">
      {isDone ? <Icon name="check" size={14} /> : number}
    </span>
    <div className={styles.body}>
      <h3 className={styles.title}>
        {title}
        {isDone && <span className="visually-hidden"> ({messages.home.done})</span>}
      </h3>
      {children}
    </div>
  </li>
)
