import { Link } from '@tanstack/react-router'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { Skeleton } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { SelectBox } from './select-box.tsx'
import { Thumbnail } from './thumbnail.tsx'
import { titleOf } from './title.ts'
import styles from './video-card.module.css'
import { VideoProgress } from './video-progress.tsx'
import { StateBadge, VisibilityMark } from './video-state.tsx'

export type VideoContentProps = {
  video: ListedVideo | undefined
  isSelected: boolean
  onSelect(isRange: boolean): void
}

/** A video in the grid. */
export function VideoCard({ video, isSelected, onSelect }: VideoContentProps) {
  const environment = useEnvironment()
  if (!video) return <CardSkeleton />
  const { videoId, status } = video
  const title = titleOf(video)
  return (
    <div className={styles.card}>
      <Thumbnail video={video} />
      <div className={styles.select}>
        <SelectBox title={title} isSelected={isSelected} onSelect={onSelect} />
      </div>
      <div className={styles.title}>
        <Link
          to="/$environment/videos/$videoId"
          params={{ environment, videoId }}
          tabIndex={-1}
          className={styles.link}
          title={title}
          preload={false}
        >
          <bdi>{title}</bdi>
        </Link>
      </div>
      <div className={styles.facts}>
        {status.state === 'processing' ? (
          <VideoProgress videoId={videoId} />
        ) : (
          <>
            <StateBadge state={status.state} />
            <VisibilityMark isPublic={video.public} />
            <Time value={video.createdAt} />
            {video.tags.slice(0, 3).map((tag) => (
              <bdi key={tag} className={styles.tag}>
                {tag}
              </bdi>
            ))}
          </>
        )}
      </div>
    </div>
  )
}

const CardSkeleton = () => (
  <div className={styles.card} aria-hidden="true">
    <div className={styles.blank} />
    <div className={styles.title}>
      <Skeleton width="70%" height={14} />
    </div>
    <div className={styles.facts}>
      <Skeleton width="40%" height={12} />
    </div>
  </div>
)
