import { useQuery } from '@tanstack/react-query'
import type { VideoStatus } from '../../api/types.ts'
import { encodedFraction, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatPercent } from '../../ui/format.ts'
import { Progress } from '../../ui/progress.tsx'
import styles from './video-progress.module.css'

/** How far the encoding of a video is. */
export function VideoProgress({ videoId }: { videoId: string }) {
  const { data } = useQuery(statusQuery(useEnvironment(), videoId))
  return (
    <div className={styles.progress}>
      <Progress fraction={data ? encodedFraction(data) : 0} label={messages.videos.states.processing} />
      <div className={styles.text}>{data ? describe(data) : messages.videos.states.processing}</div>
    </div>
  )
}

function describe(status: VideoStatus): string {
  const { ingest, encoding } = status
  if (encoding.qualities.length > 0) {
    const percent = formatPercent(encodedFraction(status))
    return encoding.playable ? messages.videos.playable(percent) : messages.videos.encoding(percent)
  }
  const isArriving = ingest?.status === 'uploading' || ingest?.status === 'ingesting'
  return isArriving ? messages.videos.arriving : messages.videos.examining
}
