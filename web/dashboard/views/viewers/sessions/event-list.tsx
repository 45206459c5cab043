import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { eventsQuery, type ViewingEvent } from '../../../api/viewing-sessions.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { formatDuration } from '../../../ui/format.ts'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'
import { Pager } from '../pager.tsx'

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

const isKnown = (type: string): type is keyof typeof texts.viewers.eventTypes =>
  Object.hasOwn(texts.viewers.eventTypes, type)

function positionOf({ at, from, to }: ViewingEvent): string {
  if (from !== undefined && to !== undefined)
    return texts.viewers.seek(formatDuration(from), formatDuration(to))
  return at === undefined ? '–' : formatDuration(at)
}

/** What the player has reported, in order. */
export function EventList({ sessionId }: { sessionId: string }) {
  const [page, setPage] = useState(1)
  const events = useQuery(eventsQuery(useEnvironment(), sessionId, page))
  if (events.isPending) return <Loading />
  if (!events.data) return <ErrorState error={events.error} onRetry={() => events.refetch()} />
  const rows = events.data.data.map((event, i) => ({ ...event, key: String(i) }))
  return (
    <>
      <Table
        label={texts.viewers.events}
        rows={rows}
        keyOf={({ key }) => key}
        columns={[
          { label: texts.viewers.time, cell: ({ emittedAt }) => time.format(new Date(emittedAt)) },
          {
            label: texts.viewers.event,
            cell: ({ type }) => (isKnown(type) ? texts.viewers.eventTypes[type] : type),
          },
          { label: texts.viewers.position, cell: (event) => positionOf(event) },
        ]}
      />
      <Pager page={page} pagination={events.data.pagination} onChange={setPage} />
    </>
  )
}
