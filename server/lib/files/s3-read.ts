import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { FileMissing, FilesProblem } from './files.ts'
import type { Bucket } from './s3-client.ts'

export type ByteRange = { from: number; to: number }

type Opened = { body: Readable; etag: string | undefined; length: number | undefined }

/** Both ends of the range are included. Rejects with FileMissing, and with InvalidRange where it begins past the end. */
export async function openObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Readable> {
  const from = range?.from ?? 0
  const gone = new AbortController()
  const open = async (at: number, etag?: string, withinMs?: number): Promise<Opened> => {
    const isPart = range !== undefined || at > from
    const { Body, ETag, ContentLength } = await bucket.send(
      new GetObjectCommand({
        ...{ Bucket: bucket.name, Key: key },
        ...(isPart && { Range: `bytes=${at}-${range?.to ?? ''}` }),
        // What was read so far would not go with the rest of another object.
        ...(etag !== undefined && { IfMatch: etag }),
      }),
      { abortSignal: gone.signal, ...(withinMs !== undefined && { requestTimeout: withinMs }) },
    )
    if (!(Body instanceof Readable)) throw new FileMissing(`there is no file ${key}`)
    // It may break while nobody reads it. The next read is told.
    Body.on('error', () => {})
    return { body: Body, etag: ETag, length: ContentLength }
  }
  const first = await open(from)
  return followed(bucket, first, gone, (given, withinMs) => open(from + given, first.etag, withinMs))
}

/**
 * The bytes of an object, however often its connection breaks. Readers may pause for as long as they like: the store is
 * given time only while we ask for bytes.
 */
function followed(
  { limits }: Bucket,
  first: Opened,
  gone: AbortController,
  reopen: (given: number, withinMs: number) => Promise<Opened>,
): Readable {
  let { body } = first
  let chunks = body[Symbol.asyncIterator]()
  let given = 0
  let isEnded = false

  const ask = async (): Promise<Buffer | null> => {
    const { done, value } = await nextWithin(body, chunks, limits.silenceMs)
    if (!done) return value
    if (first.length === undefined || given >= first.length) return null
    throw new Error(`the store sent ${given} of ${first.length} bytes`)
  }

  const resume = async (withinMs: number) => {
    body.destroy()
    ;({ body } = await reopen(given, withinMs))
    // Destroyed in the meantime, so nobody else will.
    if (gone.signal.aborted) body.destroy()
    chunks = body[Symbol.asyncIterator]()
  }

  const next = async (): Promise<Buffer | null> => {
    const askedAt = Date.now()
    let isBroken = false
    for (let waitMs = 100; ; waitMs = Math.min(2 * waitMs, 1_000)) {
      const leftMs = () => limits.giveUpMs - (Date.now() - askedAt)
      try {
        if (isBroken) await resume(leftMs())
        isBroken = false
        return await ask()
      } catch (error) {
        // A body fails in many words; what a request fails with is known, and tells whether to ask again.
        const isFinal = isBroken && !(error instanceof FilesProblem && error.kind === 'unreachable')
        if (gone.signal.aborted || isFinal || leftMs() <= waitMs) throw asProblem(error)
        isBroken = true
        await delay(waitMs, undefined, { signal: gone.signal })
      }
    }
  }

  return new Readable({
    read() {
      next().then(
        (chunk) => {
          given += chunk?.length ?? 0
          isEnded = chunk === null
          this.push(chunk)
        },
        (error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      // The connection of a whole body is used again.
      if (!isEnded) {
        gone.abort()
        body.destroy()
      }
      done(error)
    },
  })
}

/** Which also ends the wait for it. */
async function nextWithin(
  body: Readable,
  chunks: AsyncIterator<Buffer>,
  silenceMs: number,
): Promise<IteratorResult<Buffer>> {
  const timer = setTimeout(() => body.destroy(new Error(`no bytes for ${silenceMs} ms`)), silenceMs)
  try {
    return await chunks.next()
  } finally {
    clearTimeout(timer)
  }
}

const asProblem = (error: unknown) =>
  error instanceof FilesProblem || error instanceof FileMissing
    ? error
    : new FilesProblem('unreachable', error)

export async function readObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await openObject(bucket, key, range)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
