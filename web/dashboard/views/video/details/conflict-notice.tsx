import type { Details } from '../../../api/video.ts'
import { texts } from '../../../texts/texts.ts'
import { Button } from '../../../ui/button.tsx'
import styles from './details-tab.module.css'
import type { DetailName } from './draft.ts'
import type { DetailsForm } from './use-details.ts'

const words = texts.video.details
const labels: Record<DetailName, string> = {
  title: words.title,
  description: words.description,
  tags: words.tags,
  metadata: words.metadata,
  public: words.access,
  panoramic: words.panoramic,
  mp4Support: words.mp4,
  language: words.language,
  playerId: words.theme,
}

/** Shows what was changed both here and elsewhere. Nothing is saved until each of them is decided. */
export function ConflictNotice({ form }: { form: DetailsForm }) {
  if (form.conflicts.length === 0) return null
  const { conflict } = texts.video
  return (
    <div className={styles.conflict} role="alert">
      <h3>{conflict.title}</h3>
      <p>{conflict.text}</p>
      {form.conflicts.map((name) => (
        <div key={name} className={styles.field}>
          <strong>{labels[name]}</strong>
          <dl className={styles.values}>
            <dt>{conflict.mine}</dt>
            <dd dir="auto">{show(form.typed[name])}</dd>
            <dt>{conflict.theirs}</dt>
            <dd dir="auto">{show(form.latest[name])}</dd>
          </dl>
          <div className={styles.buttons}>
            <Button onClick={() => form.keep(name, true)}>{conflict.keepMine}</Button>
            <Button onClick={() => form.keep(name, false)}>{conflict.takeTheirs}</Button>
          </div>
        </div>
      ))}
    </div>
  )
}

function show(value: Details[DetailName]): string {
  const lines = Array.isArray(value)
    ? value.map((each) => (typeof each === 'string' ? each : `${each.key}: ${each.value}`))
    : [typeof value === 'boolean' ? (value ? '✓' : '✗') : (value ?? '')]
  return lines.join('\n') || texts.video.conflict.empty
}
