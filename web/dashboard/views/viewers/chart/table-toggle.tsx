import type { ReactNode } from 'react'
import { messages } from '../../../messages/messages.ts'
import styles from './table-toggle.module.css'

/** The table of a chart. */
export const TableToggle = ({ children }: { children: ReactNode }) => (
  <details className={styles.details}>
    <summary>{messages.viewers.asTable}</summary>
    <div className={styles.table}>{children}</div>
  </details>
)
