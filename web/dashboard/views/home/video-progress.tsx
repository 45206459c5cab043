import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ownPath } from '../../api/own-path.ts'
import type { Video, VideoStatus } from '../../api/types.ts'
import { retryEncoding } from '../../api/video.ts'
import { encodedFraction, failureOf, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { formatPercent } from '../../ui/format.ts'
import { Player } from '../../ui/player.tsx'
import { Progress } from '../../ui/progress.tsx'
import { ErrorText, Loading } from '../../ui/states.tsx'
import styles from './video-progress.module.css'

/** Follows a video until all of it is encoded. The player appears as soon as there is something to watch. */
export default function VideoProgress({ videoId, video }: { videoId: string; video: Video }) {
  const environment = useEnvironment()
  const status = useQuery(statusQuery(environment, videoId))
  // Private videos have a new URL in each response, which would load the player again.
  // The owner of a video is not counted as a viewer.
  const [playerUrl] = useState(`${ownPath(video.assets.player)}#analytics:false`)
  if (!status.data) return status.error ? <ErrorText error={status.error} /> : <Loading />
  const failure = failureOf(status.data)
  const { playable, qualities } = status.data.encoding
  const isOver = qualities.length > 0 && qualities.every((each) => each.status === 'encoded')
  return (
    <div className={styles.progress}>
      {failure ? (
        <Failed videoId={videoId} reason={failure} hasArrived={status.data.ingest?.failure === undefined} />
      ) : (
        <p role="status">{describe(status.data, isOver)}</p>
      )}
      {playable && <Player src={playerUrl} title={messages.home.playerTitle(video.title)} />}
      {!failure && !isOver && (
        <Progress fraction={encodedFraction(status.data)} label={messages.home.qualities} />
      )}
      <div className="facts">
        <Qualities status={status.data} />
        <Link to="/$environment/videos/$videoId" params={{ environment, videoId }} className={styles.open}>
          {messages.home.openVideo}
        </Link>
      </div>
    </div>
  )
}

function describe({ ingest, encoding }: VideoStatus, isOver: boolean): string {
  if (encoding.playable) return isOver ? messages.home.playable : messages.home.playableMore
  if (ingest?.status === 'ingesting') return messages.home.fetching
  return encoding.qualities.length > 0 ? messages.home.encoding : messages.home.examining
}

const variants: Record<string, BadgeVariant> = { encoded: 'good', encoding: 'info', failed: 'bad' }

function Qualities({ status: { encoding } }: { status: VideoStatus }) {
  return (
    <ul className={styles.qualities} aria-label={messages.home.qualities}>
      {encoding.qualities.map(({ type, quality, status, progress }) => (
        <li key={`${type} ${quality}`}>
          <Badge variant={variants[status] ?? 'plain'}>
            {type === 'mp4' ? `MP4 ${quality}` : quality}
            {status === 'encoding' && progress !== undefined && ` ${formatPercent(progress / 100)}`}
          </Badge>
        </li>
      ))}
    </ul>
  )
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
    <>
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
    </>
  )
}
