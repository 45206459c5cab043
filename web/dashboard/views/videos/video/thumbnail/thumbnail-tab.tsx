import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useId } from 'react'
import { ownPath } from '../../../../api/own-path.ts'
import type { Video, VideoStatus } from '../../../../api/types.ts'
import { uploadThumbnail, videoQuery } from '../../../../api/video.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { buttonClass } from '../../../../ui/button.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { stateOf } from '../video-state.ts'
import { FramePicker } from './frame-picker.tsx'
import styles from './thumbnail-tab.module.css'

const words = messages.video.thumbnail

type ThumbnailTabProps = { video: Video; status: VideoStatus; loadedAt: number }

export function ThumbnailTab({ video, status, loadedAt }: ThumbnailTabProps) {
  const url = ownPath(video.assets.thumbnail)
  const hasPicture = status.encoding.metadata.width !== null
  const isEncoded = stateOf(status).isPlayable && hasPicture
  return (
    <div className="stack">
      <Panel title={words.current}>
        <div className={styles.current}>
          {/* Caches keep a thumbnail for a minute. It may have changed whenever the video was loaded again. */}
          <img className={styles.image} src={`${url}?v=${loadedAt}`} alt={words.alt} />
          <ImageUpload videoId={video.videoId} />
        </div>
      </Panel>
      <Panel title={words.pick}>
        {isEncoded ? (
          <FramePicker video={video} status={status} />
        ) : (
          <p className="secondary">{words.notYet}</p>
        )}
      </Panel>
    </div>
  )
}

function ImageUpload({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const id = useId()
  const upload = useMutation({
    mutationFn: (file: File) => uploadThumbnail(environment, videoId, file),
    onSuccess: (video) => {
      client.setQueryData(videoQuery(environment, videoId).queryKey, video)
      showToast(words.uploaded)
    },
  })
  return (
    <div className={styles.upload}>
      <input
        id={id}
        type="file"
        accept="image/jpeg,image/png,image/webp"
        className="visually-hidden"
        aria-describedby={`${id}-hint`}
        disabled={upload.isPending}
        onChange={(event) => {
          const [file] = event.target.files ?? []
          // The same file can be chosen again after an error.
          event.target.value = ''
          if (file) upload.mutate(file)
        }}
      />
      <label htmlFor={id} className={buttonClass()}>
        <Icon name="upload" size={16} />
        {words.upload}
      </label>
      <span id={`${id}-hint`} className="secondary">
        {words.uploadHint}
      </span>
      {upload.error && <ErrorText error={upload.error} />}
    </div>
  )
}
