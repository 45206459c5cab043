import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type LiveStream, viewersQuery } from '../../api/live-streams.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { classNames } from '../../ui/class-names.ts'
import { formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import styles from './live-card.module.css'
import { LivePicture } from './live-picture.tsx'
import { LiveStateBadge } from './live-state.tsx'

/** `now` is the time at which the list was loaded. */
export function LiveCard({ stream, now }: { stream: LiveStream; now: number }) {
  const environment = useEnvironment()
  const { liveStreamId, name, broadcasting } = stream
  return (
    <li className={styles.card}>
      <Link
        to="/$environment/live/$liveStreamId"
        params={{ environment, liveStreamId }}
        className={styles.link}
      >
        <div className={styles.picture}>
          <LivePicture stream={stream} />
          <span className={classNames(styles.mark, broadcasting && styles.behind)}>
            <Icon name="live" size={28} />
          </span>
          <span className={styles.state}>
            <LiveStateBadge state={broadcasting ? 'onAir' : 'offAir'} />
          </span>
        </div>
        <div className={styles.text}>
          <h2 className={styles.name} dir="auto">
            {name}
          </h2>
          <div className={styles.facts}>
            {broadcasting && <Viewers liveStreamId={liveStreamId} now={now} />}
            {!stream.public && (
              <span className={styles.fact}>
                <Icon name="lock" size={14} />
                {messages.live.private}
              </span>
            )}
            <span className={styles.fact}>
              {!stream.record
                ? messages.live.notRecorded
                : broadcasting
                  ? messages.live.recording
                  : messages.live.recorded}
            </span>
          </div>
        </div>
      </Link>
    </li>
  )
}

function Viewers({ liveStreamId, now }: { liveStreamId: string; now: number }) {
  const { data } = useQuery(viewersQuery(useEnvironment(), liveStreamId, now))
  if (data === undefined) return null
  return (
    <span className={styles.fact}>
      <Icon name="eye" size={14} />
      {messages.live.viewers(formatNumber(data), data === 1)}
    </span>
  )
}
