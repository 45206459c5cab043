import type { ListedVideo } from '../../../api/videos.ts'
import { classNames } from '../../../ui/class-names.ts'
import { Time } from '../../../ui/time.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { TagList } from '../tag-list.tsx'
import { Thumbnail } from '../thumbnail.tsx'
import { VideoLink } from '../video-link.tsx'
import { VideoProgress } from '../video-progress.tsx'
import { StateBadge, VisibilityMark } from '../video-state.tsx'
import { SelectBox } from './select-box.tsx'
import styles from './video-card.module.css'

export type VideoContentProps = {
  video: ListedVideo | undefined
  isSelected: boolean
  onSelect(isRange: boolean): void
}

/** A video in the grid. */
export function VideoCard({ video, isSelected, onSelect }: VideoContentProps) {
  if (!video) return <CardSkeleton />
  const { videoId, status } = video
  const title = titleOf(video.title)
  return (
    <div className={styles.card}>
      <Thumbnail video={video} />
      <div className={classNames(styles.select, isSelected && styles.selected)}>
        <SelectBox title={title} isSelected={isSelected} onSelect={onSelect} />
      </div>
      <div className={styles.title}>
        <VideoLink videoId={videoId} title={title} className={styles.link} />
      </div>
      <div className={styles.facts}>
        {status.state === 'processing' ? (
          <VideoProgress videoId={videoId} />
        ) : (
          <>
            <StateBadge state={status.state} />
            <VisibilityMark isPublic={video.public} />
            <Time value={video.createdAt} />
            <TagList tags={video.tags} />
          </>
        )}
      </div>
    </div>
  )
}

/** It does not move: hundreds of moving parts would slow down scrolling. */
const CardSkeleton = () => (
  <div className={styles.card} aria-hidden="true">
    <div className={styles.blank} />
    <div className={styles.line} />
  </div>
)
