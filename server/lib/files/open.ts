import { join } from 'node:path'
import { openDiskFiles } from './disk.ts'
import type { Files } from './files.ts'
import type { S3Settings } from './s3-client.ts'

/** Half of a second of start-up is the S3 client: it is loaded only where it is used. */
export async function openFiles(config: { dataDir: string; s3: S3Settings | undefined }): Promise<Files> {
  if (!config.s3) return openDiskFiles(join(config.dataDir, 'files'))
  const { openS3Files } = await import('./s3.ts')
  return openS3Files(config.s3)
}
