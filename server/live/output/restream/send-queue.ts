import type { SourceMessage } from './message.ts'

export const queueLimits = { maxBytes: 8 * 1024 * 1024, maxMs: 5_000 } as const

/** The memory of a message besides its payload. Without it, tiny messages would be unlimited. */
const overheadBytes = 256

/**
 * Messages that a server has not received yet. When the queue is full, messages are dropped until a frame with which a
 * decoder can begin finds room.
 */
export class SendQueue {
  droppedFrames = 0
  #messages: SourceMessage[] = []
  #bytes = 0
  #hasBegun = false
  /** The time of the first dropped message. */
  #fullSinceMs: number | undefined

  /** Empties the queue for a new connection. */
  restart(): void {
    this.#messages = []
    this.#bytes = 0
    this.#hasBegun = false
    this.#fullSinceMs = undefined
  }

  /** `headers` are what a decoder needs before its first frame. */
  add(message: SourceMessage, headers: SourceMessage[]): void {
    if (this.#hasBegun) this.#append([message])
    else if (message.role === 'beginning') this.#append([...headers, message])
    else if (this.isDropping) this.#drop(message)
  }

  /** The configuration has changed: the next frame has to be one that a decoder can begin with. */
  awaitBeginning(): void {
    this.#hasBegun = false
  }

  next(): SourceMessage | undefined {
    const message = this.#messages.shift()
    if (message) this.#bytes -= sizeOf(message)
    return message
  }

  get isDropping(): boolean {
    return this.#fullSinceMs !== undefined
  }

  /** How long the queue has been full at a time of the stream. */
  fullForMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs
  }

  #append(added: SourceMessage[]): void {
    const last = added.at(-1)!
    if (!this.#hasRoomFor(added, last.atMs)) {
      this.#drop(last)
      this.#fullSinceMs ??= last.atMs
      this.#hasBegun = false
      return
    }
    this.#messages.push(...added)
    this.#bytes += bytesOf(added)
    this.#hasBegun = true
    this.#fullSinceMs = undefined
  }

  /** Headers are sent again before the next beginning. */
  #drop({ role }: SourceMessage): void {
    if (role !== 'header') this.droppedFrames++
  }

  #hasRoomFor(added: SourceMessage[], atMs: number): boolean {
    const [oldest] = this.#messages
    if (!oldest) return true
    return this.#bytes + bytesOf(added) <= queueLimits.maxBytes && atMs - oldest.atMs <= queueLimits.maxMs
  }
}

const sizeOf = ({ payload }: SourceMessage) => payload.length + overheadBytes
const bytesOf = (messages: SourceMessage[]) => messages.reduce((sum, each) => sum + sizeOf(each), 0)
