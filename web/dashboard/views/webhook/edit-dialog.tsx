import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  changeWebhook,
  loadWebhook,
  type Webhook,
  type WebhookInput,
  webhookQuery,
  webhooksQuery,
} from '../../api/webhooks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { WebhookForm } from '../webhooks/webhook-form.tsx'

type EditDialogProps = { isOpen: boolean; onClose(): void; webhook: Webhook }

export function EditDialog({ isOpen, onClose, webhook }: EditDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={texts.webhooks.edit}>
      <EditForm webhook={webhook} onClose={onClose} />
    </Dialog>
  )
}

const isSame = (one: WebhookInput, other: WebhookInput) =>
  one.url === other.url && [...one.events].sort().join() === [...other.events].sort().join()

function EditForm({ webhook, onClose }: Omit<EditDialogProps, 'isOpen'>) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { webhookId } = webhook
  const [initial] = useState<WebhookInput>({ url: webhook.url, events: webhook.events })
  /** What another window has saved since the form was opened. It is shown, so that saving again replaces it. */
  const [theirs, setTheirs] = useState<WebhookInput>()
  return (
    <WebhookForm
      initial={initial}
      theirs={theirs}
      action={theirs ? texts.webhooks.saveAnyway : texts.actions.save}
      onSave={async (input) => {
        const current = await loadWebhook(environment, webhookId)
        if (!isSame(current, theirs ?? initial) && !isSame(current, input)) {
          setTheirs(current)
          throw new Error(texts.webhooks.changedElsewhere)
        }
        return changeWebhook(environment, webhookId, input)
      }}
      onSaved={(saved) => {
        client.setQueryData(webhookQuery(environment, webhookId).queryKey, saved)
        void client.invalidateQueries(webhooksQuery(environment))
        showToast(texts.webhooks.saved)
        onClose()
      }}
      onCancel={onClose}
    />
  )
}
