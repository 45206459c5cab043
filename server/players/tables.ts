import type { ColumnType } from 'kysely'
import type { Environment } from '../environments.ts'

/** How the player looks and behaves, for the videos that name it. */
export type PlayerRow = {
  id: string
  environment: Environment
  name: string
  /** Colours and flags; what is missing is as by default. */
  style: ColumnType<Record<string, string | boolean>, string, string>
  logo: Buffer | null
  /** Its file's name, which changes with the content. */
  logo_name: string | null
  logo_link: string | null
  created_at: Date
  updated_at: Date
}

export type PlayersTables = {
  players: PlayerRow
}
