import type { ReactNode } from 'react'
import { texts } from '../../../texts/texts.ts'
import styles from './table-toggle.module.css'

/** The table of a chart. */
export const TableToggle = ({ children }: { children: ReactNode }) => (
  <details className={styles.details}>
    <summary>{texts.viewers.asTable}</summary>
    <div className={styles.table}>{children}</div>
  </details>
)
