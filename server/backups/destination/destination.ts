import type { Readable } from 'node:stream'
import type { Config } from '../../config.ts'
import type { Body } from '../../lib/files/files.ts'

/** Where backups are stored. Paths consist of names and slashes. */
export type Destination = {
  /** A folder or an `s3://` URL. It contains no secrets. */
  name: string
  list(prefix: string): AsyncIterable<{ path: string; size: number }>
  /** Names of folders directly below a prefix, sorted. */
  listNames(prefix: string): Promise<string[]>
  /** Rejects with FileNotFoundError. */
  read(path: string): Promise<Readable>
  /** The file appears complete or not at all. */
  put(path: string, body: Body): Promise<void>
  remove(path: string): Promise<void>
  /** Makes everything durable that was put. */
  flush(): Promise<void>
  close(): Promise<void>
}

export type DestinationSettings = Pick<
  Config,
  'dataDir' | 's3' | 'backupS3Endpoint' | 'backupS3Region' | 'backupS3AccessKey' | 'backupS3SecretKey'
>
