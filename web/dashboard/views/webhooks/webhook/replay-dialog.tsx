import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { now } from '../../../api/clock.ts'
import { redeliverFailed } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { longest, PeriodField } from '../../../fields/period-field.tsx'
import { messages } from '../../../messages/messages.ts'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { showToast } from '../../../ui/toast-list.ts'

type ReplayDialogProps = { isOpen: boolean; onClose(): void; webhookId: string }

/** Nothing is kept for longer than the longest one. */
const startOf = (seconds: number) => new Date(seconds === longest ? 0 : now() - seconds * 1_000)

/** Sends all failed deliveries again. */
export function ReplayDialog({ isOpen, onClose, webhookId }: ReplayDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [seconds, setSeconds] = useState(longest)
  const replay = useMutation({
    mutationFn: () => redeliverFailed(environment, webhookId, startOf(seconds)),
    onSuccess: ({ count }) => {
      showToast(messages.webhooks.replayedCount(count))
      onClose()
      return client.invalidateQueries({ queryKey: [environment, 'deliveries'] })
    },
  })
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.replayFailedTitle}
      description={messages.webhooks.replayFailedText}
      action={messages.webhooks.replay}
      isDisabled={replay.isPending}
      error={replay.error}
      onSubmit={() => replay.mutate()}
    >
      <PeriodField label={messages.webhooks.since} seconds={seconds} onChange={setSeconds} />
    </FormDialog>
  )
}
