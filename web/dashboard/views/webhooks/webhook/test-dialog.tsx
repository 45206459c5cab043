import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type EventType, eventTypes, sendTest, type Webhook } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { SelectField } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'

type TestDialogProps = {
  isOpen: boolean
  onClose(): void
  webhook: Webhook
  /** Gets the id of the delivery. */
  onSent(deliveryId: string): void
}

export function TestDialog({ isOpen, onClose, webhook, onSent }: TestDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [type, setType] = useState<EventType>(webhook.events[0] ?? eventTypes[0])
  const { webhookId } = webhook
  const send = useMutation({
    mutationFn: () => sendTest(environment, webhookId, type),
    onSuccess: ({ deliveryId }) => {
      onSent(deliveryId)
      onClose()
      showToast(messages.webhooks.testSent)
      return client.invalidateQueries({ queryKey: [environment, 'deliveries'] })
    },
  })
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.test}
      description={messages.webhooks.testText}
    >
      <SelectField
        label={messages.webhooks.testType}
        hint={messages.webhooks.events[type]}
        value={type}
        onChange={(event) => setType(event.target.value as EventType)}
      >
        {eventTypes.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      {send.error && <ErrorText error={send.error} />}
      <DialogActions>
        <Button onClick={onClose}>{messages.actions.cancel}</Button>
        <Button variant="primary" disabled={send.isPending} onClick={() => send.mutate()}>
          {messages.webhooks.send}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
