import { lazy, type ReactNode, Suspense } from 'react'
import styles from './dialog.module.css'
import type { DialogFrameProps } from './dialog-frame.tsx'

// Most visits open no dialog.
const DialogFrame = lazy(() => import('./dialog-frame.tsx'))

export function Dialog({ isOpen, ...rest }: DialogFrameProps & { isOpen: boolean }) {
  return <Suspense>{isOpen && <DialogFrame {...rest} />}</Suspense>
}

/** The buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
)
