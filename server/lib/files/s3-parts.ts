import { inBatches } from './body.ts'
import type { Body } from './files.ts'
import { KiB } from './s3-client.ts'

/** Parts are multiples of it. */
const stepBytes = 256 * KiB

export type BodyPart = { bytes: Buffer /** Its memory may be used again. */; release(): void }

/**
 * A body in parts of the given sizes, each in one buffer. A body reuses the memory of parts that were released: new
 * memory for each would take as much time as sending it. A body that fits into a step takes no more than its size.
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
    buffer ??= takeOf(free, wanted)
    for (const chunk of step.buffers) size += chunk.copy(buffer, size)
    if (size < wanted) continue
    yield partOf(buffer, buffer)
    buffer = undefined
    size = 0
    count++
  }
  if (buffer) yield partOf(buffer, buffer.subarray(0, size))
}

/** The last one that was released; those of another size are of no more use, as parts only grow. */
function takeOf(free: Buffer[], bytes: number): Buffer {
  const last = free.pop()
  return last?.length === bytes ? last : Buffer.allocUnsafeSlow(bytes)
}
