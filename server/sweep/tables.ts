import type { ColumnType } from 'kysely'

/** The state of the sweep between runs. */
type SweepStateRow = { name: string; value: ColumnType<Record<string, string>, string, string> }

declare module '../tables.ts' {
  interface Tables {
    sweep_state: SweepStateRow
  }
}
