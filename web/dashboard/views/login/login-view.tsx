import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { choosePassword, logInByLink, sessionQuery } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { commandName } from '../../app/command-name.ts'
import { rememberedEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorText } from '../../ui/states.tsx'
import styles from './login-view.module.css'
import { loginError, PasswordForm } from './password-form.tsx'

/** The token of a login link is in the fragment, which browsers do not send to the server. */
const readLinkToken = () => new URLSearchParams(location.hash.slice(1)).get('link')

export function LoginView() {
  const client = useQueryClient()
  const router = useRouter()
  const { next, ended } = useSearch({ from: '/login' })
  const [token] = useState(readLinkToken)
  const [isChoosing, setChoosing] = useState(false)
  useEffect(() => {
    document.title = `${messages.login.title} – ${messages.product}`
  }, [])
  const enter = () => router.history.push(`/dashboard${next ?? `/${rememberedEnvironment()}`}`)
  const onSession = (session: Session) => {
    client.setQueryData(sessionQuery.queryKey, session)
    // A reload must not try the link again.
    if (token) history.replaceState(null, '', location.pathname)
    if (session.mustChoosePassword) setChoosing(true)
    else enter()
  }
  const link = useMutation({ mutationFn: logInByLink, onSuccess: onSession })
  const { mutate } = link
  useEffect(() => {
    if (token) mutate(token)
  }, [token, mutate])

  if (isChoosing) return <ChoosePassword onDone={enter} />
  if (token && !link.error) {
    return (
      <Card title={messages.login.title}>
        <p role="status">{messages.login.checkingLink}</p>
      </Card>
    )
  }
  return (
    <Card title={messages.login.title} intro={ended ? messages.login.ended : messages.login.intro}>
      {link.error && <ErrorText error={linkError(link.error)} />}
      <PasswordForm onSession={onSession} />
      <p className="muted">
        {link.error ? messages.login.linkHint : messages.login.lost}
        <code className={styles.command}>{commandName()} login-link</code>
      </p>
    </Card>
  )
}

function Card({ title, intro, children }: { title: string; intro?: string; children: ReactNode }) {
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <div className={styles.brand}>
          <img src="/favicon.svg" width={28} height={28} alt="" />
          {messages.product}
        </div>
        <h1>{title}</h1>
        {intro && <p className="muted">{intro}</p>}
        {children}
      </div>
    </main>
  )
}

const linkError = (error: Error) =>
  error instanceof ApiProblem && error.status === 401
    ? new Error(messages.login.linkFailed)
    : loginError(error)

/** After a login link, so that the next login needs no link. */
function ChoosePassword({ onDone }: { onDone(): void }) {
  const client = useQueryClient()
  const [password, setPassword] = useState('')
  const save = useMutation({
    mutationFn: choosePassword,
    onSuccess: async () => {
      await client.refetchQueries(sessionQuery)
      onDone()
    },
  })
  const field = save.error instanceof ApiProblem ? save.error.fields.password : undefined
  return (
    <Card title={messages.login.chooseTitle} intro={messages.login.chooseIntro}>
      <Form onSubmit={() => save.mutate({ password })}>
        <TextField
          type="password"
          name="new-password"
          label={messages.login.newPassword}
          autoComplete="new-password"
          autoFocus
          required
          minLength={8}
          value={password}
          error={field}
          onChange={(event) => setPassword(event.target.value)}
        />
        {save.error && !field && <ErrorText error={save.error} />}
        <Button variant="primary" type="submit" disabled={save.isPending}>
          {messages.login.save}
        </Button>
        <Button variant="quiet" onClick={onDone}>
          {messages.login.later}
        </Button>
      </Form>
    </Card>
  )
}
