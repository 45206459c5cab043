import { useQuery } from '@tanstack/react-query'
import type { QualityStatus } from '../../api/types.ts'
import { encodedFraction, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatPercent } from '../../ui/format.ts'
import { Progress } from '../../ui/progress.tsx'
import styles from './video-progress.module.css'

/** How far the encoding of a video is, for each quality. */
export function VideoProgress({ videoId }: { videoId: string }) {
  const { data } = useQuery(statusQuery(useEnvironment(), videoId))
  const qualities = data?.encoding.qualities.filter(({ type }) => type === 'hls') ?? []
  const text = !data
    ? messages.videos.states.processing
    : qualities.length > 0
      ? qualities.map(textOf).join(' · ')
      : data.ingest?.status === 'uploading' || data.ingest?.status === 'ingesting'
        ? messages.videos.arriving
        : messages.videos.examining
  return (
    <div className={styles.progress}>
      <Progress fraction={data ? encodedFraction(data) : 0} label={messages.videos.states.processing} />
      <div className={styles.text} title={text}>
        {text}
      </div>
    </div>
  )
}

function textOf({ quality, status, progress = 0 }: QualityStatus): string {
  const state = status === 'encoding' ? formatPercent(progress / 100) : messages.videos.qualityStates[status]
  return `${quality} ${state}`
}
