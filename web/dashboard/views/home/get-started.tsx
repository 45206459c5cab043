import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, useEffect, useId, useState } from 'react'
import type { ApiKey } from '../../api/types.ts'
import { videoQuery } from '../../api/video.ts'
import { statusQuery } from '../../api/video-status.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { ErrorText } from '../../ui/states.tsx'
import type { Upload } from '../../upload/types.ts'
import { useUploads } from '../../upload/uploads.ts'
import AddVideo from './add-video.tsx'
import { CreateKey } from './create-key.tsx'
import { EmbedCode } from './embed-code.tsx'
import { areDone, type FirstSteps } from './first-steps.ts'
import styles from './get-started.module.css'
import { ImportForm } from './import-form.tsx'
import { note } from './noted-steps.ts'
import { UploadStage, VideoStage } from './stage.tsx'
import { Step } from './step.tsx'

/** Last, and only with a key. */
const CodeSamples = lazyWithRetry(() => import('./code-samples.tsx'))

type GetStartedProps = {
  steps: FirstSteps
  keys: ApiKey[]
  /** The newest video, for somebody who comes back. */
  newest: ListedVideo | undefined
  onClose(): void
}

/** From nothing to a video on a page and a key. The steps are done when the service says so. */
export default function GetStarted({ steps, keys, newest, onClose }: GetStartedProps) {
  const titleId = useId()
  // The key is only in the memory of this page.
  const [apiKey, setApiKey] = useState<string>()
  const { upload, video, status, isPlayable, onImport } = useFirstVideo(newest)
  const isSending = upload !== undefined && isOnItsWay(upload)
  const done = {
    ...steps,
    isUploaded: steps.isUploaded || isPlayable,
    isPlayable: steps.isPlayable || isPlayable,
  }
  const isOver = areDone(done)
  useEffect(() => {
    if (isOver) note({ isOver: true })
  }, [isOver])
  const failure = upload?.state === 'failed' && !upload.videoId ? upload.message : undefined
  return (
    <section className={styles.guide} aria-labelledby={titleId}>
      <div className={styles.head}>
        <div>
          <h2 id={titleId}>{messages.home.start}</h2>
          <p className="muted" role="status">
            {isOver ? messages.home.startDone : messages.home.intro}
          </p>
        </div>
        <Button variant={isOver ? 'primary' : 'quiet'} onClick={onClose}>
          {isOver ? messages.home.close : messages.home.hide}
        </Button>
      </div>
      <div className={styles.columns}>
        <div className="stack">
          {failure && <ErrorText error={new Error(failure)} />}
          {isSending ? (
            <UploadStage upload={upload} />
          ) : (
            video && <VideoStage key={video.videoId} video={video} status={status} isPlayable={isPlayable} />
          )}
          <AddVideo isSmall={isSending || video !== undefined} />
          <ImportForm onImport={onImport} />
        </div>
        <ol className={styles.steps}>
          <Step number={1} title={messages.home.upload} isDone={done.isUploaded} />
          <Step number={2} title={messages.home.watch} isDone={done.isPlayable}>
            {video && <OpenVideo videoId={video.videoId} isReady={isPlayable} />}
          </Step>
          <Step number={3} title={messages.home.embed} isDone={done.isShared}>
            {video ? (
              <EmbedCode video={video} onCopied={() => note({ hasCopied: true })} />
            ) : (
              <p className="muted">{messages.home.embedLater}</p>
            )}
          </Step>
          <Step number={4} title={messages.home.key} isDone={done.hasKey || apiKey !== undefined}>
            <CreateKey keys={keys} apiKey={apiKey} onCreate={setApiKey} />
            <Suspense>
              {(apiKey !== undefined || keys.length > 0) && <CodeSamples apiKey={apiKey} />}
            </Suspense>
          </Step>
        </ol>
      </div>
    </section>
  )
}

const isOnItsWay = ({ state }: Upload) =>
  state === 'waiting' || state === 'uploading' || state === 'paused' || state === 'interrupted'

/** What was added last: by this page, or before. The list has all of `newest` that is needed at first. */
function useFirstVideo(newest: ListedVideo | undefined) {
  const environment = useEnvironment()
  const [imported, setImported] = useState<{ videoId: string; lastUpload: string | undefined }>()
  const last = useUploads(environment).at(-1)
  // A later upload replaces it.
  const isImported = imported !== undefined && imported.lastUpload === last?.id
  const upload = isImported ? undefined : last
  const videoId = isImported ? imported.videoId : upload ? upload.videoId : newest?.videoId
  const enabled = videoId !== undefined
  const listed = videoId === newest?.videoId ? newest : undefined
  const { data: video = listed } = useQuery({ ...videoQuery(environment, videoId ?? ''), enabled })
  const { data: status } = useQuery({ ...statusQuery(environment, videoId ?? ''), enabled })
  return {
    upload,
    video: enabled ? video : undefined,
    status,
    isPlayable: status?.encoding.playable ?? listed?.status.playable ?? false,
    onImport: (id: string) => setImported({ videoId: id, lastUpload: last?.id }),
  }
}

function OpenVideo({ videoId, isReady }: { videoId: string; isReady: boolean }) {
  const environment = useEnvironment()
  return (
    <p className="muted">
      {isReady ? messages.home.playable : messages.home.encoding}{' '}
      <Link to="/$environment/videos/$videoId" params={{ environment, videoId }}>
        {messages.home.openVideo}
      </Link>
    </p>
  )
}
