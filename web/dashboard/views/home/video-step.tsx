import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { Video } from '../../api/types.ts'
import { statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { ErrorText, Loading } from '../../ui/states.tsx'
import type { Upload } from '../../upload/types.ts'
import { AddVideo } from './add-video.tsx'
import { Step } from './step.tsx'
import { UploadProgress } from './upload-progress.tsx'

// There is no video at first.
const VideoProgress = lazyWithRetry(() => import('./video-progress.tsx'))

type VideoStepProps = {
  /** The last one of this page. */
  upload: Upload | undefined
  videoId: string | undefined
  video: Video | undefined
  onFetch(videoId: string): void
}

/** From a file or an address to a player. */
export function VideoStep({ upload, videoId, video, onFetch }: VideoStepProps) {
  const status = useQuery({
    ...statusQuery(useEnvironment(), videoId ?? ''),
    enabled: videoId !== undefined,
  })
  const isPlayable = status.data?.encoding.playable ?? false
  const isSending = upload && ['waiting', 'uploading', 'paused', 'interrupted'].includes(upload.state)
  const failure = upload?.state === 'failed' && !upload.videoId ? upload.message : undefined
  return (
    <Step number={2} title={messages.home.video} isDone={isPlayable && !isSending}>
      {failure && <ErrorText error={new Error(failure)} />}
      {isSending ? (
        <UploadProgress upload={upload} />
      ) : (
        videoId &&
        video && (
          <Suspense fallback={<Loading />}>
            <VideoProgress key={videoId} videoId={videoId} video={video} />
          </Suspense>
        )
      )}
      <AddVideo hasVideo={videoId !== undefined || isSending === true} onFetch={onFetch} />
    </Step>
  )
}
