import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { type Webhook, webhooksQuery } from '../../api/webhooks.ts'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Page } from '../../ui/page.tsx'
import { PagedList } from '../../ui/paged-list.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { CreateWebhookDialog } from './create-webhook-dialog.tsx'
import styles from './webhooks-view.module.css'

export function WebhooksView() {
  const webhooks = useInfiniteQuery(webhooksQuery(useEnvironment()))
  const [isCreating, setCreating] = useState(false)
  const run = useCallback(() => setCreating(true), [])
  useCommand({ id: 'create-webhook', label: messages.webhooks.create, run })
  const create = (
    <Button variant="primary" icon="plus" onClick={run}>
      {messages.webhooks.create}
    </Button>
  )
  return (
    <Page title={messages.webhooks.title} intro={messages.webhooks.intro} actions={create}>
      <PagedList
        query={webhooks}
        empty={
          <EmptyState icon="webhook" title={messages.webhooks.emptyTitle}>
            {messages.webhooks.empty}
          </EmptyState>
        }
      >
        {(rows) => <WebhookTable webhooks={rows} />}
      </PagedList>
      <CreateWebhookDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  const environment = useEnvironment()
  return (
    <Table
      isMain
      label={messages.webhooks.title}
      rows={webhooks}
      keyOf={({ webhookId }) => webhookId}
      columns={[
        {
          label: messages.webhooks.url,
          cell: ({ webhookId, url }) => (
            <Link
              to="/$environment/webhooks/$webhookId"
              params={{ environment, webhookId }}
              className={classNames('one-line', styles.url)}
              title={url}
            >
              {url}
            </Link>
          ),
        },
        {
          label: messages.webhooks.eventsLabel,
          cell: ({ events }) => (
            <span className={classNames('one-line', styles.event)} title={events.join('\n')}>
              {events.length === 1 ? events[0] : messages.webhooks.eventCount(events.length)}
            </span>
          ),
        },
        { label: messages.webhooks.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
      ]}
    />
  )
}
