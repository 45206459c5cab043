import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Delivery, redeliver } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { AttemptView } from './attempt-view.tsx'
import styles from './delivery-details.module.css'
import { RequestView } from './request-view.tsx'

/** Everything that is known about a delivery. */
export function DeliveryDetails({ delivery }: { delivery: Delivery }) {
  const { state, eventId, deliveryId, attempts, nextAttemptAt } = delivery
  return (
    <div className={styles.details}>
      <dl className={styles.ids}>
        <div>
          <dt>{messages.webhooks.eventId}</dt>
          <dd>
            <code className="one-line">{eventId}</code>
          </dd>
        </div>
        <div>
          <dt>{messages.webhooks.deliveryId}</dt>
          <dd>
            <code className="one-line">{deliveryId}</code>
          </dd>
        </div>
      </dl>
      <RequestView delivery={delivery} />
      <ol className={styles.attempts}>
        {attempts.map((attempt, i) => (
          <AttemptView key={attempt.at} attempt={attempt} number={i + 1} />
        ))}
      </ol>
      {state === 'pending' && (
        <p className="muted" role="status">
          {nextAttemptAt ? messages.webhooks.nextAttempt : messages.webhooks.running}
        </p>
      )}
      {state !== 'pending' && <ReplayButton delivery={delivery} />}
    </div>
  )
}

function ReplayButton({ delivery }: { delivery: Delivery }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const replay = useMutation({
    mutationFn: () => redeliver(environment, delivery),
    onSuccess: () => {
      showToast(messages.webhooks.replayed)
      return client.invalidateQueries({ queryKey: [environment, 'deliveries'] })
    },
  })
  return (
    <>
      {replay.error && <ErrorText error={replay.error} />}
      <div>
        <Button icon="reload" disabled={replay.isPending} onClick={() => replay.mutate()}>
          {messages.webhooks.replay}
        </Button>
      </div>
    </>
  )
}
