import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createLiveStream } from '../../api/live-streams.ts'
import { ApiProblem } from '../../api/problem.ts'
import { useEnvironment } from '../../app/environment.ts'
import { ThemeField } from '../../fields/theme-field.tsx'
import { messages } from '../../messages/messages.ts'
import { CheckField, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'

const initial = { name: '', public: true, record: true, playerId: null as string | null }

export function CreateLiveDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [draft, setDraft] = useState(initial)
  const set = (change: Partial<typeof initial>) => setDraft((current) => ({ ...current, ...change }))
  const create = useMutation({
    mutationFn: () => createLiveStream(environment, { ...draft, name: draft.name.trim() }),
    onSuccess: async ({ liveStreamId, name }) => {
      close()
      showToast(messages.live.created(name))
      void client.invalidateQueries({ queryKey: [environment, 'live-streams', 'list'] })
      await navigate({ to: '/$environment/live/$liveStreamId', params: { environment, liveStreamId } })
    },
  })
  const close = () => {
    setDraft(initial)
    create.reset()
    onClose()
  }
  const fields = create.error instanceof ApiProblem ? create.error.fields : {}
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={messages.live.create}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={fields.name || fields.playerId ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label={messages.live.name}
        hint={messages.live.nameHint}
        required
        maxLength={500}
        value={draft.name}
        error={fields.name}
        onChange={(event) => set({ name: event.target.value })}
      />
      <CheckField
        label={messages.live.public}
        hint={messages.live.publicHint}
        checked={draft.public}
        onChange={(event) => set({ public: event.target.checked })}
      />
      <CheckField
        label={messages.live.record}
        hint={messages.live.recordHint}
        checked={draft.record}
        onChange={(event) => set({ record: event.target.checked })}
      />
      <ThemeField
        playerId={draft.playerId}
        error={fields.playerId}
        onChange={(playerId) => set({ playerId })}
      />
    </FormDialog>
  )
}
