import type { ReactNode } from 'react'
import { messages } from '../../messages/messages.ts'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import styles from './step.module.css'

type StepProps = { number: number; title: string; isDone: boolean; children: ReactNode }

/** One of the first steps. */
export const Step = ({ number, title, isDone, children }: StepProps) => (
  <Panel
    title={
      <span className={styles.title}>
        <span className={isDone ? styles.doneMark : styles.mark} aria-hidden="true">
          {isDone ? <Icon name="check" size={14} /> : number}
        </span>
        {title}
        {isDone && <span className="visually-hidden">({messages.home.done})</span>}
      </span>
    }
  >
    {children}
  </Panel>
)
