import { useId, useSyncExternalStore } from 'react'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { buttonClass } from '../../ui/button.tsx'
import { formatPercent } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Progress } from '../../ui/progress.tsx'
import { ErrorText } from '../../ui/states.tsx'
import styles from './progress-panel.module.css'
import { readUpload, subscribeToUploads, uploadSource } from './source-upload.ts'

const words = texts.video.state

/** `isBegun`: a part of the file has arrived, and perhaps nobody sends the rest. */
type SourcePickerProps = { videoId: string; isBegun: boolean }

/** Uploads a file into a video without content. */
export function SourcePicker({ videoId, isBegun }: SourcePickerProps) {
  const environment = useEnvironment()
  const id = useId()
  const { state, share, error } = useSyncExternalStore(subscribeToUploads, () =>
    readUpload(environment, videoId),
  )
  if (state === 'sending')
    return (
      <>
        <Progress share={share} label={words.uploading} />
        <p className={styles.muted}>{words.sending(formatPercent(share))}</p>
      </>
    )
  return (
    <div className={styles.picker}>
      <p className={styles.muted}>{isBegun ? words.continueText : words.emptyText}</p>
      {error && <ErrorText error={error} />}
      <input
        id={id}
        type="file"
        accept="video/*,audio/*,.mkv,.mxf,.ts"
        className="visually-hidden"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          event.target.value = ''
          if (file) void uploadSource(environment, videoId, file)
        }}
      />
      <label htmlFor={id} className={buttonClass(isBegun ? 'plain' : 'primary')}>
        <Icon name="upload" size={16} />
        {isBegun ? words.continue : words.upload}
      </label>
    </div>
  )
}
