import type { ColumnType } from 'kysely'

/** The state of the sweep between runs. */
type SweepStateRow = { name: string; value: ColumnType<Record<string, string>, string, string> }

export type SweepTables = {
  sweep_state: SweepStateRow
}
