import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { eventsQuery, type ViewingEvent } from '../../../api/viewing-sessions.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { formatDuration } from '../../../ui/format.ts'
import { Pager } from '../../../ui/pager.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

const isKnown = (type: string): type is keyof typeof messages.viewers.eventTypes =>
  Object.hasOwn(messages.viewers.eventTypes, type)

function positionOf({ at, from, to }: ViewingEvent): string {
  if (from !== undefined && to !== undefined)
    return messages.viewers.seek(formatDuration(from), formatDuration(to))
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
        label={messages.viewers.events}
        rows={rows}
        keyOf={({ key }) => key}
        columns={[
          { label: messages.viewers.time, cell: ({ emittedAt }) => time.format(new Date(emittedAt)) },
          {
            label: messages.viewers.event,
            cell: ({ type }) => (isKnown(type) ? messages.viewers.eventTypes[type] : type),
          },
          { label: messages.viewers.position, cell: (event) => positionOf(event) },
        ]}
      />
      <Pager page={page} pagination={events.data.pagination} onChange={setPage} />
    </>
  )
}
