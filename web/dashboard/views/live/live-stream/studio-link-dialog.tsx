import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createStudioToken, studioTokensQuery } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { day, PeriodField } from '../../../fields/period-field.tsx'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'

type StudioLinkDialogProps = { liveStreamId: string; onClose(): void }

/** Creates a link, and shows it once. */
export function StudioLinkDialog({ liveStreamId, onClose }: StudioLinkDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [ttl, setTtl] = useState(day)
  const { queryKey } = studioTokensQuery(environment, liveStreamId)
  const create = useMutation({
    mutationFn: () => createStudioToken(environment, liveStreamId, ttl),
    onSuccess: () => client.invalidateQueries({ queryKey }),
  })
  if (create.data)
    return (
      <Dialog
        isOpen
        onClose={onClose}
        title={messages.live.newStudioLink}
        description={messages.live.newStudioLinkText}
      >
        <CodeBlock code={create.data.url} label={messages.live.copyLink} />
        <DialogActions>
          <Button variant="primary" onClick={onClose}>
            {messages.keys.done}
          </Button>
        </DialogActions>
      </Dialog>
    )
  return (
    <FormDialog
      onClose={onClose}
      title={messages.live.createStudioLink}
      description={messages.live.createStudioLinkText}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
    >
      <PeriodField label={messages.live.studioLinkTtl} seconds={ttl} onChange={setTtl} />
    </FormDialog>
  )
}
