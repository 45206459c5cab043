import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type LiveStream, viewersQuery } from '../../api/live-streams.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { LivePicture } from '../live/live-picture.tsx'
import { LiveStateBadge } from '../live/live-state.tsx'
import styles from './activity.module.css'

const maxRows = 3

/** `now` is the time at which the list was loaded. */
export function OnAirPanel({ streams, now }: { streams: LiveStream[]; now: number }) {
  const environment = useEnvironment()
  return (
    <Panel
      title={messages.home.onAir}
      actions={
        <Link to="/$environment/live" params={{ environment }}>
          {streams.length > maxRows ? messages.home.all(streams.length) : messages.live.title}
        </Link>
      }
    >
      <ul className={styles.list}>
        {streams.slice(0, maxRows).map((stream) => (
          <li key={stream.liveStreamId}>
            <OnAirRow stream={stream} now={now} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function OnAirRow({ stream, now }: { stream: LiveStream; now: number }) {
  const environment = useEnvironment()
  const { liveStreamId, name } = stream
  const { data: viewers } = useQuery(viewersQuery(environment, liveStreamId, now))
  return (
    <Link to="/$environment/live/$liveStreamId" params={{ environment, liveStreamId }} className={styles.row}>
      <span className={styles.picture}>
        <LivePicture stream={stream} />
      </span>
      <span className={styles.text}>
        <span className={styles.title} dir="auto">
          {name}
        </span>
        <span className={styles.facts}>
          <LiveStateBadge state="onAir" />
          {viewers !== undefined && (
            <span>{messages.live.viewers(formatNumber(viewers), viewers === 1)}</span>
          )}
        </span>
      </span>
    </Link>
  )
}
