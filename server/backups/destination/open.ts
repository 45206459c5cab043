import { resolve } from 'node:path'
import { BackupError } from '../errors.ts'
import type { Destination, DestinationSettings } from './destination.ts'

/** `isNew`: the destination may not exist yet. */
export async function openDestination(
  config: DestinationSettings,
  name: string,
  options: { isNew: boolean },
): Promise<Destination> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name) && !name.startsWith('s3://'))
    throw new BackupError(`${name} is neither a folder nor a URL like s3://bucket/folder.`)
  if (name.startsWith('s3://')) {
    const { openS3Destination } = await import('./s3.ts')
    return openS3Destination(config, name, options)
  }
  const { openFolderDestination } = await import('./folder.ts')
  return openFolderDestination(config, resolve(name), options)
}
