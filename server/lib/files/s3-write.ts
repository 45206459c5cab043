import { UploadPartCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { inParallel } from '../parallel.ts'
import { type Body, FileMissing, type Piece, sizeOf } from './files.ts'
import { type Bucket, MiB, parallel } from './s3-client.ts'
import { putWhole, withParts } from './s3-multipart.ts'
import { type BodyPart, inParts } from './s3-parts.ts'
import { type Part, planParts, type Slice } from './s3-plan.ts'
import { readObject } from './s3-read.ts'

/**
 * Parts of 8 MiB, two under way while the third is gathered: some 32 MiB of memory for each body. As there may be
 * 10,000 parts, they double in size every 1,500: 12 GiB with the first size, a terabyte in all.
 */
const partBytes = (part: number) => 8 * MiB * 2 ** Math.floor(part / 1_500)
const partsAtOnce = 2

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
    await putWhole(bucket, key, head.bytes)
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
        // Not cancelled by the signal: a part that was given up half-way could be stored after the abort.
        const { ETag } = await bucket.send(new UploadPartCommand(part))
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
