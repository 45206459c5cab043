import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type EventType, eventTypes, sendTest, type Webhook } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { SelectField } from '../../../ui/field.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'
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
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.test}
      description={messages.webhooks.testText}
      action={messages.webhooks.send}
      isDisabled={send.isPending}
      error={send.error}
      onSubmit={() => send.mutate()}
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
    </FormDialog>
  )
}
