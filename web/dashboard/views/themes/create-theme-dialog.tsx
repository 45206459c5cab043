import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { createTheme, themesQuery } from '../../api/themes.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'

/** Creates a theme with the default colors and opens it. */
export function CreateThemeDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => createTheme(environment, { name: name.trim() }),
    onSuccess: ({ playerId }) => {
      void client.invalidateQueries(themesQuery(environment))
      showToast(messages.themes.created)
      return navigate({ to: '/$environment/themes/$playerId', params: { environment, playerId } })
    },
  })
  const field = create.error instanceof ApiProblem ? create.error.fields.name : undefined
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.themes.create}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={field ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label={messages.themes.name}
        hint={messages.themes.nameHint}
        required
        maxLength={100}
        value={name}
        error={field}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  )
}
