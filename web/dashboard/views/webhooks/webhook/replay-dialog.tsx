import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { now } from '../../../api/clock.ts'
import { redeliverFailed } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { SelectField } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { formatPeriod, longest, periods } from './periods.ts'

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
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.replayFailedTitle}
      description={messages.webhooks.replayFailedText}
    >
      <SelectField
        label={messages.webhooks.since}
        value={seconds}
        onChange={(event) => setSeconds(Number(event.target.value))}
      >
        {periods.map((each) => (
          <option key={each} value={each}>
            {formatPeriod(each)}
          </option>
        ))}
      </SelectField>
      {replay.error && <ErrorText error={replay.error} />}
      <DialogActions>
        <Button onClick={onClose}>{messages.actions.cancel}</Button>
        <Button variant="primary" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {messages.webhooks.replay}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
