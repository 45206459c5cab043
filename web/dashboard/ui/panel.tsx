import { type ReactNode, useId } from 'react'
import styles from './panel.module.css'

type PanelProps = { title: ReactNode; actions?: ReactNode; children: ReactNode }

/** A titled part of a page. */
export function Panel({ title, actions, children }: PanelProps) {
  const id = useId()
  return (
    <section className={styles.panel} aria-labelledby={id}>
      <div className={styles.head}>
        <h2 id={id}>{title}</h2>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </section>
  )
}
