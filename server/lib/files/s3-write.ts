import { randomUUID } from 'node:crypto'
import { PutObjectCommand, UploadPartCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { inParallel } from '../parallel.ts'
import { type Body, FileMissing, type Piece, sizeOf } from './files.ts'
import { type Bucket, MiB, parallel } from './s3-client.ts'
import { type BodyPart, inParts } from './s3-parts.ts'
import { type Part, planParts, type Slice } from './s3-plan.ts'
import { readObject } from './s3-read.ts'

/**
 * Parts of 8 MiB, two under way while the third is gathered: some 32 MiB of memory for each body. As there may be
 * 10,000 parts, they double in size every 1,500: 12 GiB with the first size, a terabyte in all.
 */
const partBytes = (part: number) => 8 * MiB * 2 ** Math.floor(part / 1_500)
const partsAtOnce = 2

export const uploadsPrefix = '.uploads/'
export const prefixOf = (handle: string) => `${uploadsPrefix}${handle}/`

/** What a crash leaves of a multipart upload is seen in no list of files, so a small file tells of it. */
const noteOf = (handle: string) => `${prefixOf(handle)}open-${randomUUID()}`

type Open = { key: string; id: string }

async function withParts(
  bucket: Bucket,
  handle: string,
  key: string,
  work: (id: string) => Promise<{ tags: string[]; size: number }>,
): Promise<void> {
  const id = await bucket.begin(key, handle)
  const open: Open = { key, id }
  const note = noteOf(handle)
  // Parts need not wait for it: the upload has to be noted from its beginning on, parts or not.
  const noted = putWhole(bucket, note, Buffer.from(JSON.stringify(open)))
  try {
    const [{ tags, size }] = await Promise.all([work(id), noted])
    await bucket.complete(key, id, tags, size)
  } catch (error) {
    await Promise.allSettled([noted])
    const options = bucket.briefAfter(error)
    // Where the store cannot be reached now either, the note is found later. The first error is the one that tells.
    await bucket
      .abort(key, id, options)
      .then(() => bucket.delete(note, options))
      .catch(() => {})
    throw error
  }
  await bucket.delete(note)
}

/** Aborts what the notes below a handle tell of, then removes everything there. */
export async function clearUpload(bucket: Bucket, handle: string): Promise<void> {
  await inParallel(bucket.list(`${prefixOf(handle)}open-`), parallel, async ({ key: note }) => {
    const stored = await readObject(bucket, note).catch((error) => {
      if (!(error instanceof FileMissing)) throw error
    })
    if (!stored) return
    const open: Open = JSON.parse(stored.toString())
    await bucket.abort(open.key, open.id)
  })
  await bucket.deleteBelow(prefixOf(handle))
}

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

/** One object from a body of any length. */
export async function store(
  bucket: Bucket,
  handle: string,
  key: string,
  body: Body,
  signal?: AbortSignal,
): Promise<{ size: number }> {
  const parts = inParts(body, partBytes, signal)
  const first = await parts.next()
  const head = first.done ? { bytes: Buffer.alloc(0), release() {} } : first.value
  if (head.bytes.length < partBytes(0)) {
    await putWhole(bucket, key, head.bytes, signal)
    return { size: head.bytes.length }
  }
  let size = 0
  async function* all() {
    yield head
    yield* parts
  }
  try {
    await withParts(bucket, handle, key, async (id) => {
      const tags: string[] = []
      const upload = async ({ bytes, release }: BodyPart) => {
        const number = tags.push('')
        size += bytes.length
        const part = { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: number, Body: bytes }
        const { ETag } = await bucket.send(new UploadPartCommand(part), signal ? { abortSignal: signal } : {})
        tags[number - 1] = ETag ?? ''
        release()
      }
      await inParallel(all(), partsAtOnce, upload)
      return { tags, size }
    })
  } finally {
    // The body is given up also where it was not read to its end.
    await parts.return(undefined)
  }
  return { size }
}

/** Joins pieces, whose places are keys, to one object; the bytes stay in the store but for tiny pieces. */
export async function join(bucket: Bucket, handle: string, key: string, pieces: Piece[]): Promise<void> {
  const size = sizeOf(pieces)
  const plan = planParts(pieces)
  if (plan.length === 0 || (plan.length === 1 && plan[0]!.length > 1)) {
    return putWhole(bucket, key, await readSlices(bucket, plan[0] ?? []))
  }
  await withParts(bucket, handle, key, async (id) => {
    const tags: string[] = []
    await inParallel(plan.entries(), parallel, async ([i, part]) => {
      tags[i] = await addPart(
        bucket,
        { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: i + 1 },
        part,
      )
    })
    // Overwriting it would leave its parts behind in some stores (Swift), where nobody sees them.
    if (await bucket.isFrom(key, handle, size)) throw new FileMissing('another process has joined the pieces')
    return { tags, size }
  })
}

type Target = { Bucket: string; Key: string; UploadId: string; PartNumber: number }

async function addPart(bucket: Bucket, target: Target, part: Part): Promise<string> {
  const [only] = part
  if (only && part.length === 1) {
    // Of an object of up to 5 MiB no range may be copied, not even all of it.
    const isWhole = only.to - only.from + 1 === only.of
    const range = isWhole ? {} : { CopySourceRange: `bytes=${only.from}-${only.to}` }
    const source = { CopySource: `${bucket.name}/${only.place}`, ...range }
    const { CopyPartResult } = await bucket.send(
      new UploadPartCopyCommand({ ...target, ...source }),
      bucket.longFor(only.to - only.from + 1),
    )
    return CopyPartResult?.ETag ?? ''
  }
  const { ETag } = await bucket.send(
    new UploadPartCommand({ ...target, Body: await readSlices(bucket, part) }),
  )
  return ETag ?? ''
}

async function readSlices(bucket: Bucket, slices: Slice[]): Promise<Buffer> {
  const buffers: Buffer[] = []
  await inParallel(slices.entries(), parallel, async ([i, { place, from, to }]) => {
    const bytes = await readObject(bucket, place, { from, to })
    if (bytes.length !== to - from + 1)
      throw new FileMissing(`a piece of ${to + 1} bytes has fewer in the store`)
    buffers[i] = bytes
  })
  return Buffer.concat(buffers)
}
