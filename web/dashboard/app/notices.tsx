import { Suspense, useState } from 'react'
import { useHasEnded } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { Button } from '../ui/button.tsx'
import { lazyWithRetry, useLoadProblem } from '../ui/load-with-retry.ts'
import styles from './shell.module.css'

const LoginDialog = lazyWithRetry(() => import('./login-dialog.tsx'))

/** What concerns the whole page. The view below stays as it is. */
export function Notices({ isLost }: { isLost: boolean }) {
  const problem = useLoadProblem()
  const hasEnded = useHasEnded()
  const [isClosed, setClosed] = useState(false)
  if (isClosed && !hasEnded) setClosed(false)
  return (
    <>
      <div role="status">
        {problem === 'updated' || problem === 'failed' ? (
          <div className={styles.notice}>
            {messages.states[problem]}
            <Button onClick={() => location.reload()}>{messages.actions.reload}</Button>
          </div>
        ) : hasEnded && isClosed ? (
          <div className={styles.notice}>
            {messages.login.ended}
            <Button onClick={() => setClosed(false)}>{messages.login.title}</Button>
          </div>
        ) : (
          isLost && !hasEnded && <div className={styles.notice}>{messages.states.reconnecting}</div>
        )}
      </div>
      <Suspense>{hasEnded && !isClosed && <LoginDialog onClose={() => setClosed(true)} />}</Suspense>
    </>
  )
}
