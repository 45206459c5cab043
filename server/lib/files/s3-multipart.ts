import { randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { FileMissing } from './files.ts'
import type { Bucket } from './s3-client.ts'
import { readObject } from './s3-read.ts'

export const uploadsPrefix = '.uploads/'
export const prefixOf = (handle: string) => `${uploadsPrefix}${handle}/`

/**
 * A multipart upload is in use while its lease, a small object that names it, is renewed. Renewal ends when the work ends
 * in any way, so uploads are found that could not be aborted because the store or the process went away. An hour leaves
 * room for five renewals that fail.
 */
const leaseMs = 3_600_000
const renewEveryMs = leaseMs / 6

/** Former versions did not renew their leases. */
const formerLeaseMs = 7 * 24 * 3_600_000

/** What one run aborts at most. */
const maxAborted = 1_000

type Upload = { key: string; id: string }

export async function putWhole(
  bucket: Bucket,
  key: string,
  body: Buffer,
  signal?: AbortSignal,
): Promise<void> {
  // The length is told because the client takes an empty body for one of unknown length, and warns.
  const object = { Bucket: bucket.name, Key: key, Body: body, ContentLength: body.length }
  await bucket.send(new PutObjectCommand(object), signal ? { abortSignal: signal } : {})
}

/** Runs `work` with a multipart upload, and completes or aborts it when all of its requests have ended. */
export async function withParts(
  bucket: Bucket,
  handle: string,
  key: string,
  work: (id: string) => Promise<{ tags: string[]; size: number }>,
): Promise<void> {
  const id = await bucket.begin(key, handle)
  const lease = openLease(bucket, handle, { key, id })
  try {
    const { tags, size } = await work(id)
    await bucket.complete(key, id, tags, size)
  } catch (error) {
    const options = bucket.briefAfter(error)
    // If the store cannot be reached now, `abortUnfinished` aborts it later. The first error is the one that tells.
    await bucket.abort(key, id, options).catch(() => {})
    await lease.close(options)
    throw error
  }
  await lease.close()
}

/**
 * Parts do not wait for the lease, and one that could not be put is put again: an upload is left alone for as long as a
 * lease from its beginning on.
 */
function openLease(bucket: Bucket, handle: string, upload: Upload) {
  const lease = `${prefixOf(handle)}lease-${randomUUID()}`
  const renew = () => putWhole(bucket, lease, Buffer.from(JSON.stringify(upload))).catch(() => {})
  let renewing = renew()
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, renewEveryMs)
  // A lease alone does not keep a process running.
  timer.unref()
  return {
    async close(options: { requestTimeout?: number } = {}): Promise<void> {
      clearInterval(timer)
      // A renewal that is under way would bring the lease back.
      await renewing
      await bucket.delete(lease, options).catch(() => {})
    },
  }
}

/** Aborts what was begun longer than a lease ago and has no valid lease. */
export async function abortUnfinished(bucket: Bucket, prefixes: string[], now: Date): Promise<string[]> {
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
  for (const { key, id } of orphans) await bucket.abort(key, id)
  return orphans.map(({ key }) => key)
}

async function listLeased(bucket: Bucket, now: Date): Promise<Set<string>> {
  const leased = new Set<string>()
  for await (const { key, modified } of bucket.list(uploadsPrefix)) {
    const [, kind] = /\/(lease|open)-[0-9a-f-]{36}$/.exec(key) ?? []
    if (!kind) continue
    const validMs = kind === 'lease' ? leaseMs : formerLeaseMs
    if (now.getTime() - modified.getTime() >= validMs) continue
    const upload = await readLease(bucket, key)
    if (upload) leased.add(upload.id)
  }
  return leased
}

/** Undefined when the upload ended meanwhile. */
async function readLease(bucket: Bucket, key: string): Promise<Upload | undefined> {
  try {
    return JSON.parse((await readObject(bucket, key)).toString())
  } catch (error) {
    if (error instanceof FileMissing) return undefined
    throw error
  }
}
