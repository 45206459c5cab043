import type { IncomingMessage } from 'node:http'

/** Longer chunks cost more to copy than to keep. */
const smallBytes = 1024
const blockBytes = 16 * 1024

/**
 * Joins the small chunks that Node parses out of one read from the connection. Node makes a Buffer of each, which takes
 * more than a kilobyte whatever its length, and pauses a connection by bytes: a peer that sends one byte per chunk would
 * cost a thousand times what it sends. To be called before the first chunk arrives, in the event that tells of the
 * message.
 */
export function joinSmallChunks(message: IncomingMessage): void {
  const push = message.push.bind(message)
  /** A single small chunk, as most JSON bodies are, is not copied. */
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
    // The rest of the block is used for what comes next: a view of one byte must not keep a whole block alive.
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
      // Node runs ticks and microtasks after each chunk, but this only when all that was read has been parsed.
      setImmediate(flush)
    } else {
      if (first) add(first)
      first = undefined
      add(chunk)
    }
    return message.readableLength + (to - from) < message.readableHighWaterMark
  }
}
