import { useId } from 'react'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { uploads, useUploads } from '../../../upload/uploads.ts'
import styles from './progress-panel.module.css'

const words = messages.video.state

/** Uploads a file into a video without content. The panel of the uploads shows how far it is. */
export const SourcePicker = ({ videoId }: { videoId: string }) => (
  <Picker videoId={videoId} text={words.emptyText} label={words.upload} />
)

/** The file of the video cannot be read. */
export const ReplaceFile = ({ videoId }: { videoId: string }) => (
  <Picker videoId={videoId} text={words.replaceText} label={words.replace} />
)

function Picker({ videoId, text, label }: { videoId: string; text: string; label: string }) {
  const environment = useEnvironment()
  const isSending = useUploads(environment).some(
    (each) => each.videoId === videoId && (each.state === 'waiting' || each.state === 'uploading'),
  )
  if (isSending) return null
  return (
    <div className={styles.picker}>
      <p className="muted">{text}</p>
      <FileButton
        variant="primary"
        label={label}
        onPick={(file) => uploads.addFiles(environment, [{ file }], { target: videoId })}
      />
    </div>
  )
}

type FileButtonProps = { variant?: 'primary' | 'plain'; label?: string; onPick(file: File): void }

export function FileButton({ variant = 'plain', label = words.upload, onPick }: FileButtonProps) {
  const id = useId()
  return (
    <span className={styles.file}>
      <input
        id={id}
        type="file"
        accept="video/*,audio/*,.mkv,.mxf,.ts"
        className="visually-hidden"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          event.target.value = ''
          if (file) onPick(file)
        }}
      />
      <label htmlFor={id} className={buttonClass(variant)}>
        <Icon name="upload" size={16} />
        {label}
      </label>
    </span>
  )
}
