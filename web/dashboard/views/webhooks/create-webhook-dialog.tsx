import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { createWebhook, type WebhookInput, webhooksQuery } from '../../api/webhooks.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { WebhookForm } from './webhook-form.tsx'

type CreateWebhookDialogProps = { isOpen: boolean; onClose(): void }

/** Creates a webhook and opens it. */
export const CreateWebhookDialog = ({ isOpen, onClose }: CreateWebhookDialogProps) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={messages.webhooks.create}>
    <CreateForm onClose={onClose} />
  </Dialog>
)

function CreateForm({ onClose }: { onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [values, setValues] = useState<WebhookInput>({
    url: '',
    events: ['video.encoding.completed', 'video.encoding.failed'],
  })
  const create = useMutation({
    mutationFn: () => createWebhook(environment, { ...values, url: values.url.trim() }),
    onSuccess: ({ webhookId }) => {
      void client.invalidateQueries(webhooksQuery(environment))
      showToast(messages.webhooks.created)
      void navigate({ to: '/$environment/webhooks/$webhookId', params: { environment, webhookId } })
    },
  })
  const fields = create.error instanceof ApiProblem ? create.error.fields : {}
  return (
    <WebhookForm
      values={values}
      error={create.error}
      errorOf={(name) => fields[name]}
      action={messages.actions.create}
      isSaving={create.isPending}
      onChange={(change) => setValues({ ...values, ...change })}
      onSubmit={() => create.mutate()}
      onCancel={onClose}
    />
  )
}
