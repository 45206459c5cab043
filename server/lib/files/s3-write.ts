import { CopyObjectCommand, UploadPartCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { newOwnedName } from '../owner.ts'
import { inParallel } from '../parallel.ts'
import { type Body, FileNotFoundError, type StoredChunk, sizeOf } from './files.ts'
import { type BodyPart, inParts } from './s3-body-parts.ts'
import { type Bucket, GiB, MiB, maxParallel } from './s3-bucket.ts'
import { putObject, withMultipart } from './s3-multipart.ts'
import { minPartBytes, type Part, planParts, type Slice } from './s3-part-plan.ts'
import { readObject } from './s3-read.ts'

/**
 * Parts of 8 MiB. Two are sent while the third one is collected, which takes about 32 MiB of memory for each body. An
 * object may have 10,000 parts, so their size doubles every 1,500 parts: 12 GiB with the first size, a terabyte in total.
 */
const partBytes = (part: number) => 8 * MiB * 2 ** Math.floor(part / 1_500)
const partsAtOnce = 2

/** Stores a body of any length as one object. */
export async function storeBody(
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
    await putObject(bucket, key, head.bytes)
    return { size: head.bytes.length }
  }
  let size = 0
  async function* all() {
    yield head
    yield* parts
  }
  try {
    await withMultipart(bucket, handle, key, async (id) => {
      const etags: string[] = []
      const upload = async ({ bytes, release }: BodyPart) => {
        const number = etags.push('')
        size += bytes.length
        const part = { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: number, Body: bytes }
        // Not canceled by the signal: a part whose request was canceled could be stored after the abort.
        const { ETag } = await bucket.send(new UploadPartCommand(part))
        etags[number - 1] = ETag ?? ''
        release()
      }
      await inParallel(all(), partsAtOnce, upload)
      return { etags, size }
    })
  } finally {
    // Closes the body when it was not read to its end.
    await parts.return(undefined)
  }
  return { size }
}

/** Joins chunks, whose locations are keys, to one object. Only tiny chunks pass through this process. */
export async function joinChunks(
  bucket: Bucket,
  handle: string,
  key: string,
  chunks: StoredChunk[],
): Promise<void> {
  const size = sizeOf(chunks)
  const plan = planParts(chunks)
  if (plan.length === 0 || (plan.length === 1 && plan[0]!.length > 1)) {
    return putObject(bucket, key, await readSlices(bucket, plan[0] ?? []))
  }
  await withMultipart(bucket, handle, key, async (id) => {
    const etags: string[] = []
    await inParallel(plan.entries(), maxParallel, async ([i, part]) => {
      etags[i] = await addPart(
        bucket,
        { Bucket: bucket.name, Key: key, UploadId: id, PartNumber: i + 1 },
        part,
      )
    })
    // Overwriting the object would leave its parts behind in some stores (Swift), invisible to lists.
    if (await bucket.isAssembledFrom(key, handle, size))
      throw new FileNotFoundError('another process has joined the chunks')
    return { etags, size }
  })
}

/** The largest object that CopyObject can copy. */
export const maxCopyBytes = 5 * GiB

export async function copyObject(bucket: Bucket, from: string, to: string): Promise<void> {
  const size = await bucket.sizeOf(from)
  if (size === undefined) throw new FileNotFoundError(`there is no file ${from}`)
  if (size <= maxCopyBytes) return copySingle(bucket, { from, to, size })
  await joinChunks(bucket, newOwnedName(), to, [{ location: from, size }])
}

/** With a handle, the copy is marked as assembled from that upload. */
export async function copySingle(
  bucket: Bucket,
  { from, to, size, handle }: { from: string; to: string; size: number; handle?: string },
): Promise<void> {
  const metadata = handle && { MetadataDirective: 'REPLACE' as const, Metadata: { upload: handle } }
  const copy = { Bucket: bucket.name, Key: to, CopySource: `${bucket.name}/${from}`, ...metadata }
  await bucket.send(new CopyObjectCommand(copy), bucket.copyTimeout(size))
}

type Target = { Bucket: string; Key: string; UploadId: string; PartNumber: number }

async function addPart(bucket: Bucket, target: Target, part: Part): Promise<string> {
  const [only] = part
  const bytes = only ? only.to - only.from + 1 : 0
  // The last chunk may be smaller than a part. Some stores refuse to copy it (Garage).
  if (only && part.length === 1 && bytes >= minPartBytes) {
    // Stores do not copy ranges of objects up to 5 MiB, not even the range of the entire object.
    const isEntire = bytes === only.of
    const range = isEntire ? {} : { CopySourceRange: `bytes=${only.from}-${only.to}` }
    const source = { CopySource: `${bucket.name}/${only.location}`, ...range }
    const { CopyPartResult } = await bucket.send(
      new UploadPartCopyCommand({ ...target, ...source }),
      bucket.copyTimeout(bytes),
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
  await inParallel(slices.entries(), maxParallel, async ([i, { location, from, to }]) => {
    const bytes = await readObject(bucket, location, { from, to })
    if (bytes.length !== to - from + 1)
      throw new FileNotFoundError(`a chunk of ${to + 1} bytes has fewer in the store`)
    buffers[i] = bytes
  })
  return Buffer.concat(buffers)
}
