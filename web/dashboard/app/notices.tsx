import { Suspense, useState } from 'react'
import { useHasEnded } from '../api/session.ts'
import { texts } from '../texts/texts.ts'
import { Button } from '../ui/button.tsx'
import { patientLazy, useLoadProblem } from '../ui/load-patiently.ts'
import styles from './shell.module.css'

const LoginDialog = patientLazy(() => import('./login-dialog.tsx'))

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
            {texts.states[problem]}
            <Button onClick={() => location.reload()}>{texts.actions.reload}</Button>
          </div>
        ) : hasEnded && isClosed ? (
          <div className={styles.notice}>
            {texts.login.ended}
            <Button onClick={() => setClosed(false)}>{texts.login.title}</Button>
          </div>
        ) : (
          isLost && !hasEnded && <div className={styles.notice}>{texts.states.reconnecting}</div>
        )}
      </div>
      <Suspense>{hasEnded && !isClosed && <LoginDialog onClose={() => setClosed(true)} />}</Suspense>
    </>
  )
}
