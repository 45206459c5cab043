import { Link } from '@tanstack/react-router'
import type { Video } from '../../../api/types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { formatPercent } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Time } from '../../../ui/time.tsx'
import styles from './video-page.module.css'
import { isUnderWay, type VideoState } from './video-state.ts'

const variants = { ready: 'good', partial: 'warn', failed: 'bad', empty: 'plain' } as const

/** The line below the title. */
export function VideoFacts({ video, state }: { video: Video; state: VideoState }) {
  const environment = useEnvironment()
  const label = messages.video.state[state.name]
  const { liveStream } = video.source
  return (
    <div className={styles.facts}>
      {isUnderWay(state) ? (
        <Badge variant="info">
          {state.fraction > 0 ? `${label} ${formatPercent(state.fraction)}` : label}
        </Badge>
      ) : (
        <Badge variant={variants[state.name as keyof typeof variants]}>{label}</Badge>
      )}
      <Badge>
        <Icon name={video.public ? 'globe' : 'lock'} size={12} />
        {video.public ? messages.video.public : messages.video.private}
      </Badge>
      <span>
        {messages.video.created} <Time value={video.createdAt} />
      </span>
      {liveStream && (
        <Link
          to="/$environment/live/$liveStreamId"
          params={{ environment, liveStreamId: liveStream.liveStreamId }}
        >
          {messages.video.fromLiveStream}
        </Link>
      )}
      <span className={styles.id}>
        <code>{video.videoId}</code>
        <CopyButton text={video.videoId} label={messages.video.copyId} isIcon />
      </span>
    </div>
  )
}
