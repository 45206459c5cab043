import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../api/problem.ts'
import { choosePassword, sessionQuery, useSession } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { TextField } from '../ui/field.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { showToast } from '../ui/toast-list.ts'

/** Chooses the first password, or changes it. */
export function PasswordDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { hasPassword, needsCurrentPassword } = useSession()
  const client = useQueryClient()
  const [password, setPassword] = useState('')
  const [currentPassword, setCurrentPassword] = useState('')
  const [isAsked, setAsked] = useState(false)
  // After a login by link, the password can be chosen without the current one for some minutes.
  const needsCurrent = needsCurrentPassword || isAsked
  const save = useMutation({
    mutationFn: () => choosePassword({ password, ...(needsCurrent && { currentPassword }) }),
    onError: (error) => setAsked(error instanceof ApiProblem && 'currentPassword' in error.fields),
    onSuccess: async () => {
      setPassword('')
      setCurrentPassword('')
      onClose()
      showToast(messages.login.saved)
      await client.invalidateQueries(sessionQuery)
    },
  })
  const fields = save.error instanceof ApiProblem ? save.error.fields : {}
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={hasPassword ? messages.account.changePassword : messages.login.chooseTitle}
      description={messages.login.chooseIntro}
      action={messages.login.save}
      isDisabled={save.isPending}
      error={Object.keys(fields).length > 0 ? null : save.error}
      onSubmit={() => save.mutate()}
      cancel={hasPassword ? messages.actions.cancel : messages.login.later}
    >
      {needsCurrent && (
        <TextField
          type="password"
          label={messages.login.currentPassword}
          autoComplete="current-password"
          required
          value={currentPassword}
          error={fields.currentPassword}
          onChange={(event) => setCurrentPassword(event.target.value)}
        />
      )}
      <TextField
        type="password"
        label={messages.login.newPassword}
        autoComplete="new-password"
        required
        minLength={8}
        value={password}
        error={fields.password}
        onChange={(event) => setPassword(event.target.value)}
      />
    </FormDialog>
  )
}
