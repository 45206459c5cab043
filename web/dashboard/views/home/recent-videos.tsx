import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { classNames } from '../../ui/class-names.ts'
import { useListKeys } from '../../ui/list-keys.ts'
import { Panel } from '../../ui/panel.tsx'
import { Time } from '../../ui/time.tsx'
import { titleOf } from '../../ui/title-of.ts'
import { Thumbnail } from '../videos/thumbnail.tsx'
import { StateBadge } from '../videos/video-state.tsx'
import styles from './recent-videos.module.css'

/** Two rows, as many as fit. */
export function RecentVideos({ videos }: { videos: ListedVideo[] }) {
  const environment = useEnvironment()
  const list = useRef<HTMLUListElement>(null)
  useListKeys(list)
  return (
    <Panel
      title={messages.home.recent}
      actions={
        <Link to="/$environment/videos" params={{ environment }}>
          {messages.home.allVideos}
        </Link>
      }
    >
      <div className={styles.container}>
        <ul ref={list} className={styles.list}>
          {videos.map((video) => (
            <li key={video.videoId}>
              <Link
                to="/$environment/videos/$videoId"
                params={{ environment, videoId: video.videoId }}
                className={styles.video}
              >
                <Thumbnail video={video} />
                <span className={styles.title}>{titleOf(video.title)}</span>
                <span className={classNames('secondary', styles.facts)}>
                  <StateBadge state={video.status.state} />
                  <Time value={video.createdAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  )
}
