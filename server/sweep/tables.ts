import type { ColumnType } from 'kysely'

/** What the sweep of the file store remembers from run to run. */
export type SweepStateRow = { name: string; value: ColumnType<Record<string, string>, string, string> }

export type SweepTables = {
  sweep_state: SweepStateRow
}
