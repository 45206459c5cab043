import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { createWebhook, webhooksQuery } from '../../api/webhooks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { WebhookForm } from './webhook-form.tsx'

/** Creates a webhook and opens it. */
export function CreateWebhookDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={texts.webhooks.create}>
      <WebhookForm
        initial={{ url: '', events: ['video.encoding.quality.completed'] }}
        action={texts.actions.create}
        onSave={(input) => createWebhook(environment, input)}
        onSaved={({ webhookId }) => {
          void client.invalidateQueries(webhooksQuery(environment))
          showToast(texts.webhooks.created)
          void navigate({
            to: '/$environment/webhooks/$webhookId',
            params: { environment, webhookId },
          })
        }}
        onCancel={onClose}
      />
    </Dialog>
  )
}
