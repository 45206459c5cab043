import type { ColumnType, Generated } from 'kysely'
import type { Environment } from '../environments.ts'
import type { ItemState, ObjectKind, RunState, ServiceName } from './kinds.ts'
import type { ImportOptions } from './schemas.ts'

export type ImportRunRow = {
  id: string
  environment: Environment
  service: ServiceName
  /** Identifies the library at the service, so that another run finds what was imported from it. Not secret. */
  account: string
  options: ColumnType<ImportOptions, string, never>
  /** Encrypted. Null once the run has ended. */
  credentials: Buffer | null
  state: RunState
  failure: string | null
  /** Nothing is imported until the run is resumed. */
  is_preview: boolean
  /** How many files are fetched at the same time, by all processes together. */
  concurrency: number
  /** Bytes per second, all files together. Null: no limit. */
  bandwidth: number | null
  /** Bytes per second of one file, of the last that were fetched. Null while none was. */
  fetch_speed: number | null
  /** Where the list continues. */
  cursor: string | null
  /** When everything was listed. */
  listed_at: Date | null
  /** The service accepts no request before. */
  wait_until: Date | null
  /** Of the work on the list: see lib/leases.ts. */
  attempts: Generated<number>
  next_at: Generated<Date>
  lease_owner: string | null
  lease_until: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
  ended_at: Date | null
}

/** One object of a run. */
export type ImportItemRow = {
  id: Generated<number>
  run_id: string
  kind: ObjectKind
  /** Its id at the service. */
  source_id: string
  title: string
  /** What the list says about it, in the format of the service. */
  details: ColumnType<Record<string, unknown>, string, string>
  version: string
  content_version: string
  state: ItemState
  /** Why it has failed or was skipped. */
  reason: string | null
  /** What could not be carried over, and what the owner should know. */
  notes: Generated<string[]>
  /** The id of the object here. */
  object_id: string | null
  bytes: number | null
  seconds: number | null
  attempts: Generated<number>
  next_at: Generated<Date>
  lease_owner: string | null
  lease_until: Date | null
  updated_at: Generated<Date>
}

/** Which object of the service became which object here. */
export type ImportedObjectRow = {
  environment: Environment
  service: ServiceName
  account: string
  kind: ObjectKind
  source_id: string
  object_id: string
  /** The version whose attributes were carried over. Null while there are none. */
  version: string | null
  /** The version of the file. */
  content_version: string
  /** Whether the file has arrived as well. */
  is_complete: Generated<boolean>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

declare module '../tables.ts' {
  interface Tables {
    import_runs: ImportRunRow
    import_items: ImportItemRow
    imported_objects: ImportedObjectRow
  }
}
