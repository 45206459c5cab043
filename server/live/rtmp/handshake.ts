import { randomBytes } from 'node:crypto'
import { RtmpError } from './chunks.ts'

const version = 3
const blockLength = 1536
const clientLength = 1 + blockLength

/** Receives the client's side of the handshake: C0, C1 and C2. */
export class Handshake {
  #received: Buffer = Buffer.alloc(0)
  #hasAnswered = false

  /** Returns the bytes after the handshake once it is complete. `send` gets the answer: S0, S1 and S2. */
  receive(bytes: Buffer, send: (bytes: Buffer) => void): Buffer | undefined {
    this.#received = Buffer.concat([this.#received, bytes])
    if (this.#received.length > 0 && this.#received[0] !== version)
      throw new RtmpError(`RTMP: the version ${this.#received[0]} is not supported`)
    if (!this.#hasAnswered && this.#received.length >= clientLength) {
      this.#hasAnswered = true
      send(answerTo(this.#received.subarray(1, clientLength)))
    }
    const end = clientLength + blockLength
    return this.#received.length < end ? undefined : this.#received.subarray(end)
  }
}

/** The version, our own block, and the client's block as an echo. A time of zero and a version of zero mean: not signed. */
function answerTo(clientBlock: Buffer): Buffer {
  const own = randomBytes(blockLength)
  own.fill(0, 0, 8)
  return Buffer.concat([Buffer.from([version]), own, clientBlock])
}
