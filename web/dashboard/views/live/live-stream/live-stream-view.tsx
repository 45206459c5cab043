import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import {
  type Broadcast,
  broadcastsQuery,
  type LiveStream,
  liveStreamQuery,
} from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import type { Parent } from '../../../ui/breadcrumb.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { Page } from '../../../ui/page.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { type LiveState, LiveStateBadge } from '../live-state.tsx'
import { BroadcastsPanel } from './broadcasts-panel.tsx'
import { DetailsPanel } from './details-panel.tsx'
import { EncoderPanel } from './encoder-panel.tsx'
import { HealthPanel } from './health-panel.tsx'
import { LiveStreamActions } from './live-stream-actions.tsx'
import styles from './live-stream-view.module.css'
import { PreviewPanel } from './preview-panel.tsx'
import { RestreamsPanel } from './restreams-panel.tsx'
import { SharePanel } from './share-panel.tsx'
import { StudioLinksPanel } from './studio-links-panel.tsx'

const parents: Parent[] = [{ label: messages.live.title, to: '/$environment/live' }]

export function LiveStreamView() {
  const environment = useEnvironment()
  const { liveStreamId } = useParams({ from: '/$environment/live/$liveStreamId' })
  const stream = useQuery(liveStreamQuery(environment, liveStreamId))
  const broadcasts = useQuery(broadcastsQuery(environment, liveStreamId))
  // Both, because the values of a broadcast would move the rest of the page.
  if (!stream.data || broadcasts.isPending) {
    return (
      <Page title={messages.live.title}>
        {stream.error ? <ErrorState error={stream.error} onRetry={() => stream.refetch()} /> : <Loading />}
      </Page>
    )
  }
  // Deleted in another window.
  if (stream.error && 'status' in stream.error && stream.error.status === 404)
    return (
      <Page title={stream.data.name} parents={parents}>
        <ErrorState error={stream.error} />
      </Page>
    )
  return (
    <LiveStreamPage
      key={liveStreamId}
      stream={stream.data}
      latest={broadcasts.data?.data[0]}
      now={broadcasts.dataUpdatedAt}
    />
  )
}

const stateOf = ({ broadcasting }: LiveStream, latest: Broadcast | undefined): LiveState => {
  if (latest?.state === 'away' && broadcasting) return 'away'
  if (broadcasting) return 'onAir'
  return latest?.state === 'live' ? 'starting' : 'offAir'
}

type LiveStreamPageProps = { stream: LiveStream; latest: Broadcast | undefined; now: number }

function LiveStreamPage({ stream, latest, now }: LiveStreamPageProps) {
  const state = stateOf(stream, latest)
  const current = latest?.state === 'ended' ? undefined : latest
  return (
    <Page
      title={stream.name}
      parents={parents}
      intro={
        <span className={styles.intro}>
          <LiveStateBadge state={state} />
          <code>{stream.liveStreamId}</code>
        </span>
      }
      actions={<LiveStreamActions stream={stream} isOnAir={state !== 'offAir'} />}
    >
      <div className={styles.columns}>
        <div className="stack">
          <PreviewPanel stream={stream} />
          <HealthPanel stream={stream} current={current} last={latest} now={now} />
        </div>
        <div className={classNames('stack', styles.aside)}>
          <EncoderPanel stream={stream} isOnAir={state !== 'offAir'} />
          <RestreamsPanel stream={stream} current={current} />
          <SharePanel stream={stream} />
          <StudioLinksPanel stream={stream} />
        </div>
        <div className="stack">
          <BroadcastsPanel stream={stream} />
          <DetailsPanel stream={stream} />
        </div>
      </div>
    </Page>
  )
}
