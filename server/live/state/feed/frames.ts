import { Bytes } from '../../media/bytes.ts'
import type { BroadcastEvent } from '../live-broadcast.ts'

/** What a feed sends: everything that recreates the broadcast, then `complete`, then each event as it happens. */
export type FeedMessage =
  | BroadcastEvent
  | { kind: 'complete' }
  /** Shows that the owner is still there while nothing happens. */
  | { kind: 'ping' }

export const feedType = 'application/vnd.kinora.live-feed'

/** A frame: the length of the head and of the data in 4 bytes each, the message as JSON without its data, the data. */
const lengthBytes = 8
/** Far more than a message needs. Whatever exceeds it is not a feed. */
const maxHeadBytes = 64 * 1024
const maxDataBytes = 64 * 1024 * 1024

/** The data is not copied. */
export function encodeFrame(message: FeedMessage): Buffer[] {
  const { data, ...rest } = message as FeedMessage & { data?: Buffer | Bytes }
  const head = Buffer.from(JSON.stringify(rest))
  const lengths = Buffer.alloc(lengthBytes)
  lengths.writeUInt32BE(head.length)
  lengths.writeUInt32BE(data?.length ?? 0, 4)
  return data instanceof Bytes ? [lengths, head, ...data.buffers] : [lengths, head, ...(data ? [data] : [])]
}

export class FeedError extends Error {}

/** Reads messages from the bytes of a feed, which arrive in chunks of any size. */
export class FrameReader {
  #chunks: Buffer[] = []
  #bytes = 0
  #lengths: { head: number; data: number } | undefined;

  *read(chunk: Buffer): Generator<FeedMessage> {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    for (let message = this.#next(); message; message = this.#next()) yield message
  }

  #next(): FeedMessage | undefined {
    this.#lengths ??= this.#readLengths()
    const lengths = this.#lengths
    if (!lengths || this.#bytes < lengths.head + lengths.data) return undefined
    this.#lengths = undefined
    const head = JSON.parse(this.#take(lengths.head).toString())
    if (lengths.data === 0) return head
    const data = this.#take(lengths.data)
    return { ...head, data: head.kind === 'part' ? new Bytes([data]) : data }
  }

  #readLengths(): { head: number; data: number } | undefined {
    if (this.#bytes < lengthBytes) return undefined
    const bytes = this.#take(lengthBytes)
    const lengths = { head: bytes.readUInt32BE(), data: bytes.readUInt32BE(4) }
    if (lengths.head > maxHeadBytes || lengths.data > maxDataBytes)
      throw new FeedError('the feed contains a frame that is too long')
    return lengths
  }

  /** A copy, so that a short part does not keep the entire chunk in memory. */
  #take(length: number): Buffer {
    const taken: Buffer[] = []
    let missing = length
    while (missing > 0) {
      const [first] = this.#chunks as [Buffer]
      const piece = first.subarray(0, missing)
      taken.push(piece)
      missing -= piece.length
      if (piece.length === first.length) this.#chunks.shift()
      else this.#chunks[0] = first.subarray(piece.length)
    }
    this.#bytes -= length
    return Buffer.concat(taken)
  }
}
