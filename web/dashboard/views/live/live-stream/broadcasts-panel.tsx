import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { now } from '../../../api/clock.ts'
import { type Broadcast, broadcastsQuery, type LiveStream } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
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
    <Panel title={texts.live.broadcasts}>
      {broadcasts.isPending ? (
        <Loading />
      ) : !broadcasts.data ? (
        <ErrorState error={broadcasts.error} onRetry={() => broadcasts.refetch()} />
      ) : broadcasts.data.data.length === 0 ? (
        <p className={styles.hint}>{texts.live.broadcastsEmpty}</p>
      ) : (
        <BroadcastTable stream={stream} broadcasts={broadcasts.data.data} />
      )}
      {pages > 1 && (
        <div className={styles.row}>
          <Button disabled={page === 1} onClick={() => setPage(page - 1)}>
            {texts.live.newer}
          </Button>
          <Button disabled={page >= pages} onClick={() => setPage(page + 1)}>
            {texts.live.older}
          </Button>
        </div>
      )}
    </Panel>
  )
}

const looks = { live: 'good', away: 'warn', ended: 'plain' } as const

function durationOf({ visibleAt, startedAt, endedAt }: Broadcast): string {
  const end = endedAt ? new Date(endedAt).getTime() : now()
  return formatDuration((end - new Date(visibleAt ?? startedAt).getTime()) / 1000)
}

type BroadcastTableProps = { stream: LiveStream; broadcasts: Broadcast[] }

const BroadcastTable = ({ stream, broadcasts }: BroadcastTableProps) => (
  <Table
    label={texts.live.broadcastList}
    rows={broadcasts}
    keyOf={({ broadcastId }) => broadcastId}
    columns={[
      { label: texts.live.began, cell: ({ startedAt }) => <Time value={startedAt} /> },
      {
        label: texts.live.state,
        cell: ({ state }) => <Badge look={looks[state]}>{texts.live.states[state]}</Badge>,
      },
      { label: texts.live.duration, isNumber: true, cell: durationOf },
      {
        label: texts.live.recordings,
        cell: (broadcast) => <Recordings stream={stream} broadcast={broadcast} />,
      },
    ]}
  />
)
