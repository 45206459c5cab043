import { useId } from 'react'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { uploads, useUploads } from '../../../upload/uploads.ts'
import styles from './progress-panel.module.css'

const words = messages.video.state

/** Uploads a file into a video without content. The panel of the uploads shows how far it is. */
export function SourcePicker({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const isSending = useUploads(environment).some(
    (each) => each.videoId === videoId && each.state !== 'failed',
  )
  if (isSending) return null
  return (
    <div className={styles.picker}>
      <p className="muted">{words.emptyText}</p>
      <FileButton variant="primary" onPick={(file) => uploads.addFiles(environment, [{ file }], videoId)} />
    </div>
  )
}

type FileButtonProps = { variant?: 'primary' | 'plain'; onPick(file: File): void }

export function FileButton({ variant = 'plain', onPick }: FileButtonProps) {
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
        {words.upload}
      </label>
    </span>
  )
}
