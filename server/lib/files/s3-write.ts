import { GetObjectCommand, UploadPartCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { inParallel } from '../parallel.ts'
import { type Batch, inBatches } from './body.ts'
import { type Body, FileMissing, type Piece, sizeOf } from './files.ts'
import { type Bucket, MiB, parallel } from './s3-client.ts'
import { putWhole, withParts } from './s3-multipart.ts'
import { type Part, planParts, type Slice } from './s3-plan.ts'

/**
 * Parts of 8 MiB, two under way while the third is gathered: some 32 MiB of memory for each body. As there may be
 * 10,000 parts, they double in size every 1,500: 12 GiB with the first size, a terabyte in all.
 */
const partBytes = (part: number) => 8 * MiB * 2 ** Math.floor(part / 1_500)
const partsAtOnce = 2

const joined = ({ buffers, size }: Batch) =>
  buffers.length === 1 && buffers[0] ? buffers[0] : Buffer.concat(buffers, size)

/** One object from a body of any length. */
export async function store(
  bucket: Bucket,
  handle: string,
  key: string,
  body: Body,
  signal?: AbortSignal,
): Promise<{ size: number }> {
  const batches = inBatches(body, partBytes, signal)
  const first = await batches.next()
  const head: Batch = first.done ? { buffers: [], size: 0 } : first.value
  if (head.size < partBytes(0)) {
    await putWhole(bucket, key, joined(head))
    return { size: head.size }
  }
  let size = 0
  async function* all() {
    yield head
    yield* batches
  }
  try {
    await withParts(bucket, handle, key, async (id) => {
      const tags: string[] = []
      let count = 0
      const upload = async (batch: Batch) => {
        const number = ++count
        const part = { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: number, Body: joined(batch) }
        size += batch.size
        // Not cancelled by the signal: a part that was given up half-way could be stored after the abort.
        const { ETag } = await bucket.send(new UploadPartCommand(part))
        tags[number - 1] = ETag ?? ''
      }
      await inParallel(all(), partsAtOnce, upload)
      return { tags, size }
    })
  } finally {
    // The body is given up also where it was not read to its end.
    await batches.return(undefined)
  }
  return { size }
}

/** Joins pieces, whose places are keys, to one object; the bytes stay in the store but for tiny pieces. */
export async function join(bucket: Bucket, handle: string, key: string, pieces: Piece[]): Promise<void> {
  const size = sizeOf(pieces)
  const plan = planParts(pieces)
  if (plan.length === 0 || (plan.length === 1 && plan[0]!.length > 1)) {
    return putWhole(bucket, key, await read(bucket, plan[0] ?? []))
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
    const { CopyPartResult } = await bucket.sendPatiently(new UploadPartCopyCommand({ ...target, ...source }))
    return CopyPartResult?.ETag ?? ''
  }
  const { ETag } = await bucket.send(new UploadPartCommand({ ...target, Body: await read(bucket, part) }))
  return ETag ?? ''
}

async function read(bucket: Bucket, slices: Slice[]): Promise<Buffer> {
  const buffers: Buffer[] = []
  await inParallel(slices.entries(), parallel, async ([i, { place, from, to }]) => {
    const range = { Bucket: bucket.name, Key: place, Range: `bytes=${from}-${to}` }
    const { Body } = await bucket.send(new GetObjectCommand(range))
    const bytes = Buffer.from((await Body?.transformToByteArray()) ?? [])
    if (bytes.length !== to - from + 1)
      throw new FileMissing(`a piece of ${to + 1} bytes has fewer in the store`)
    buffers[i] = bytes
  })
  return Buffer.concat(buffers)
}
