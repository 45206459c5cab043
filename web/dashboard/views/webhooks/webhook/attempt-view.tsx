import type { Attempt } from '../../../api/webhooks.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import styles from './attempt-view.module.css'
import { BodyOf } from './body-text.tsx'

/** What was received. The body is untrusted text. */
export function AttemptView({ attempt, number }: { attempt: Attempt; number: number }) {
  const { at, durationMs, status, answer, error } = attempt
  return (
    <li className={styles.attempt}>
      <div className={styles.head}>
        <h3>{messages.webhooks.attempt(number)}</h3>
        <Badge variant={error === null ? 'good' : 'bad'}>
          {status === null ? messages.webhooks.noResponse : messages.webhooks.status(status)}
        </Badge>
        <span className={styles.muted}>{messages.webhooks.milliseconds(formatNumber(durationMs))}</span>
        <span className={styles.muted}>
          <Time value={at} />
        </span>
      </div>
      {error !== null && <p className={styles.error}>{error}</p>}
      {status !== null &&
        (answer ? (
          <BodyOf label={messages.webhooks.response} text={answer} />
        ) : (
          <p className={styles.muted}>{messages.webhooks.emptyResponse}</p>
        ))}
    </li>
  )
}
