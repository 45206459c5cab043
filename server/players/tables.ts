import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'

/** A player theme. */
export type PlayerRow = {
  id: string
  environment: Environment
  name: string
  /** Colors and flags. Missing ones have their default. */
  style: ColumnType<Record<string, string | boolean>, string, string>
  logo: Buffer | null
  /** A hash of the content, with the file extension. */
  logo_name: string | null
  logo_link: string | null
  created_at: Date
  updated_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    players: PlayerRow
  }
}
