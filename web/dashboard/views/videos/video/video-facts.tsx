import { Link } from '@tanstack/react-router'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { isArriving } from '../../../api/video-status.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { formatPercent } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Time } from '../../../ui/time.tsx'
import { describeStatus } from '../describe-status.ts'
import styles from './video-page.module.css'
import { isUnderWay, stateOf } from './video-state.ts'

const variants = { ready: 'good', partial: 'warn', failed: 'bad', empty: 'plain' } as const

/** The line below the title. */
export function VideoFacts({ video, status }: { video: Video; status: VideoStatus }) {
  const environment = useEnvironment()
  const state = stateOf(status)
  const label = messages.video.state[state.name]
  const underWay = state.fraction > 0 ? `${label} ${formatPercent(state.fraction)}` : label
  const { liveStream } = video.source
  return (
    <div className={styles.facts}>
      {isUnderWay(state) ? (
        <Badge variant="info">{isArriving(status) ? describeStatus(status) : underWay}</Badge>
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
