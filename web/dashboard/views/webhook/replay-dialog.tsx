import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { redeliverFailed } from '../../api/webhooks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/field.tsx'
import { formatSpan } from '../../ui/format.ts'
import { ErrorText } from '../../ui/states.tsx'
import { showToast } from '../../ui/toasts.tsx'

const hour = 3_600
/** Deliveries are kept for 30 days. */
const spans = [hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour]

type ReplayDialogProps = { isOpen: boolean; onClose(): void; webhookId: string }

/** Sends all failed deliveries again. */
export function ReplayDialog({ isOpen, onClose, webhookId }: ReplayDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [seconds, setSeconds] = useState(24 * hour)
  const replay = useMutation({
    mutationFn: () => redeliverFailed(environment, webhookId, new Date(Date.now() - seconds * 1_000)),
    onSuccess: ({ count }) => {
      showToast(texts.webhooks.replayedCount(count))
      onClose()
      return client.invalidateQueries({ queryKey: [environment, 'deliveries', webhookId] })
    },
  })
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={texts.webhooks.replayFailedTitle}
      description={texts.webhooks.replayFailedText}
    >
      <SelectField
        label={texts.webhooks.since}
        value={seconds}
        onChange={(event) => setSeconds(Number(event.target.value))}
      >
        {spans.map((each) => (
          <option key={each} value={each}>
            {formatSpan(each)}
          </option>
        ))}
      </SelectField>
      {replay.error && <ErrorText error={replay.error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.actions.cancel}</Button>
        <Button look="primary" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {texts.webhooks.replay}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
