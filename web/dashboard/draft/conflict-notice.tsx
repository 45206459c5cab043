import { messages } from '../messages/messages.ts'
import { Button } from '../ui/button.tsx'
import styles from './draft.module.css'
import type { DraftForm } from './use-draft.ts'

type ConflictNoticeProps<T extends object> = {
  form: Pick<DraftForm<T>, 'typed' | 'latest' | 'conflicts' | 'decide'>
  labels: Record<keyof T, string>
  /** The text of a value that has no obvious one. */
  show?: ((value: T[keyof T], name: keyof T) => string) | undefined
}

/** Shows what was changed both here and elsewhere. Nothing is saved until each of them is decided. */
export function ConflictNotice<T extends object>({ form, labels, show = showValue }: ConflictNoticeProps<T>) {
  if (form.conflicts.length === 0) return null
  const { conflict } = messages
  return (
    <div className={styles.conflict} role="alert">
      <h3>{conflict.title}</h3>
      <p>{conflict.text}</p>
      {form.conflicts.map((name) => (
        <div key={String(name)} className={styles.field}>
          <strong>{labels[name]}</strong>
          <dl className={styles.values}>
            <dt>{conflict.mine}</dt>
            <dd dir="auto">{show(form.typed[name], name)}</dd>
            <dt>{conflict.theirs}</dt>
            <dd dir="auto">{show(form.latest[name], name)}</dd>
          </dl>
          <div className={styles.buttons}>
            <Button onClick={() => form.decide(name, true)}>{conflict.keepMine}</Button>
            <Button onClick={() => form.decide(name, false)}>{conflict.takeTheirs}</Button>
          </div>
        </div>
      ))}
    </div>
  )
}

function showValue(value: unknown): string {
  if (typeof value === 'boolean') return value ? messages.conflict.on : messages.conflict.off
  const values = Array.isArray(value) ? value : [value ?? '']
  const lines = values.map((each) => (typeof each === 'string' ? each : `${each.key}: ${each.value}`))
  return lines.join('\n') || messages.conflict.empty
}
