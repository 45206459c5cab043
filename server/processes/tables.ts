/** A running process of the service, on any machine. */
export type ProcessRow = {
  id: string
  host: string
  pid: number
  version: string
  roles: string[]
  encode_slots: number
  started_at: Date
  /** On the clock of the database. */
  seen_at: Date
  /** How far the clock of the process is ahead of that of the database. */
  clock_offset_ms: number
}

declare module '../tables.ts' {
  interface Tables {
    processes: ProcessRow
  }
}
