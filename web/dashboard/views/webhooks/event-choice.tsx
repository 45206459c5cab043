import { useId } from 'react'
import { type EventType, eventTypes } from '../../api/webhooks.ts'
import { messages } from '../../messages/messages.ts'
import { CheckField } from '../../ui/field.tsx'
import styles from './event-choice.module.css'

type EventChoiceProps = { value: EventType[]; error: string | undefined; onChange(value: EventType[]): void }

/** The events of a webhook, each with what it means. */
export function EventChoice({ value, error, onChange }: EventChoiceProps) {
  const id = useId()
  return (
    <fieldset className={styles.choice} aria-describedby={error ? id : undefined}>
      <legend className={styles.legend}>{messages.webhooks.eventsLabel}</legend>
      {eventTypes.map((type) => (
        <CheckField
          key={type}
          label={<code className="one-line">{type}</code>}
          hint={messages.webhooks.events[type]}
          checked={value.includes(type)}
          onChange={({ target }) =>
            onChange(eventTypes.filter((each) => (each === type ? target.checked : value.includes(each))))
          }
        />
      ))}
      {error && (
        <div className="error-text" id={id} role="alert">
          {error}
        </div>
      )}
    </fieldset>
  )
}
