import { randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { FileNotFoundError } from './files.ts'
import type { Bucket, RequestOptions } from './s3-bucket.ts'
import { readObject } from './s3-read.ts'

export const uploadsPrefix = '.uploads/'
export const prefixOf = (handle: string) => `${uploadsPrefix}${handle}/`

/**
 * A multipart upload is in use while its lease is renewed. A lease is a small object that names the upload. Renewal stops
 * when the work ends for any reason, so uploads that could not be aborted, because the store or the process failed, are
 * found later. Within an hour, five renewals in a row may fail.
 */
const leaseMs = 3_600_000
const renewEveryMs = leaseMs / 6

/** Earlier versions did not renew their leases. */
const unrenewedLeaseMs = 7 * 24 * 3_600_000

/** The most uploads that one run aborts. */
const maxAborted = 1_000

type Upload = { key: string; id: string }

export async function putObject(
  bucket: Bucket,
  key: string,
  body: Buffer,
  signal?: AbortSignal,
): Promise<void> {
  // Without ContentLength the client takes an empty body for one of unknown length and logs a warning.
  const object = { Bucket: bucket.name, Key: key, Body: body, ContentLength: body.length }
  await bucket.send(new PutObjectCommand(object), signal ? { abortSignal: signal } : {})
}

/** Runs `work` with a multipart upload, and completes or aborts it after all requests of `work` have ended. */
export async function withMultipart(
  bucket: Bucket,
  handle: string,
  key: string,
  work: (id: string) => Promise<{ etags: string[]; size: number }>,
): Promise<void> {
  const id = await bucket.beginMultipart(key, handle)
  const lease = openLease(bucket, handle, { key, id })
  try {
    const { etags, size } = await work(id)
    await bucket.completeMultipart(key, id, etags, size)
  } catch (error) {
    const options = bucket.cleanUpTimeout(error)
    // If the store is unreachable, `abortOrphanedUploads` aborts it later. The first error is the one to report.
    await bucket.abortMultipart(key, id, options).catch(() => {})
    await lease.close(options)
    throw error
  }
  await lease.close()
}

/**
 * Parts are sent without waiting for the lease, and a failed renewal is tried again at the next one: no upload is aborted
 * before it is as old as a lease.
 */
function openLease(bucket: Bucket, handle: string, upload: Upload) {
  const lease = `${prefixOf(handle)}lease-${randomUUID()}`
  const renew = () => putObject(bucket, lease, Buffer.from(JSON.stringify(upload))).catch(() => {})
  let renewing = renew()
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, renewEveryMs)
  // The timer must not keep the process running.
  timer.unref()
  return {
    async close(options: RequestOptions = {}): Promise<void> {
      clearInterval(timer)
      // A pending renewal would create the lease again.
      await renewing
      await bucket.delete(lease, options).catch(() => {})
    },
  }
}

/** Aborts multipart uploads that are older than a lease and have no valid lease. */
export async function abortOrphanedUploads(bucket: Bucket, prefixes: string[], now: Date): Promise<string[]> {
  const old: Upload[] = []
  for (const prefix of [uploadsPrefix, ...prefixes]) {
    for await (const { key, id, initiated } of bucket.listMultipartUploads(prefix)) {
      if (old.length === maxAborted) break
      if (now.getTime() - initiated.getTime() >= leaseMs) old.push({ key, id })
    }
  }
  if (old.length === 0) return []
  const leased = await listLeased(bucket, now)
  const orphans = old.filter(({ id }) => !leased.has(id))
  for (const { key, id } of orphans) await bucket.abortMultipart(key, id)
  return orphans.map(({ key }) => key)
}

async function listLeased(bucket: Bucket, now: Date): Promise<Set<string>> {
  const leased = new Set<string>()
  for await (const { key, modified } of bucket.list(uploadsPrefix)) {
    const [, kind] = /\/(lease|open)-[0-9a-f-]{36}$/.exec(key) ?? []
    if (!kind) continue
    const validMs = kind === 'lease' ? leaseMs : unrenewedLeaseMs
    if (now.getTime() - modified.getTime() >= validMs) continue
    const upload = await readLease(bucket, key)
    if (upload) leased.add(upload.id)
  }
  return leased
}

/** Undefined when the upload has ended in the meantime. */
async function readLease(bucket: Bucket, key: string): Promise<Upload | undefined> {
  try {
    return JSON.parse((await readObject(bucket, key)).toString())
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined
    throw error
  }
}
