import type { Body } from './files.ts'

export type Batch = { buffers: Buffer[]; size: number }

/** Larger buffers are cheaper to keep than to copy. */
const smallBytes = 4 * 1024
const blockBytes = 64 * 1024

/**
 * Adds buffers to batches. Small buffers are copied: each Buffer object takes some hundred bytes of memory, and a client
 * may send a gigabyte byte by byte.
 */
function createCollector(): (batch: Batch, chunk: Buffer) => void {
  let block = Buffer.alloc(0)
  let used = 0
  return (batch, chunk) => {
    batch.size += chunk.length
    if (chunk.length > smallBytes) return void batch.buffers.push(chunk)
    if (block.length - used < chunk.length) {
      block = Buffer.allocUnsafeSlow(blockBytes)
      used = 0
    }
    const from = used
    used += chunk.copy(block, used)
    const last = batch.buffers.at(-1)
    const isNext = last?.buffer === block.buffer && last.byteOffset + last.length === from
    if (isNext) batch.buffers[batch.buffers.length - 1] = block.subarray(last.byteOffset, used)
    else batch.buffers.push(block.subarray(from, used))
  }
}

/**
 * The body in batches of exactly the given size, except the last one. Calls `next` itself, because `for await` would
 * notice the signal only when the next buffer arrives, which may be never. A single generator does all of it, because a
 * second one would add a turn of the event loop to every buffer.
 */
export async function* inBatches(
  body: Body,
  bytesOf: number | ((batch: number) => number),
  signal?: AbortSignal,
): AsyncGenerator<Batch> {
  signal?.throwIfAborted()
  const bytesAt = typeof bytesOf === 'number' ? () => bytesOf : bytesOf
  const iterator = body[Symbol.asyncIterator]()
  const add = createCollector()
  // A new promise for each buffer. Promise.race with one lasting promise would keep every buffer in memory.
  let stop: ((reason: unknown) => void) | undefined
  const abort = () => stop?.(signal?.reason)
  signal?.addEventListener('abort', abort)
  let isAtEnd = false
  let batch: Batch = { buffers: [], size: 0 }
  let count = 0
  let bytes = bytesAt(count)
  try {
    while (true) {
      const next = await new Promise<IteratorResult<Buffer>>((resolve, reject) => {
        stop = reject
        if (signal?.aborted) abort()
        iterator.next().then(resolve, reject)
      })
      isAtEnd = next.done === true
      if (next.done) break
      const chunk = next.value
      for (let at = 0; at < chunk.length; ) {
        const slice = chunk.subarray(at, at + bytes - batch.size)
        add(batch, slice)
        at += slice.length
        if (batch.size < bytes) continue
        yield batch
        batch = { buffers: [], size: 0 }
        bytes = bytesAt(++count)
      }
    }
    if (batch.size > 0) yield batch
  } finally {
    signal?.removeEventListener('abort', abort)
    // Not awaited: return() of a generator waits for a pending next().
    if (!isAtEnd) void iterator.return?.()?.catch(() => {})
  }
}

/**
 * Writes one batch while the next one is collected, so the disk is never idle and two batches are in memory. Resolves to
 * the number of bytes.
 */
export async function pump(
  batches: AsyncIterable<Batch>,
  write: (batch: Batch) => Promise<void>,
): Promise<number> {
  let size = 0
  let writing = Promise.resolve()
  try {
    for await (const batch of batches) {
      const before = writing
      writing = before.then(() => write(batch))
      // The error is thrown below. Until then it must not count as unhandled.
      writing.catch(() => {})
      size += batch.size
      await before
    }
  } finally {
    // No write may be pending when the caller cleans up, even after a failure.
    await writing
  }
  return size
}
