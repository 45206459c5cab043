import { useInfiniteQuery } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import { type DeliveryState, deliveriesQuery, deliveryStates } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { useListKeys } from '../../../ui/list-keys.ts'
import { Panel } from '../../../ui/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import styles from './deliveries.module.css'
import { DeliveryItem } from './delivery-item.tsx'
import { ReplayDialog } from './replay-dialog.tsx'

type DeliveriesProps = {
  webhookId: string
  /** The delivery whose attempts are shown. */
  opened: string | undefined
  onOpen(deliveryId: string | undefined): void
}

/** The log of a webhook, newest first. */
export function Deliveries({ webhookId, opened, onOpen }: DeliveriesProps) {
  const [state, setState] = useState<DeliveryState>()
  const [isReplaying, setReplaying] = useState(false)
  const deliveries = useInfiniteQuery(deliveriesQuery(useEnvironment(), webhookId, state))
  const list = useRef<HTMLUListElement>(null)
  useListKeys(list)
  const items = deliveries.data?.pages.flatMap(({ data }) => data) ?? []
  return (
    <Panel
      title={messages.webhooks.deliveries}
      actions={
        <>
          <StateFilter value={state} onChange={setState} />
          <Button icon="reload" onClick={() => setReplaying(true)}>
            {messages.webhooks.replayFailed}
          </Button>
        </>
      }
    >
      {deliveries.isPending ? (
        <Loading />
      ) : !deliveries.data ? (
        <ErrorState error={deliveries.error} onRetry={() => deliveries.refetch()} />
      ) : items.length === 0 ? (
        <EmptyState
          icon="webhook"
          title={state ? messages.webhooks.noneInState : messages.webhooks.noDeliveries}
        >
          {!state && messages.webhooks.noDeliveriesText}
        </EmptyState>
      ) : (
        <ul ref={list} className={styles.list}>
          {items.map((delivery) => (
            <DeliveryItem
              key={delivery.deliveryId}
              delivery={delivery}
              isOpen={delivery.deliveryId === opened}
              onToggle={(isOpen) => onOpen(isOpen ? delivery.deliveryId : undefined)}
            />
          ))}
        </ul>
      )}
      {deliveries.hasNextPage && (
        <div>
          <Button onClick={() => deliveries.fetchNextPage()} disabled={deliveries.isFetchingNextPage}>
            {messages.pages.more}
          </Button>
        </div>
      )}
      <ReplayDialog isOpen={isReplaying} onClose={() => setReplaying(false)} webhookId={webhookId} />
    </Panel>
  )
}

type StateFilterProps = { value: DeliveryState | undefined; onChange(value: DeliveryState | undefined): void }

function StateFilter({ value, onChange }: StateFilterProps) {
  const id = useId()
  return (
    <div className={styles.filter}>
      <label htmlFor={id}>{messages.webhooks.filter}</label>
      <select
        id={id}
        className="select"
        value={value ?? ''}
        onChange={(event) => onChange(deliveryStates.find((each) => each === event.target.value))}
      >
        <option value="">{messages.webhooks.all}</option>
        {deliveryStates.map((each) => (
          <option key={each} value={each}>
            {messages.webhooks.states[each]}
          </option>
        ))}
      </select>
    </div>
  )
}
