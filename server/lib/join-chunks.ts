import type { Readable } from 'node:stream'

/** Larger chunks are cheaper to keep than to copy. */
const smallBytes = 1024
const blockBytes = 16 * 1024

/**
 * Joins the small chunks that Node parses from one read of the connection. Node creates a Buffer for each, which takes
 * more than a kilobyte even for one byte, and pauses a connection by its bytes. A peer that sends chunks of one byte
 * would use a thousand times the memory of its bytes. To be called in the 'request' or 'response' event, before the first
 * chunk arrives.
 */
export function joinSmallChunks(message: Readable): void {
  const push = message.push.bind(message)
  /** A single small chunk, such as most JSON bodies, is not copied. */
  let first: Buffer | undefined
  let block: Buffer | undefined
  let from = 0
  let to = 0

  const add = (chunk: Buffer): void => {
    if (!block || block.length - to < chunk.length) {
      flushBlock()
      block = Buffer.allocUnsafeSlow(blockBytes)
      from = to = 0
    }
    to += chunk.copy(block, to)
  }
  const flushBlock = (): void => {
    if (!block || to === from) return
    // The rest of the block is used for the next chunks. A view of one byte must not keep an entire block in memory.
    const joined = block.subarray(from, to)
    from = to
    push(joined)
  }
  const flush = (): void => {
    if (first) push(first)
    first = undefined
    flushBlock()
  }

  message.push = (chunk: Buffer | null): boolean => {
    if (chunk === null || chunk.length >= smallBytes) {
      flush()
      return push(chunk)
    }
    if (!first && to === from) {
      first = chunk
      // Ticks and microtasks run after each chunk, but setImmediate only after everything that was read is parsed.
      setImmediate(flush)
    } else {
      if (first) add(first)
      first = undefined
      add(chunk)
    }
    return message.readableLength + (to - from) < message.readableHighWaterMark
  }
}
