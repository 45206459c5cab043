import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { sessionQuery } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { Dialog } from '../ui/dialog.tsx'
import { PasswordForm } from '../views/login/password-form.tsx'

/** Asks for the password over the page, so that nothing on it is lost. */
export default function LoginDialog({ onClose }: { onClose(): void }) {
  const client = useQueryClient()
  const focused = useRef(document.activeElement)
  useEffect(() => {
    const before = focused.current
    // The dialog still has the focus at this moment.
    return () => void setTimeout(() => before instanceof HTMLElement && before.focus())
  }, [])
  return (
    <Dialog isOpen onClose={onClose} title={messages.login.title} description={messages.login.endedHere}>
      <PasswordForm onSession={(session) => client.setQueryData(sessionQuery.queryKey, session)} />
      <p>{messages.login.lost}</p>
    </Dialog>
  )
}
