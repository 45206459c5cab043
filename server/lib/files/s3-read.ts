import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { FileNotFoundError, FileStoreError } from './files.ts'
import type { Bucket } from './s3-bucket.ts'

export type ByteRange = { from: number; to: number }

type Opened = { body: Readable; etag: string | undefined; length: number | undefined }

/** Both ends of the range are inclusive. Rejects with FileNotFoundError, or InvalidRange if it begins past the end. */
export async function openObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Readable> {
  const from = range?.from ?? 0
  const closed = new AbortController()
  const open = async (at: number, etag?: string, withinMs?: number): Promise<Opened> => {
    const isPart = range !== undefined || at > from
    const { Body, ETag, ContentLength } = await bucket.send(
      new GetObjectCommand({
        Bucket: bucket.name,
        Key: key,
        ...(isPart && { Range: `bytes=${at}-${range?.to ?? ''}` }),
        // The rest must come from the same version of the object.
        ...(etag !== undefined && { IfMatch: etag }),
      }),
      { abortSignal: closed.signal, ...(withinMs !== undefined && { requestTimeout: withinMs }) },
    )
    if (!(Body instanceof Readable)) throw new FileNotFoundError(`there is no file ${key}`)
    // The body may fail while nobody reads it. The next read reports the error.
    Body.on('error', () => {})
    return { body: Body, etag: ETag, length: ContentLength }
  }
  const first = await open(from)
  return resumable(bucket, first, closed, (received, withinMs) => open(from + received, first.etag, withinMs))
}

/**
 * A stream that opens a new request when the connection to the store breaks. Readers may pause for as long as they like:
 * the time limits apply only while a read is pending.
 */
function resumable(
  { limits }: Bucket,
  first: Opened,
  closed: AbortController,
  reopen: (received: number, withinMs: number) => Promise<Opened>,
): Readable {
  let { body } = first
  let chunks = body[Symbol.asyncIterator]()
  let received = 0
  let isEnded = false

  const readNext = async (): Promise<Buffer | null> => {
    const { done, value } = await nextWithin(body, chunks, limits.idleMs)
    if (!done) return value
    if (first.length === undefined || received >= first.length) return null
    throw new Error(`the store sent ${received} of ${first.length} bytes`)
  }

  const resume = async (withinMs: number) => {
    body.destroy()
    ;({ body } = await reopen(received, withinMs))
    // The stream was destroyed in the meantime, so nothing else will destroy the new body.
    if (closed.signal.aborted) body.destroy()
    chunks = body[Symbol.asyncIterator]()
  }

  const next = async (): Promise<Buffer | null> => {
    const startedAt = Date.now()
    let isBroken = false
    for (let waitMs = 100; ; waitMs = Math.min(2 * waitMs, 1_000)) {
      const leftMs = () => limits.totalMs - (Date.now() - startedAt)
      try {
        if (isBroken) await resume(leftMs())
        isBroken = false
        return await readNext()
      } catch (error) {
        // The errors of a body vary, so each is tried again. The errors of a request tell whether that makes sense.
        const isFinal = isBroken && !(error instanceof FileStoreError && error.kind === 'unreachable')
        if (closed.signal.aborted || isFinal || leftMs() <= waitMs) throw toStoreError(error)
        isBroken = true
        await delay(waitMs, undefined, { signal: closed.signal })
      }
    }
  }

  return new Readable({
    read() {
      next().then(
        (chunk) => {
          received += chunk?.length ?? 0
          isEnded = chunk === null
          this.push(chunk)
        },
        (error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      // The connection of a body that was read to its end is used again.
      if (!isEnded) {
        closed.abort()
        body.destroy()
      }
      done(error)
    },
  })
}

/** Destroying the body also ends the pending read. */
async function nextWithin(
  body: Readable,
  chunks: AsyncIterator<Buffer>,
  idleMs: number,
): Promise<IteratorResult<Buffer>> {
  const timer = setTimeout(() => body.destroy(new Error(`no bytes for ${idleMs} ms`)), idleMs)
  try {
    return await chunks.next()
  } finally {
    clearTimeout(timer)
  }
}

const toStoreError = (error: unknown) =>
  error instanceof FileStoreError || error instanceof FileNotFoundError
    ? error
    : new FileStoreError('unreachable', error)

export async function readObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await openObject(bucket, key, range)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
