import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ownPath } from '../../api/own-path.ts'
import type { Video, VideoStatus } from '../../api/types.ts'
import { retryEncoding } from '../../api/video.ts'
import { encodedShare, failureOf, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Badge, type BadgeLook } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { formatPercent } from '../../ui/format.ts'
import { Progress } from '../../ui/progress.tsx'
import { ErrorText, Loading } from '../../ui/states.tsx'
import styles from './video-progress.module.css'

/** Follows a video until all of it is encoded. The player appears as soon as there is something to watch. */
export default function VideoProgress({ videoId, video }: { videoId: string; video: Video }) {
  const environment = useEnvironment()
  const status = useQuery(statusQuery(environment, videoId))
  // Private videos have a new URL in each response, which would load the player again.
  // The owner of a video is no viewer of it.
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
      {playable && (
        <iframe
          className={styles.player}
          src={playerUrl}
          title={texts.home.playerTitle(video.title)}
          allow="autoplay; fullscreen; picture-in-picture"
        />
      )}
      {!failure && !isOver && <Progress share={encodedShare(status.data)} label={texts.home.qualities} />}
      <div className={styles.facts}>
        <Qualities status={status.data} />
        <Link to="/$environment/videos/$videoId" params={{ environment, videoId }} className={styles.open}>
          {texts.home.openVideo}
        </Link>
      </div>
    </div>
  )
}

function describe({ ingest, encoding }: VideoStatus, isOver: boolean): string {
  if (encoding.playable) return isOver ? texts.home.playable : texts.home.playableMore
  if (ingest?.status === 'ingesting') return texts.home.fetching
  return encoding.qualities.length > 0 ? texts.home.encoding : texts.home.examining
}

const looks: Record<string, BadgeLook> = { encoded: 'good', encoding: 'info', failed: 'bad' }

function Qualities({ status: { encoding } }: { status: VideoStatus }) {
  return (
    <ul className={styles.qualities} aria-label={texts.home.qualities}>
      {encoding.qualities.map(({ type, quality, status, progress }) => (
        <li key={`${type} ${quality}`}>
          <Badge look={looks[status] ?? 'plain'}>
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
      <ErrorText error={new Error(`${hasArrived ? texts.home.failed : texts.home.ingestFailed} ${reason}`)} />
      {retry.error && <ErrorText error={retry.error} />}
      {hasArrived && (
        <div>
          <Button icon="reload" disabled={retry.isPending} onClick={() => retry.mutate()}>
            {texts.home.retry}
          </Button>
        </div>
      )}
    </>
  )
}
