import { now } from '../../api/clock.ts'
import { useEnvironment } from '../../app/environment.ts'
import { ErrorText } from '../../ui/states.tsx'
import type { Upload } from '../../upload/types.ts'
import { useUploads } from '../../upload/uploads.ts'
import { RecentViews } from '../viewers/recent-views.tsx'
import { attentionOf } from './attention.ts'
import { AttentionPanel } from './attention-panel.tsx'
import { InProgressPanel } from './in-progress-panel.tsx'
import { OnAirPanel } from './on-air-panel.tsx'
import styles from './overview.module.css'
import { RecentVideos } from './recent-videos.tsx'
import { StoragePanel } from './storage-panel.tsx'
import type { Home } from './use-home.ts'

const isOnItsWay = ({ state }: Upload) =>
  state === 'waiting' || state === 'uploading' || state === 'paused' || state === 'interrupted'

/** What happens now, what needs somebody, and what happened in the last days. Only what there is. */
export default function Overview({ home }: { home: Home }) {
  const environment = useEnvironment()
  const { newest, processing, onAir, system, views, error } = home
  const uploads = useUploads(environment).filter(isOnItsWay)
  // The server receives it, too.
  const isSent = (id: string) => uploads.some(({ videoId }) => videoId === id)
  const all = processing.data?.data ?? []
  const videos = all.filter(({ videoId }) => !isSent(videoId))
  const total = uploads.length + (processing.data?.pagination.itemsTotal ?? 0) - (all.length - videos.length)
  const attention = system.data ? attentionOf(system.data, environment, now()) : []
  return (
    <div className="stack">
      {error && <ErrorText error={error} />}
      <div className={styles.panels}>
        {attention.length > 0 && <AttentionPanel list={attention} />}
        {onAir.data && onAir.data.length > 0 && <OnAirPanel streams={onAir.data} now={onAir.dataUpdatedAt} />}
        {total > 0 && <InProgressPanel uploads={uploads} videos={videos} total={total} />}
        <div className={styles.numbers}>
          {views.data && <RecentViews points={views.data} />}
          {system.data && <StoragePanel system={system.data} />}
        </div>
      </div>
      {newest.data && newest.data.data.length > 0 && <RecentVideos videos={newest.data.data} />}
    </div>
  )
}
