import { messages } from '../../messages/messages.ts'
import { formatPercent, formatSpan } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Progress } from '../../ui/progress.tsx'
import type { Upload } from '../../upload/types.ts'
import styles from './activity.module.css'

/** A file that this page sends. The panel of uploads can pause and cancel it. */
export function UploadingRow({ upload: { name, sent, size, state, secondsLeft } }: { upload: Upload }) {
  const fraction = size > 0 ? sent / size : 0
  const isMoving = state === 'uploading'
  return (
    <li className={styles.row}>
      <span className={styles.picture}>
        <Icon name="upload" size={20} />
      </span>
      <span className={styles.text}>
        <span className={styles.title}>
          <bdi>{name}</bdi>
        </span>
        <Progress fraction={fraction} label={messages.upload.progress(name)} />
        <span className={styles.facts}>
          <span>
            {isMoving ? messages.home.uploaded(formatPercent(fraction)) : messages.upload.states[state]}
          </span>
          {isMoving && secondsLeft !== undefined && (
            <span>{messages.upload.timeLeft(formatSpan(secondsLeft))}</span>
          )}
        </span>
      </span>
    </li>
  )
}
