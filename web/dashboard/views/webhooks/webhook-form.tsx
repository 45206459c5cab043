import { type ReactNode, useState } from 'react'
import type { WebhookInput } from '../../api/webhooks.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { EventChoice } from './event-choice.tsx'

type WebhookFormProps = {
  values: WebhookInput
  error: Error | null
  errorOf(name: keyof WebhookInput): string | undefined
  action: string
  isSaving: boolean
  onChange(change: Partial<WebhookInput>): void
  onSubmit(): void
  onCancel(): void
  children?: ReactNode
}

export function WebhookForm(props: WebhookFormProps) {
  const { values, error, errorOf, action, isSaving, onChange, onSubmit, onCancel, children } = props
  const [hasTried, setTried] = useState(false)
  const isMissing = values.events.length === 0
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (!isMissing) onSubmit()
      }}
    >
      <TextField
        type="url"
        label={messages.webhooks.url}
        hint={messages.webhooks.urlHint}
        placeholder="https://example.com/webhooks"
        required
        value={values.url}
        error={errorOf('url')}
        onChange={(event) => onChange({ url: event.target.value })}
      />
      <EventChoice
        value={values.events}
        error={hasTried && isMissing ? messages.webhooks.eventsMissing : errorOf('events')}
        onChange={(events) => onChange({ events })}
      />
      {children}
      {error && !errorOf('url') && !errorOf('events') && <ErrorText error={error} />}
      <DialogActions>
        <Button onClick={onCancel}>{messages.actions.cancel}</Button>
        <Button variant="primary" type="submit" disabled={isSaving}>
          {action}
        </Button>
      </DialogActions>
    </Form>
  )
}
