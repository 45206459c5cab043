import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { rotateSecret, webhookQuery } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { SelectField } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { day, formatPeriod, periods } from './periods.ts'

type RotateDialogProps = { isOpen: boolean; onClose(): void; webhookId: string }

export function RotateDialog({ isOpen, onClose, webhookId }: RotateDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [seconds, setSeconds] = useState(day)
  const rotate = useMutation({
    mutationFn: () => rotateSecret(environment, webhookId, seconds),
    onSuccess: (webhook) => {
      client.setQueryData(webhookQuery(environment, webhookId).queryKey, webhook)
      showToast(messages.webhooks.rotated)
      onClose()
    },
  })
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.rotateTitle}
      description={messages.webhooks.rotateText}
    >
      <SelectField
        label={messages.webhooks.rotateFor}
        value={seconds}
        onChange={(event) => setSeconds(Number(event.target.value))}
      >
        {periods.map((each) => (
          <option key={each} value={each}>
            {formatPeriod(each)}
          </option>
        ))}
        <option value={0}>{messages.webhooks.rotateNow}</option>
      </SelectField>
      {rotate.error && <ErrorText error={rotate.error} />}
      <DialogActions>
        <Button onClick={onClose}>{messages.actions.cancel}</Button>
        <Button variant="primary" disabled={rotate.isPending} onClick={() => rotate.mutate()}>
          {messages.webhooks.rotate}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
