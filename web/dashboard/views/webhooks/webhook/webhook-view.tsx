import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isMissing } from '../../../api/problem.ts'
import { deleteWebhook, type Webhook, webhookQuery, webhooksQuery } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Page } from '../../../ui/page.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { Deliveries } from './deliveries.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { SecretPanel } from './secret-panel.tsx'
import { TestDialog } from './test-dialog.tsx'
import { VerifyPanel } from './verify-panel.tsx'
import styles from './webhook-view.module.css'

export function WebhookView() {
  const environment = useEnvironment()
  const { webhookId } = useParams({ from: '/$environment/webhooks/$webhookId' })
  const webhook = useQuery(webhookQuery(environment, webhookId))
  if (webhook.data && !isMissing(webhook.error))
    return <LoadedWebhook key={webhookId} webhook={webhook.data} />
  return (
    <Page title={messages.webhooks.title}>
      {webhook.error ? <ErrorState error={webhook.error} onRetry={() => webhook.refetch()} /> : <Loading />}
    </Page>
  )
}

function LoadedWebhook({ webhook }: { webhook: Webhook }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'test' | 'edit' | 'delete'>()
  const [opened, setOpened] = useState<string>()
  const close = () => setDialog(undefined)
  return (
    <Page
      title={webhook.url}
      parents={[{ label: messages.webhooks.title, to: '/$environment/webhooks' }]}
      intro={<code>{webhook.webhookId}</code>}
      actions={
        <>
          <Button variant="primary" icon="play" onClick={() => setDialog('test')}>
            {messages.webhooks.test}
          </Button>
          <Button icon="edit" onClick={() => setDialog('edit')}>
            {messages.actions.edit}
          </Button>
          <Button icon="trash" onClick={() => setDialog('delete')}>
            {messages.actions.delete}
          </Button>
        </>
      }
    >
      <div className={styles.columns}>
        <Deliveries webhookId={webhook.webhookId} opened={opened} onOpen={setOpened} />
        <div className="stack">
          <Panel title={messages.webhooks.eventsLabel}>
            <ul className={styles.events}>
              {webhook.events.map((type) => (
                <li key={type}>
                  <code className="one-line">{type}</code>
                  <div className="secondary">{messages.webhooks.events[type] ?? ''}</div>
                </li>
              ))}
            </ul>
          </Panel>
          <SecretPanel webhook={webhook} />
          <VerifyPanel />
        </div>
      </div>
      <TestDialog isOpen={dialog === 'test'} onClose={close} webhook={webhook} onSent={setOpened} />
      <EditDialog isOpen={dialog === 'edit'} onClose={close} webhook={webhook} />
      <ConfirmDialog
        isOpen={dialog === 'delete'}
        onClose={close}
        title={messages.webhooks.deleteTitle}
        description={messages.webhooks.deleteText(webhook.url)}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteWebhook(environment, webhook.webhookId)
          client.removeQueries(webhooksQuery(environment))
          showToast(messages.webhooks.deleted)
          await navigate({ to: '/$environment/webhooks', params: { environment } })
        }}
      />
    </Page>
  )
}
