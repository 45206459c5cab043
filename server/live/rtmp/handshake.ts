import { randomBytes } from 'node:crypto'
import { RtmpError } from './chunks.ts'

const version = 3
const blockLength = 1536
const firstLength = 1 + blockLength

/** The version and a block of random bytes, with which the client begins: C0 and C1. */
export function beginHandshake(): Buffer {
  const bytes = randomBytes(firstLength)
  // A time of zero and a version of zero mean that the block is not signed.
  bytes.fill(0, 0, 9)
  bytes[0] = version
  return bytes
}

/** Receives the other side of the handshake: the version and two blocks. */
export class Handshake {
  readonly #role: 'server' | 'client'
  #received: Buffer = Buffer.alloc(0)
  #hasAnswered = false

  constructor(role: 'server' | 'client' = 'server') {
    this.#role = role
  }

  /** Returns the bytes after the handshake once it is complete. `send` gets the answer: S0, S1 and S2, or C2. */
  receive(bytes: Buffer, send: (bytes: Buffer) => void): Buffer | undefined {
    this.#received = Buffer.concat([this.#received, bytes])
    if (this.#received.length > 0 && this.#received[0] !== version)
      throw new RtmpError(`RTMP: the version ${this.#received[0]} is not supported`)
    if (!this.#hasAnswered && this.#received.length >= firstLength) {
      this.#hasAnswered = true
      const echo = Buffer.from(this.#received.subarray(1, firstLength))
      send(this.#role === 'server' ? Buffer.concat([beginHandshake(), echo]) : echo)
    }
    const end = firstLength + blockLength
    return this.#received.length < end ? undefined : this.#received.subarray(end)
  }
}
