import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { failedCountQuery, onAirQuery, viewersQuery } from '../../api/home.ts'
import { systemQuery } from '../../api/system.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { titleOf } from '../../ui/title-of.ts'
import { RecentViews } from '../viewers/recent-views.tsx'
import { Figure } from './figure.tsx'
import styles from './overview.module.css'
import { RecentVideos } from './recent-videos.tsx'

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** What is going on, at a glance. */
export default function Overview({ recent }: { recent: ListedVideo[] }) {
  const environment = useEnvironment()
  const viewers = useQuery(viewersQuery(environment))
  const onAir = useQuery(onAirQuery(environment))
  const failed = useQuery(failedCountQuery(environment))
  const system = useQuery(systemQuery(environment))
  const storedBytes = system.data?.storage?.reduce((sum, { bytes }) => sum + bytes, 0)
  const disk = system.data?.disk
  return (
    <div className="stack">
      {system.data?.isDiskLow && <ErrorText error={new Error(messages.system.diskPaused)} />}
      <div className={styles.figures}>
        <Figure
          label={messages.home.viewers}
          to="/$environment/viewers"
          value={viewers.data === undefined ? undefined : formatNumber(viewers.data)}
          error={viewers.error}
          hint={viewers.data ? messages.home.viewersAt(time.format(viewers.dataUpdatedAt)) : undefined}
        />
        <Figure
          label={messages.home.live}
          to="/$environment/live"
          value={onAir.data === undefined ? undefined : formatNumber(onAir.data.length)}
          error={onAir.error}
        />
        <Figure
          label={messages.home.failures}
          to="/$environment/system"
          value={failed.data === undefined ? undefined : formatNumber(failed.data)}
          error={failed.error}
          isBad={(failed.data ?? 0) > 0}
        />
        <Figure
          label={messages.home.storage}
          to="/$environment/system"
          value={storedBytes === undefined ? undefined : formatBytes(storedBytes)}
          error={system.error}
          hint={disk ? messages.home.free(formatBytes(disk.freeBytes)) : undefined}
        />
      </div>
      {onAir.data && onAir.data.length > 0 && (
        <Panel title={messages.home.onAir}>
          <ul className={styles.streams}>
            {onAir.data.map(({ liveStreamId, name }) => (
              <li key={liveStreamId}>
                <Link to="/$environment/live/$liveStreamId" params={{ environment, liveStreamId }}>
                  {titleOf(name)}
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <RecentViews />
      <RecentVideos videos={recent} />
    </div>
  )
}
