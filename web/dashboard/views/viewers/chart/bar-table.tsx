import { messages } from '../../../messages/messages.ts'
import { classNames } from '../../../ui/class-names.ts'
import { formatPercent } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import type { Change } from '../overview/change.ts'
import { ChangeText } from '../overview/change-text.tsx'
import styles from './bar-table.module.css'

type Bar = {
  key: string
  label: string
  value: number
  /** Null while it is loaded. */
  change: Change | null
  /** A page that can be opened. */
  link?: string | undefined
  onSelect?: () => void
}

type BarTableProps = {
  label: string
  dimension: string
  metric: string
  /** The whole that the values are parts of, if they are. */
  total: number | undefined
  /** Whether there is a previous period. */
  hasChange: boolean
  format(value: number): string
  rows: Bar[]
}

/** A chart that is a table: every row has its bar, its number, its share and its change. */
export function BarTable({ label, dimension, metric, total, hasChange, format, rows }: BarTableProps) {
  const highest = Math.max(...rows.map(({ value }) => value))
  const hasShare = total !== undefined && total > 0
  return (
    <table className={styles.table} aria-label={label}>
      <colgroup>
        <col />
        <col className={styles.numberColumn} />
        {hasShare && <col className={classNames(styles.shareColumn, hasChange && styles.secondary)} />}
        {hasChange && <col className={styles.changeColumn} />}
      </colgroup>
      <thead className="visually-hidden">
        <tr>
          <th scope="col">{dimension}</th>
          <th scope="col">{metric}</th>
          {hasShare && (
            <th scope="col" className={hasChange ? styles.secondary : undefined}>
              {messages.viewers.share}
            </th>
          )}
          {hasChange && <th scope="col">{messages.viewers.change}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row" className={styles.name}>
              <span className={styles.cell}>
                <span className={styles.bar} style={{ width: `${(row.value / highest) * 100}%` }} />
                <BarName bar={row} />
                {row.link && (
                  <a
                    className={styles.link}
                    href={row.link}
                    target="_blank"
                    rel="noreferrer"
                    aria-label={row.link}
                  >
                    <Icon name="external" size={14} />
                  </a>
                )}
              </span>
            </th>
            <td className={styles.number}>{format(row.value)}</td>
            {hasShare && (
              <td className={classNames(styles.share, hasChange && styles.secondary)}>
                {formatPercent(row.value / total)}
              </td>
            )}
            {hasChange && (
              <td className={styles.share}>{row.change !== null && <ChangeText change={row.change} />}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function BarName({ bar: { label, onSelect } }: { bar: Bar }) {
  const name = <bdi>{label}</bdi>
  if (!onSelect) return <span className={styles.text}>{name}</span>
  return (
    <button
      type="button"
      className={styles.select}
      title={label}
      aria-label={messages.viewers.filterBy(label)}
      onClick={onSelect}
    >
      {name}
    </button>
  )
}
