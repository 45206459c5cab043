import type { Attempt } from '../../../api/webhooks.ts'
import { texts } from '../../../texts/texts.ts'
import { Badge } from '../../../ui/badge.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import styles from './attempt-view.module.css'
import { BodyText } from './body-text.tsx'

/** What was received. The body is untrusted text. */
export function AttemptView({ attempt, number }: { attempt: Attempt; number: number }) {
  const { at, durationMs, status, answer, error } = attempt
  return (
    <li className={styles.attempt}>
      <div className={styles.head}>
        <h3>{texts.webhooks.attempt(number)}</h3>
        <Badge look={error === null ? 'good' : 'bad'}>
          {status === null ? texts.webhooks.noResponse : texts.webhooks.status(status)}
        </Badge>
        <span className={styles.muted}>{texts.webhooks.milliseconds(formatNumber(durationMs))}</span>
        <span className={styles.muted}>
          <Time value={at} />
        </span>
      </div>
      {error !== null && <p className={styles.error}>{error}</p>}
      {status !== null &&
        (answer ? (
          <BodyText label={texts.webhooks.response} text={answer} />
        ) : (
          <p className={styles.muted}>{texts.webhooks.emptyResponse}</p>
        ))}
    </li>
  )
}
