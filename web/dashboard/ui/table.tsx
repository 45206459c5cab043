import { type ReactNode, useRef } from 'react'
import { useListKeys } from './list-keys.ts'
import styles from './table.module.css'

export type Column<T> = {
  label: ReactNode
  /** The label as a text, if it is not one: small screens show it beside each value. */
  name?: string
  /** Numbers are aligned to the right. */
  isNumber?: boolean
  cell(row: T): ReactNode
}

type TableProps<T> = {
  label: string
  columns: Column<T>[]
  rows: T[]
  keyOf(row: T): string
  /** The key "down" leads to it. */
  isMain?: boolean
}

export function Table<T>({ label, columns, rows, keyOf, isMain }: TableProps<T>) {
  const table = useRef<HTMLTableElement>(null)
  useListKeys(table, { isMain })
  return (
    // Keyboards can scroll it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table ref={table} className={styles.table}>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th key={i} scope="col" className={column.isNumber ? styles.number : undefined}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, i) => (
                <td
                  key={i}
                  className={column.isNumber ? styles.number : undefined}
                  data-label={typeof column.label === 'string' ? column.label : column.name}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
