import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { logIn } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorText } from '../../ui/states.tsx'

export function PasswordForm({ onSession }: { onSession(session: Session): void }) {
  const [password, setPassword] = useState('')
  const login = useMutation({ mutationFn: logIn, onSuccess: onSession })
  return (
    <Form onSubmit={() => login.mutate(password)}>
      <TextField
        type="password"
        name="password"
        label={messages.login.password}
        autoComplete="current-password"
        autoFocus
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {login.error && <ErrorText error={loginError(login.error)} />}
      <Button variant="primary" type="submit" disabled={login.isPending}>
        {messages.login.submit}
      </Button>
    </Form>
  )
}

export function loginError(error: Error): Error {
  if (!(error instanceof ApiProblem)) return error
  if (error.status === 401) return new Error(messages.login.wrong)
  if (error.status === 429) return new Error(messages.login.tooMany(error.retryAfterSeconds ?? 60))
  return error
}
