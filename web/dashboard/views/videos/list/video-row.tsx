import { formatDuration } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { TagList } from '../tag-list.tsx'
import { Thumbnail } from '../thumbnail.tsx'
import { VideoLink } from '../video-link.tsx'
import { VideoProgress } from '../video-progress.tsx'
import { StateBadge, VisibilityMark } from '../video-state.tsx'
import { SelectBox } from './select-box.tsx'
import type { VideoContentProps } from './video-card.tsx'
import styles from './video-row.module.css'

/** A video in the list. */
export function VideoRow({ video, isSelected, onSelect }: VideoContentProps) {
  if (!video) return <RowSkeleton />
  const { videoId, status, tags } = video
  const title = titleOf(video.title)
  return (
    <div className={styles.row}>
      <SelectBox title={title} isSelected={isSelected} onSelect={onSelect} />
      <div className={styles.thumbnail}>
        <Thumbnail video={video} isSmall />
      </div>
      <div className={styles.text}>
        <VideoLink videoId={videoId} title={title} className={styles.title} />
        <TagList tags={tags} />
      </div>
      <div className={styles.state}>
        {status.state === 'processing' ? (
          <VideoProgress videoId={videoId} />
        ) : (
          <>
            <StateBadge state={status.state} />
            <VisibilityMark isPublic={video.public} />
          </>
        )}
      </div>
      <div className={styles.number}>{status.duration !== null && formatDuration(status.duration)}</div>
      <div className={styles.number}>
        <Time value={video.createdAt} />
      </div>
    </div>
  )
}

const RowSkeleton = () => (
  <div className={styles.row} aria-hidden="true">
    <span className={styles.boxSpace} />
    <div className={styles.blank} />
    <div className={styles.line} />
  </div>
)
