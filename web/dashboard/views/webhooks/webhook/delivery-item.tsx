import { useId } from 'react'
import type { Delivery, DeliveryState } from '../../../api/webhooks.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../../ui/badge.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { formatNumber } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Time } from '../../../ui/time.tsx'
import { DeliveryDetails } from './delivery-details.tsx'
import styles from './delivery-item.module.css'

const variants: Record<DeliveryState, BadgeVariant> = { pending: 'info', succeeded: 'good', failed: 'bad' }

type DeliveryItemProps = { delivery: Delivery; isOpen: boolean; onToggle(isOpen: boolean): void }

/** One line of the log. A click shows its attempts. */
export function DeliveryItem({ delivery, isOpen, onToggle }: DeliveryItemProps) {
  const id = useId()
  const { state, type, attempts, createdAt } = delivery
  const last = attempts.at(-1)
  return (
    <li className={styles.item}>
      <button
        type="button"
        className={styles.head}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => onToggle(!isOpen)}
      >
        <Icon name={isOpen ? 'down' : 'chevron'} size={16} />
        <Badge variant={variants[state]}>{messages.webhooks.states[state]}</Badge>
        <code className={classNames('one-line', styles.type)}>{type}</code>
        <span className="facts">
          {last && (
            <>
              <span>{last.status ?? messages.webhooks.noResponse}</span>
              <span>{messages.webhooks.milliseconds(formatNumber(last.durationMs))}</span>
            </>
          )}
          {attempts.length > 1 && <span>{messages.webhooks.attempts(attempts.length)}</span>}
          <Time value={createdAt} />
        </span>
      </button>
      {isOpen && (
        <div id={id} className={styles.details}>
          <DeliveryDetails delivery={delivery} />
        </div>
      )}
    </li>
  )
}
