import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ownPath } from '../../api/own-path.ts'
import type { Video, VideoStatus } from '../../api/types.ts'
import { retryEncoding } from '../../api/video.ts'
import { encodedFraction, failureOf, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { formatPercent } from '../../ui/format.ts'
import { Player } from '../../ui/player.tsx'
import { Progress } from '../../ui/progress.tsx'
import { ErrorText } from '../../ui/states.tsx'
import type { Upload } from '../../upload/types.ts'
import styles from './stage.module.css'

/** A file on its way. The panel of uploads can pause and cancel it. */
export function UploadStage({ upload: { name, sent, size, state, message } }: { upload: Upload }) {
  const fraction = size > 0 ? sent / size : 0
  return (
    <div className={styles.stage}>
      <div className={styles.progress}>
        <strong className={styles.name} dir="auto">
          {name}
        </strong>
        <Progress fraction={fraction} label={messages.upload.progress(name)} />
        <span className="muted">
          {message ??
            (state === 'uploading'
              ? messages.home.uploaded(formatPercent(fraction))
              : messages.upload.states[state])}
        </span>
      </div>
    </div>
  )
}

type VideoStageProps = {
  video: Video
  /** Undefined while it is loaded. */
  status: VideoStatus | undefined
  isPlayable: boolean
}

/** The player, as soon as there is something to watch. Until then, how long it will take. */
export function VideoStage({ video, status, isPlayable }: VideoStageProps) {
  // Private videos have a new URL in each response, which would load the player again.
  // The owner of a video is not counted as a viewer.
  const [playerUrl] = useState(`${ownPath(video.assets.player)}#analytics:false`)
  const failure = status && failureOf(status)
  if (failure)
    return (
      <Failed videoId={video.videoId} reason={failure} hasArrived={status.ingest?.failure === undefined} />
    )
  if (isPlayable) return <Player src={playerUrl} title={messages.home.playerTitle(video.title)} />
  return (
    <div className={styles.stage}>
      <div className={styles.progress}>
        <strong className={styles.name} dir="auto">
          {video.title}
        </strong>
        <Progress fraction={status ? encodedFraction(status) : 0} label={messages.videos.states.processing} />
        <span className="muted">{status ? describe(status) : '\u00a0'}</span>
      </div>
    </div>
  )
}

function describe(status: VideoStatus): string {
  const { ingest, encoding } = status
  if (ingest?.status === 'ingesting') return messages.home.fetching
  if (encoding.qualities.length === 0) return messages.home.examining
  return messages.home.encoded(formatPercent(encodedFraction(status)))
}

type FailedProps = { videoId: string; reason: string; hasArrived: boolean }

function Failed({ videoId, reason, hasArrived }: FailedProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: () => retryEncoding(environment, videoId),
    onSuccess: () => client.invalidateQueries(statusQuery(environment, videoId)),
  })
  return (
    <div className="stack">
      <ErrorText
        error={new Error(`${hasArrived ? messages.home.failed : messages.home.ingestFailed} ${reason}`)}
      />
      {retry.error && <ErrorText error={retry.error} />}
      {hasArrived && (
        <div>
          <Button icon="reload" disabled={retry.isPending} onClick={() => retry.mutate()}>
            {messages.home.retry}
          </Button>
        </div>
      )}
    </div>
  )
}
