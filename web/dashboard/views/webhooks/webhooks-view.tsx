import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { type Webhook, webhooksQuery } from '../../api/webhooks.ts'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { CreateWebhookDialog } from './create-webhook-dialog.tsx'
import styles from './webhooks-view.module.css'

export function WebhooksView() {
  const webhooks = useInfiniteQuery(webhooksQuery(useEnvironment()))
  const [isCreating, setCreating] = useState(false)
  const run = useCallback(() => setCreating(true), [])
  useCommand({ id: 'create-webhook', label: texts.webhooks.create, run })
  const rows = webhooks.data?.pages.flatMap(({ data }) => data) ?? []
  const create = (
    <Button look="primary" icon="plus" onClick={run}>
      {texts.webhooks.create}
    </Button>
  )
  return (
    <Page title={texts.webhooks.title} intro={texts.webhooks.intro} actions={create}>
      {webhooks.isPending ? (
        <Loading />
      ) : !webhooks.data ? (
        <ErrorState error={webhooks.error} onRetry={() => webhooks.refetch()} />
      ) : rows.length === 0 ? (
        <EmptyState icon="webhook" title={texts.webhooks.emptyTitle}>
          {texts.webhooks.empty}
        </EmptyState>
      ) : (
        <WebhookTable webhooks={rows} />
      )}
      {webhooks.hasNextPage && (
        <div>
          <Button onClick={() => webhooks.fetchNextPage()} disabled={webhooks.isFetchingNextPage}>
            {texts.webhooks.more}
          </Button>
        </div>
      )}
      <CreateWebhookDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  const environment = useEnvironment()
  return (
    <Table
      isMain
      label={texts.webhooks.title}
      rows={webhooks}
      keyOf={({ webhookId }) => webhookId}
      columns={[
        {
          label: texts.webhooks.url,
          cell: ({ webhookId, url }) => (
            <Link
              to="/$environment/webhooks/$webhookId"
              params={{ environment, webhookId }}
              className={styles.url}
            >
              {url}
            </Link>
          ),
        },
        {
          label: texts.webhooks.eventsLabel,
          cell: ({ events }) => (
            <span title={events.join('\n')}>
              {events.length === 1 ? events[0] : texts.webhooks.eventCount(events.length)}
            </span>
          ),
        },
        { label: texts.webhooks.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
      ]}
    />
  )
}
