import type { Body } from './files.ts'

export type Batch = { buffers: Buffer[]; size: number }

/** Longer chunks cost more to copy than to keep. */
const smallBytes = 4 * 1024
const blockBytes = 64 * 1024

/**
 * Adds chunks to batches. Small ones are copied: a Buffer takes some hundred bytes of memory by itself, and a client may
 * send a gigabyte byte by byte.
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
 * The body in batches of exactly so many bytes, the last one excepted. Asks for each chunk itself, as a for-await would
 * notice the signal only when the next chunk comes, which may be never; and in one generator, as a second one would
 * cost every chunk another turn of the event loop.
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
  // One promise for each chunk: racing each against one that lasts would keep every chunk alive with it.
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
        const taken = chunk.subarray(at, at + bytes - batch.size)
        add(batch, taken)
        at += taken.length
        if (batch.size < bytes) continue
        yield batch
        batch = { buffers: [], size: 0 }
        bytes = bytesAt(++count)
      }
    }
    if (batch.size > 0) yield batch
  } finally {
    signal?.removeEventListener('abort', abort)
    // Not awaited: a generator that hangs in next() answers return() only after it.
    if (!isAtEnd) void iterator.return?.()?.catch(() => {})
  }
}

/** One write under way while the next batch is gathered: two batches of memory, no idle disk. Resolves to the size. */
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
      // Its failure is reported below; until then it must not count as unhandled.
      writing.catch(() => {})
      size += batch.size
      await before
    }
  } finally {
    // Also after a failure nothing may still be writing when the caller clears away.
    await writing
  }
  return size
}
