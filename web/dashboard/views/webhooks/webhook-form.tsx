import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import type { Webhook, WebhookInput } from '../../api/webhooks.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { EventChoice } from './event-choice.tsx'
import styles from './webhook-form.module.css'

type WebhookFormProps = {
  initial: WebhookInput
  /** What another window has saved meanwhile. */
  theirs?: WebhookInput | undefined
  action: string
  onSave(input: WebhookInput): Promise<Webhook>
  onSaved(webhook: Webhook): void
  onCancel(): void
}

/** Keeps what was typed if saving fails. */
export function WebhookForm({ initial, theirs, action, onSave, onSaved, onCancel }: WebhookFormProps) {
  const [url, setUrl] = useState(initial.url)
  const [events, setEvents] = useState(initial.events)
  const [hasTried, setTried] = useState(false)
  const save = useMutation({
    mutationFn: () => onSave({ url: url.trim(), events }),
    onSuccess: onSaved,
  })
  const fields = save.error instanceof ApiProblem ? save.error.fields : {}
  const eventsError = hasTried && events.length === 0 ? texts.webhooks.eventsMissing : fields.events
  const isShown = fields.url !== undefined || fields.events !== undefined
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (events.length > 0) save.mutate()
      }}
    >
      <TextField
        type="url"
        label={texts.webhooks.url}
        hint={texts.webhooks.urlHint}
        placeholder="https://example.com/webhooks"
        required
        value={url}
        error={fields.url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <EventChoice value={events} error={eventsError} onChange={setEvents} />
      {save.error && !isShown && <ErrorText error={save.error} />}
      {theirs && (
        <Theirs
          theirs={theirs}
          onTake={() => {
            setUrl(theirs.url)
            setEvents(theirs.events)
            save.reset()
          }}
        />
      )}
      <DialogActions>
        <Button onClick={onCancel}>{texts.actions.cancel}</Button>
        <Button look="primary" type="submit" disabled={save.isPending}>
          {action}
        </Button>
      </DialogActions>
    </form>
  )
}

/** What is stored now, beside what was typed. */
const Theirs = ({ theirs: { url, events }, onTake }: { theirs: WebhookInput; onTake(): void }) => (
  <div className={styles.theirs}>
    <strong>{texts.webhooks.theirs}</strong>
    <div className={styles.value}>{url}</div>
    <ul>
      {events.map((type) => (
        <li key={type}>
          <code>{type}</code>
        </li>
      ))}
    </ul>
    <div>
      <Button onClick={onTake}>{texts.webhooks.useTheirs}</Button>
    </div>
  </div>
)
