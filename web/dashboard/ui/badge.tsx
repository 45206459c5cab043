import type { ReactNode } from 'react'
import styles from './badge.module.css'
import { classNames } from './class-names.ts'

export type BadgeVariant = 'plain' | 'good' | 'warn' | 'bad' | 'info' | 'live'

export const Badge = ({ variant = 'plain', children }: { variant?: BadgeVariant; children: ReactNode }) => (
  <span className={classNames(styles.badge, variant !== 'plain' && styles[variant])}>{children}</span>
)
