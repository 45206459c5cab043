import { useQuery } from '@tanstack/react-query'
import type { QualityStatus } from '../../api/types.ts'
import { encodedShare, statusQuery } from '../../api/video-status.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { formatPercent } from '../../ui/format.ts'
import { Progress } from '../../ui/progress.tsx'
import styles from './video-progress.module.css'

/** How far the encoding of a video is, for each quality. */
export function VideoProgress({ videoId }: { videoId: string }) {
  const { data } = useQuery(statusQuery(useEnvironment(), videoId))
  const qualities = data?.encoding.qualities.filter(({ type }) => type === 'hls') ?? []
  const text = !data
    ? texts.videos.states.processing
    : qualities.length > 0
      ? qualities.map(textOf).join(' · ')
      : data.ingest?.status === 'uploading' || data.ingest?.status === 'ingesting'
        ? texts.videos.arriving
        : texts.videos.examining
  return (
    <div className={styles.progress}>
      <Progress share={data ? encodedShare(data) : 0} label={texts.videos.states.processing} />
      <div className={styles.text} title={text}>
        {text}
      </div>
    </div>
  )
}

function textOf({ quality, status, progress = 0 }: QualityStatus): string {
  const state = status === 'encoding' ? formatPercent(progress / 100) : texts.videos.qualityStates[status]
  return `${quality} ${state}`
}
