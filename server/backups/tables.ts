/** A run of `kinora backup`. It is in progress or was killed while `finished_at` is null. */
export type BackupRow = {
  id: string
  /** A folder, or a bucket and a prefix. It contains no secrets. */
  destination: string
  started_at: Date
  finished_at: Date | null
  /** Everything that the backup refers to. Null without the files of the store. */
  files: number | null
  bytes: number | null
  /** What this run has copied. The rest was in the destination already. */
  copied_files: number | null
  copied_bytes: number | null
  error: string | null
}

declare module '../tables.ts' {
  interface Tables {
    backups: BackupRow
  }
}
