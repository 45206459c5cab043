import type { MetadataValue, ValueOrder } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { formatNumber, formatPercent, formatSpan } from '../../../ui/format.ts'
import { type Column, Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import type { Change } from '../overview/change.ts'
import { ChangeText } from '../overview/change-text.tsx'
import { useViewersSearch } from '../use-viewers-search.ts'
import styles from './value-table.module.css'

type ValueTableProps = {
  name: string
  rows: MetadataValue[]
  sortBy: ValueOrder
  onSort(order: ValueOrder): void
  /** The change of the value that the rows are sorted by. Undefined without a previous period. */
  changeOf: ((row: MetadataValue) => Change) | undefined
}

/** The values of a key. Each leads to the sessions with it. */
export function ValueTable({ name, rows, sortBy, onSort, changeOf }: ValueTableProps) {
  const { change } = useViewersSearch()
  const number = (order: ValueOrder, format: (row: MetadataValue) => string): Column<MetadataValue> => ({
    label: (
      <button
        type="button"
        className={classNames(styles.sort, sortBy === order && styles.sorted)}
        aria-pressed={sortBy === order}
        title={`${messages.viewers.sortBy}: ${messages.viewers[order]}`}
        onClick={() => onSort(order)}
      >
        {messages.viewers[order]}
        <span aria-hidden="true">{sortBy === order ? ' ↓' : ''}</span>
      </button>
    ),
    name: messages.viewers[order],
    isNumber: true,
    cell: format,
  })
  return (
    <Table
      label={messages.viewers.valuesOf(name)}
      rows={rows}
      keyOf={({ value }) => value}
      columns={[
        {
          label: messages.viewers.value,
          cell: ({ value }) => (
            <button
              type="button"
              className={styles.value}
              title={messages.viewers.sessionsOf(value)}
              onClick={() => change({ tab: 'sessions', viewerKey: name, viewer: value })}
            >
              <bdi>{value}</bdi>
            </button>
          ),
        },
        number('sessions', ({ sessions }) => formatNumber(sessions)),
        number('plays', ({ plays }) => formatNumber(plays)),
        number('watchTime', ({ watchTime }) => formatSpan(watchTime)),
        {
          label: messages.viewers.averageWatchTime,
          isNumber: true,
          cell: ({ averageWatchTime }) => formatSpan(averageWatchTime),
        },
        number('completion', ({ completion }) => (completion === null ? '–' : formatPercent(completion))),
        ...(changeOf
          ? [
              {
                label: messages.viewers.changeOf(messages.viewers[sortBy]),
                isNumber: true,
                cell: (row: MetadataValue) => <ChangeText change={changeOf(row)} />,
              },
            ]
          : []),
        { label: messages.viewers.lastSeen, cell: ({ lastSeenAt }) => <Time value={lastSeenAt} /> },
      ]}
    />
  )
}
