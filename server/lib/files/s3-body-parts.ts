import { inBatches } from './body.ts'
import type { Body } from './files.ts'
import { KiB } from './s3-bucket.ts'

/** The size of a part is a multiple of this. */
const stepBytes = 256 * KiB

export type BodyPart = {
  bytes: Buffer
  /** To be called when the bytes have been sent: their memory is used again. */
  release(): void
}

/**
 * A body in parts of the given sizes, each in one buffer. The memory of released parts is used again, because allocating
 * it would take as long as sending the part. A body smaller than a step takes no more memory than its size.
 */
export async function* inParts(
  body: Body,
  bytesOf: (part: number) => number,
  signal?: AbortSignal,
): AsyncGenerator<BodyPart> {
  const free: Buffer[] = []
  const partOf = (buffer: Buffer, bytes: Buffer): BodyPart => ({ bytes, release: () => free.push(buffer) })
  let buffer: Buffer | undefined
  let size = 0
  let count = 0
  for await (const step of inBatches(body, stepBytes, signal)) {
    if (count === 0 && !buffer && step.size < stepBytes) {
      yield { bytes: Buffer.concat(step.buffers, step.size), release() {} }
      return
    }
    const wanted = bytesOf(count)
    buffer ??= takeBuffer(free, wanted)
    for (const chunk of step.buffers) size += chunk.copy(buffer, size)
    if (size < wanted) continue
    yield partOf(buffer, buffer)
    buffer = undefined
    size = 0
    count++
  }
  if (buffer) yield partOf(buffer, buffer.subarray(0, size))
}

/** Buffers of another size are dropped, because parts only grow. */
function takeBuffer(free: Buffer[], bytes: number): Buffer {
  const last = free.pop()
  return last?.length === bytes ? last : Buffer.allocUnsafeSlow(bytes)
}
