import { messages } from '../../messages/messages.ts'
import { formatBytes, formatSpan } from '../../ui/format.ts'
import { Progress } from '../../ui/progress.tsx'
import type { Upload } from '../../upload/types.ts'
import styles from './video-progress.module.css'

/** How far an upload is. The panel of uploads can pause and cancel it. */
export function UploadProgress({ upload }: { upload: Upload }) {
  const { name, sent, size, bytesPerSecond, secondsLeft, state, message } = upload
  return (
    <div className={styles.progress}>
      <div className={styles.name}>{messages.home.uploading(name)}</div>
      <Progress fraction={size > 0 ? sent / size : 0} label={messages.upload.progress(name)} />
      <div className="facts">
        <span>{messages.upload.amount(formatBytes(sent), formatBytes(size))}</span>
        {state === 'uploading' && bytesPerSecond !== undefined && (
          <span>{messages.upload.speed(formatBytes(bytesPerSecond))}</span>
        )}
        {state === 'uploading' && secondsLeft !== undefined && (
          <span>{messages.upload.timeLeft(formatSpan(secondsLeft))}</span>
        )}
        {state !== 'uploading' && <span>{messages.upload.states[state]}</span>}
        {message && <span>{message}</span>}
      </div>
    </div>
  )
}
