import { join } from 'node:path'
import { openDiskFiles } from './disk.ts'
import type { Files } from './files.ts'
import type { S3Settings } from './s3-requests.ts'

/** The S3 client is loaded only if it is used, because loading takes 0.3 s and about 50 MB. */
export async function openFiles(config: { dataDir: string; s3: S3Settings | undefined }): Promise<Files> {
  if (!config.s3) return openDiskFiles(join(config.dataDir, 'files'))
  const { openS3Files } = await import('./s3.ts')
  return openS3Files(config.s3)
}
