import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { rotateSecret, webhookQuery } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { day, PeriodField } from '../../../fields/period-field.tsx'
import { messages } from '../../../messages/messages.ts'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { showToast } from '../../../ui/toast-list.ts'

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
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={messages.webhooks.rotateTitle}
      description={messages.webhooks.rotateText}
      action={messages.webhooks.rotate}
      isDisabled={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <PeriodField label={messages.webhooks.rotateFor} seconds={seconds} onChange={setSeconds}>
        <option value={0}>{messages.webhooks.rotateNow}</option>
      </PeriodField>
    </FormDialog>
  )
}
