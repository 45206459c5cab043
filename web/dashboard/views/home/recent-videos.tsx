import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { ownPath } from '../../api/own-path.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../ui/badge.tsx'
import { classNames } from '../../ui/class-names.ts'
import { formatDuration } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { useListKeys } from '../../ui/list-keys.ts'
import { Panel } from '../../ui/panel.tsx'
import { Time } from '../../ui/time.tsx'
import { titleOf } from '../../ui/title-of.ts'
import styles from './recent-videos.module.css'

const variants: Record<string, BadgeVariant> = { ready: 'good', processing: 'info', failed: 'bad' }

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
      <ul ref={list} className={styles.list}>
        {videos.map((video) => (
          <li key={video.videoId}>
            <Link
              to="/$environment/videos/$videoId"
              params={{ environment, videoId: video.videoId }}
              className={styles.video}
            >
              <span className={styles.frame}>
                {/* Before, the server has only a placeholder. */}
                {video.status.state === 'ready' ? (
                  <img
                    className={styles.thumbnail}
                    src={ownPath(video.assets.thumbnail)}
                    alt=""
                    loading="lazy"
                  />
                ) : (
                  <Icon name={video.status.state === 'failed' ? 'warning' : 'video'} size={28} />
                )}
                {video.status.duration !== null && (
                  <span className={styles.duration}>{formatDuration(video.status.duration)}</span>
                )}
              </span>
              <span className={styles.title}>{titleOf(video.title)}</span>
              <span className={classNames('secondary', styles.facts)}>
                <Badge variant={variants[video.status.state] ?? 'plain'}>
                  {messages.home.states[video.status.state]}
                </Badge>
                <Time value={video.createdAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
