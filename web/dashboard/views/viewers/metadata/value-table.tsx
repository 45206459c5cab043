import type { MetadataValue, ValueOrder } from '../../../api/viewing-sessions.ts'
import { texts } from '../../../texts/texts.ts'
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
        title={`${texts.viewers.sortBy}: ${texts.viewers[order]}`}
        onClick={() => onSort(order)}
      >
        {texts.viewers[order]}
        <span aria-hidden="true">{sortBy === order ? ' ↓' : ''}</span>
      </button>
    ),
    name: texts.viewers[order],
    isNumber: true,
    cell: format,
  })
  return (
    <Table
      label={texts.viewers.valuesOf(name)}
      rows={rows}
      keyOf={({ value }) => value}
      columns={[
        {
          label: texts.viewers.value,
          cell: ({ value }) => (
            <button
              type="button"
              className={styles.value}
              title={texts.viewers.sessionsOf(value)}
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
          label: texts.viewers.averageWatchTime,
          isNumber: true,
          cell: ({ averageWatchTime }) => formatSpan(averageWatchTime),
        },
        number('completion', ({ completion }) => (completion === null ? '–' : formatPercent(completion))),
        ...(changeOf
          ? [
              {
                label: texts.viewers.changeOf(texts.viewers[sortBy]),
                isNumber: true,
                cell: (row: MetadataValue) => <ChangeText change={changeOf(row)} />,
              },
            ]
          : []),
        { label: texts.viewers.lastSeen, cell: ({ lastSeenAt }) => <Time value={lastSeenAt} /> },
      ]}
    />
  )
}
