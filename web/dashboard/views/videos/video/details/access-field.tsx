import { useId } from 'react'
import { useSession } from '../../../../api/session.ts'
import { messages } from '../../../../messages/messages.ts'
import { CodeBlock } from '../../../../ui/code-block.tsx'
import styles from './details-tab.module.css'

type AccessFieldProps = { videoId: string; isPublic: boolean; onChange(isPublic: boolean): void }

/** Public or private, with what private means. */
export function AccessField({ videoId, isPublic, onChange }: AccessFieldProps) {
  const name = useId()
  const { publicUrl } = useSession()
  const words = messages.video.details
  const choices = [
    { value: true, label: messages.video.public, hint: words.publicHint },
    { value: false, label: messages.video.private, hint: words.privateHint },
  ]
  return (
    <fieldset className={styles.group}>
      <legend>{words.access}</legend>
      <div className={styles.choices}>
        {choices.map(({ value, label, hint }) => (
          <label key={label} className={styles.choice}>
            <input type="radio" name={name} checked={isPublic === value} onChange={() => onChange(value)} />
            <span>
              {label}
              <small>{hint}</small>
            </span>
          </label>
        ))}
      </div>
      {!isPublic && (
        <div className={styles.note}>
          <p>{words.privateHow}</p>
          <CodeBlock
            code={`curl -u $KINORA_KEY: ${publicUrl}/videos/${videoId}`}
            language="sh"
            label={words.privateCode}
          />
          <a href="/docs/guides/playback" target="_blank" rel="noreferrer">
            {words.privateDocs}
          </a>
        </div>
      )}
    </fieldset>
  )
}
