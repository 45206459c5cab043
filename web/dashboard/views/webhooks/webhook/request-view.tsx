import { useQuery } from '@tanstack/react-query'
import { type Delivery, deliveryQuery } from '../../../api/webhooks.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { ErrorText, Skeleton } from '../../../ui/states.tsx'
import styles from './attempt-view.module.css'
import { BodyOf, BodyText } from './body-text.tsx'

/** What is sent, the same in every attempt except for the time and the signatures. */
export function RequestView({ delivery }: { delivery: Delivery }) {
  const details = useQuery(deliveryQuery(useEnvironment(), delivery))
  if (details.isPending) return <Skeleton height={120} />
  if (!details.data) return <ErrorText error={details.error} />
  const { url, headers, body } = details.data.request
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <section className={styles.attempt} aria-label={messages.webhooks.request}>
      <div className={styles.head}>
        <h3>{messages.webhooks.request}</h3>
        <code className="one-line" title={url}>
          POST {url}
        </code>
      </div>
      <BodyText label={messages.webhooks.requestHeaders} text={head.join('\n')} language="http" />
      <p className={styles.muted}>{messages.webhooks.signaturesHidden}</p>
      <BodyOf label={messages.webhooks.requestBody} text={body} />
    </section>
  )
}
