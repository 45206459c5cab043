import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Restream } from '../../../api/live-streams.ts'
import { ApiProblem } from '../../../api/problem.ts'
import { messages } from '../../../messages/messages.ts'
import { TextField } from '../../../ui/field.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'

type RestreamDialogProps = {
  restream: Restream | undefined
  onClose(): void
  onSave(restream: Restream): Promise<void>
}

const empty: Restream = { name: '', serverUrl: '', streamKey: '' }

export function RestreamDialog({ restream, onClose, onSave }: RestreamDialogProps) {
  const [draft, setDraft] = useState(restream ?? empty)
  const save = useMutation({ mutationFn: () => onSave(draft), onSuccess: onClose })
  const problems = save.error instanceof ApiProblem ? Object.entries(save.error.fields) : []
  const field = (name: keyof Restream) => ({
    value: draft[name],
    required: true,
    // The API names the place in the list.
    error: problems.find(([field]) => field.endsWith(`][${name}]`))?.[1],
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }),
  })
  const isNamed = problems.some(([field]) => field.startsWith('restreams['))
  return (
    <FormDialog
      onClose={onClose}
      title={restream ? messages.live.editRestream : messages.live.addRestream}
      action={messages.actions.save}
      isDisabled={save.isPending}
      error={isNamed ? null : save.error}
      onSubmit={() => save.mutate()}
    >
      <TextField label={messages.live.restreamName} maxLength={200} {...field('name')} />
      <TextField
        label={messages.live.restreamServer}
        hint={messages.live.restreamServerHint}
        maxLength={2_000}
        inputMode="url"
        placeholder="rtmps://live.example.com/app"
        {...field('serverUrl')}
      />
      <TextField
        type="password"
        autoComplete="off"
        label={messages.live.restreamKey}
        maxLength={500}
        {...field('streamKey')}
      />
    </FormDialog>
  )
}
