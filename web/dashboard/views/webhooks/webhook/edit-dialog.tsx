import { useQueryClient } from '@tanstack/react-query'
import {
  changeWebhook,
  eventTypes,
  type Webhook,
  type WebhookInput,
  webhookQuery,
  webhooksQuery,
} from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { ConflictNotice } from '../../../draft/conflict-notice.tsx'
import { useDraft } from '../../../draft/use-draft.ts'
import { messages } from '../../../messages/messages.ts'
import { Dialog } from '../../../ui/dialog.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { WebhookForm } from '../webhook-form.tsx'

type EditDialogProps = { isOpen: boolean; onClose(): void; webhook: Webhook }

export function EditDialog({ isOpen, onClose, webhook }: EditDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={messages.webhooks.edit}>
      <EditForm webhook={webhook} onClose={onClose} />
    </Dialog>
  )
}

/** The order of the events has no meaning. */
const valuesOf = ({ url, events }: Webhook): WebhookInput => ({
  url,
  events: eventTypes.filter((type) => events.includes(type)),
})

const labels = { url: messages.webhooks.url, events: messages.webhooks.eventsLabel }

function EditForm({ webhook, onClose }: Omit<EditDialogProps, 'isOpen'>) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { webhookId } = webhook
  const form = useDraft({
    query: webhookQuery(environment, webhookId),
    data: webhook,
    valuesOf,
    store: ({ url, ...change }) =>
      changeWebhook(environment, webhookId, { ...change, ...(url !== undefined && { url: url.trim() }) }),
    onSaved: () => {
      void client.invalidateQueries(webhooksQuery(environment))
      showToast(messages.webhooks.saved)
      onClose()
    },
  })
  return (
    <WebhookForm
      values={form.typed}
      error={form.error}
      errorOf={form.errorOf}
      action={messages.actions.save}
      isSaving={form.isSaving}
      onChange={form.set}
      onSubmit={() => (form.isDirty ? form.save() : onClose())}
      onCancel={onClose}
    >
      <ConflictNotice form={form} labels={labels} />
    </WebhookForm>
  )
}
