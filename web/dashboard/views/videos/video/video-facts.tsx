import { Link } from '@tanstack/react-router'
import type { Video } from '../../../api/types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Badge } from '../../../ui/badge.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { formatPercent } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Time } from '../../../ui/time.tsx'
import styles from './video-page.module.css'
import { isUnderWay, type VideoState } from './video-state.ts'

const looks = { ready: 'good', partial: 'warn', failed: 'bad', empty: 'plain' } as const

/** The line below the title. */
export function VideoFacts({ video, state }: { video: Video; state: VideoState }) {
  const environment = useEnvironment()
  const label = texts.video.state[state.name]
  const { liveStream } = video.source
  return (
    <div className={styles.facts}>
      {isUnderWay(state) ? (
        <Badge look="info">{state.share > 0 ? `${label} ${formatPercent(state.share)}` : label}</Badge>
      ) : (
        <Badge look={looks[state.name as keyof typeof looks]}>{label}</Badge>
      )}
      <Badge>
        <Icon name={video.public ? 'globe' : 'lock'} size={12} />
        {video.public ? texts.video.public : texts.video.private}
      </Badge>
      <span>
        {texts.video.created} <Time value={video.createdAt} />
      </span>
      {liveStream && (
        <Link
          to="/$environment/live/$liveStreamId"
          params={{ environment, liveStreamId: liveStream.liveStreamId }}
        >
          {texts.video.fromLiveStream}
        </Link>
      )}
      <span className={styles.id}>
        <code>{video.videoId}</code>
        <CopyButton text={video.videoId} label={texts.video.copyId} isIcon />
      </span>
    </div>
  )
}
