import type { ReactNode } from 'react'
import styles from './badge.module.css'
import { classNames } from './class-names.ts'

export type BadgeLook = 'plain' | 'good' | 'warn' | 'bad' | 'info'

export const Badge = ({ look = 'plain', children }: { look?: BadgeLook; children: ReactNode }) => (
  <span className={classNames(styles.badge, look !== 'plain' && styles[look])}>{children}</span>
)
