import { FileStoreError } from '../../lib/files/files.ts'
import { openS3Files } from '../../lib/files/s3.ts'
import { BackupError } from '../errors.ts'
import type { Destination, DestinationSettings } from './destination.ts'

/** Folders of the service in its bucket, and the bucket itself. */
const ownFolders = /^(?:$|\/(?:videos|live|watermarks|spool)(?:\/|$))/

const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}){0,8})\/?$/

export async function openS3Destination(
  config: DestinationSettings,
  name: string,
  { isNew }: { isNew: boolean },
): Promise<Destination> {
  const [, bucket, folder = ''] = pattern.exec(name) ?? []
  if (bucket === undefined)
    throw new BackupError(
      `${name} is not the URL of a bucket or a folder in it, such as s3://backups/kinora.`,
    )
  const { s3 } = config
  const endpoint = config.backupS3Endpoint ?? s3?.endpoint
  const accessKey = config.backupS3AccessKey ?? s3?.accessKey
  const secretKey = config.backupS3SecretKey ?? s3?.secretKey
  if (!endpoint || !accessKey || !secretKey)
    throw new BackupError(
      'To use an S3 bucket for backups, set KINORA_BACKUP_S3_ENDPOINT, KINORA_BACKUP_S3_ACCESS_KEY and KINORA_BACKUP_S3_SECRET_KEY.',
    )
  if (s3 && bucket === s3.bucket && endpoint === s3.endpoint && ownFolders.test(folder))
    throw new BackupError(
      `${name} is where the service stores its files: choose another bucket, or a folder like s3://${bucket}/backups.`,
    )
  const region = config.backupS3Region ?? s3?.region ?? 'us-east-1'
  const files = openS3Files({ endpoint, bucket, region, accessKey, secretKey })
  const below = folder === '' ? '' : `${folder.slice(1)}/`
  const explain = (error: unknown) => {
    const isKnown = error instanceof FileStoreError
    return isKnown ? new BackupError(`${name} cannot be used: ${error.message}.`, { cause: error }) : error
  }
  const guard = <T>(work: Promise<T>) =>
    work.catch((error) => {
      throw explain(error)
    })
  // The parts of large files that a killed backup has sent. Whoever may not remove them can still back up.
  const folders = ['files', 'uploads', 'backups'].map((each) => `${below}${each}/`)
  if (isNew) await files.abortOrphanedUploads(folders, new Date()).catch(() => {})

  return {
    name: `s3://${bucket}${folder}`,
    async *list(prefix) {
      try {
        for await (const { key, size } of files.listSizes(`${below}${prefix}`))
          yield { path: key.slice(below.length), size }
      } catch (error) {
        throw explain(error)
      }
    },
    listNames: (prefix) => guard(files.listNames(`${below}${prefix}`, '', Number.POSITIVE_INFINITY)),
    read: (path) => guard(files.read(`${below}${path}`)),
    async put(path, body) {
      let bodyError: unknown
      async function* read() {
        try {
          yield* body
        } catch (error) {
          bodyError = error
          throw error
        }
      }
      await files.put(`${below}${path}`, read()).catch((error) => {
        // The body may come from another store.
        throw error === bodyError ? error : explain(error)
      })
    },
    remove: (path) => guard(files.remove(`${below}${path}`)),
    flush: async () => {},
    close: () => files.close(),
  }
}
