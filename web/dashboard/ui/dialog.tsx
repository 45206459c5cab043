import { type ReactNode, Suspense } from 'react'
import styles from './dialog.module.css'
import type { DialogFrameProps } from './dialog-frame.tsx'
import { lazyWithRetry, loadWithRetry } from './load-with-retry.ts'

// Not needed to see the first view.
const loadFrame = () => import('./dialog-frame.tsx')
const DialogFrame = lazyWithRetry(loadFrame)

/** Dialogs then open even if the server cannot be reached, for example the one that asks for the password. */
export const preloadDialogs = () => void loadWithRetry(loadFrame)

export function Dialog({ isOpen, ...rest }: DialogFrameProps & { isOpen: boolean }) {
  return <Suspense>{isOpen && <DialogFrame {...rest} />}</Suspense>
}

/** The buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
)
