import type { ReactNode } from 'react'
import { messages } from '../messages/messages.ts'
import { Button } from '../ui/button.tsx'
import { ErrorText } from '../ui/states.tsx'
import { ConflictNotice } from './conflict-notice.tsx'
import styles from './draft.module.css'
import { LeaveGuard } from './leave-guard.tsx'
import type { DraftForm } from './use-draft.ts'

type SaveBarProps<T extends object> = {
  form: DraftForm<T>
  /** The names of the attributes, for conflicts. */
  labels: Record<keyof T, string>
  show?: (value: T[keyof T], name: keyof T) => string
  /** Whether something has to be corrected first. `children` explain it. */
  isBlocked?: boolean
  children?: ReactNode
}

/** The end of a form. It appears with the first change, and stays in sight. */
export function SaveBar<T extends object>({ form, labels, show, isBlocked, children }: SaveBarProps<T>) {
  const { isDirty, isSaving, error, discard } = form
  return (
    <>
      {(isDirty || error) && (
        <div className={styles.bar}>
          <ConflictNotice form={form} labels={labels} show={show} />
          {children}
          {error && <ErrorText error={error} />}
          <div className={styles.buttons}>
            <span className={styles.status} role="status">
              {messages.states.unsaved}
            </span>
            <Button onClick={discard} disabled={isSaving}>
              {messages.actions.discard}
            </Button>
            <Button variant="primary" type="submit" disabled={isSaving || isBlocked}>
              {messages.actions.save}
            </Button>
          </div>
        </div>
      )}
      <LeaveGuard isDirty={isDirty} />
    </>
  )
}
