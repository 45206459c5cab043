import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { now } from '../../../api/clock.ts'
import { type Broadcast, broadcastsQuery, type LiveStream } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { formatDuration } from '../../../ui/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import { Recordings } from './recordings.tsx'
import styles from './stream-panels.module.css'

/** The history, with what became of it. */
export function BroadcastsPanel({ stream }: { stream: LiveStream }) {
  const [page, setPage] = useState(1)
  const broadcasts = useQuery(broadcastsQuery(useEnvironment(), stream.liveStreamId, page))
  const pages = broadcasts.data?.pagination.pagesTotal ?? 1
  return (
    <Panel title={messages.live.broadcasts}>
      {broadcasts.isPending ? (
        <Loading />
      ) : !broadcasts.data ? (
        <ErrorState error={broadcasts.error} onRetry={() => broadcasts.refetch()} />
      ) : broadcasts.data.data.length === 0 ? (
        <p className="secondary">{messages.live.broadcastsEmpty}</p>
      ) : (
        <BroadcastTable stream={stream} broadcasts={broadcasts.data.data} />
      )}
      {pages > 1 && (
        <div className={styles.row}>
          <Button disabled={page === 1} onClick={() => setPage(page - 1)}>
            {messages.live.newer}
          </Button>
          <Button disabled={page >= pages} onClick={() => setPage(page + 1)}>
            {messages.live.older}
          </Button>
        </div>
      )}
    </Panel>
  )
}

const variants = { live: 'live', away: 'warn', ended: 'plain' } as const

function durationOf({ visibleAt, startedAt, endedAt }: Broadcast): string {
  const end = endedAt ? new Date(endedAt).getTime() : now()
  return formatDuration((end - new Date(visibleAt ?? startedAt).getTime()) / 1000)
}

type BroadcastTableProps = { stream: LiveStream; broadcasts: Broadcast[] }

const BroadcastTable = ({ stream, broadcasts }: BroadcastTableProps) => (
  <Table
    label={messages.live.broadcastList}
    rows={broadcasts}
    keyOf={({ broadcastId }) => broadcastId}
    columns={[
      { label: messages.live.began, cell: ({ startedAt }) => <Time value={startedAt} /> },
      {
        label: messages.live.state,
        cell: ({ state }) => <Badge variant={variants[state]}>{messages.live.states[state]}</Badge>,
      },
      { label: messages.live.duration, isNumber: true, cell: durationOf },
      {
        label: messages.live.recordings,
        cell: (broadcast) => <Recordings stream={stream} broadcast={broadcast} />,
      },
    ]}
  />
)
