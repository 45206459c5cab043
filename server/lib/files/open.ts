import { join } from 'node:path'
import { openDiskFiles } from './disk.ts'
import type { Files } from './files.ts'
import type { S3Settings } from './s3-send.ts'

/** The S3 client takes 0.3 s and some 50 MB to load: only where it is used. */
export async function openFiles(config: { dataDir: string; s3: S3Settings | undefined }): Promise<Files> {
  if (!config.s3) return openDiskFiles(join(config.dataDir, 'files'))
  const { openS3Files } = await import('./s3.ts')
  return openS3Files(config.s3)
}
