import type { ReactNode } from 'react'
import { isForbidden, isMissing, OfflineError } from '../api/problem.ts'
import { messages } from '../messages/messages.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import styles from './states.module.css'

type EmptyStateProps = { icon: IconName; title: string; children?: ReactNode; actions?: ReactNode }

/** What a view shows if there is nothing yet. */
export function EmptyState({ icon, title, children, actions }: EmptyStateProps) {
  return (
    <div className={styles.center}>
      <div className={styles.mark}>
        <Icon name={icon} size={24} />
      </div>
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
      {actions && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}

/** What a view shows if it could not be loaded. */
export function ErrorState({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const isOffline = error instanceof OfflineError
  const isGone = isMissing(error)
  const { states } = messages
  const title = isOffline
    ? states.offlineTitle
    : isGone
      ? states.notFoundTitle
      : isForbidden(error)
        ? states.noPermissionTitle
        : states.errorTitle
  return (
    <div role="alert">
      <EmptyState
        icon="warning"
        title={title}
        actions={onRetry && !isGone && <Button onClick={onRetry}>{messages.actions.retry}</Button>}
      >
        {isOffline ? states.offline : isGone ? states.notFound : error.message}
      </EmptyState>
    </div>
  )
}

/** A sentence about what failed, beside the control that failed. */
export function ErrorText({ error, children }: { error: Error; children?: ReactNode }) {
  return (
    <div className={styles.error} role="alert">
      <Icon name="warning" size={16} />
      <span>
        {error.message} {children}
      </span>
    </div>
  )
}

export function Loading() {
  return (
    <div className={styles.center} role="status">
      <div className={styles.spinner} />
      <span className="visually-hidden">{messages.states.loading}</span>
    </div>
  )
}

/** Takes the place of something that is loading. */
export const Skeleton = ({ width = '100%', height = 16 }: { width?: string | number; height?: number }) => (
  <div className={styles.skeleton} style={{ width, height }} aria-hidden="true" />
)
