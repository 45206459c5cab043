import { useId } from 'react'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { uploads, useUploads } from '../../upload/uploads.ts'
import styles from './progress-panel.module.css'

const words = texts.video.state

/** Uploads a file into a video without content. The panel of the uploads shows how far it is. */
export function SourcePicker({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const id = useId()
  const isSending = useUploads(environment).some(
    (each) => each.videoId === videoId && each.state !== 'failed',
  )
  if (isSending) return null
  return (
    <div className={styles.picker}>
      <p className={styles.muted}>{words.emptyText}</p>
      <input
        id={id}
        type="file"
        accept="video/*,audio/*,.mkv,.mxf,.ts"
        className="visually-hidden"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          event.target.value = ''
          if (file) uploads.addFiles(environment, [{ file }], videoId)
        }}
      />
      <label htmlFor={id} className={buttonClass('primary')}>
        <Icon name="upload" size={16} />
        {words.upload}
      </label>
    </div>
  )
}
