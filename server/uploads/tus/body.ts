import type { IncomingMessage } from 'node:http'
import { watchSlowClient } from '../../lib/slow-client.ts'

const events = ['readable', 'end', 'error', 'close']

/**
 * The body of a tus request. It ends early, without an error, when the connection drops or the client is too slow: the
 * bytes that have arrived count.
 *
 * The iterator of the request is not used, because it cannot be left while it waits for the client.
 */
export class TusBody implements AsyncIterable<Buffer> {
  readonly #request: IncomingMessage
  readonly #stopWatching: () => void
  #isTooSlow = false
  #isClosed = false
  #wake = () => {}
  readonly #onEvent = () => this.#wake()

  constructor(request: IncomingMessage) {
    this.#request = request
    this.#stopWatching = watchSlowClient(request, () => {
      this.#isTooSlow = true
      this.#wake()
    })
  }

  get isTooSlow(): boolean {
    return this.#isTooSlow
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, undefined> {
    const request = this.#request
    for (const event of events) request.on(event, this.#onEvent)
    try {
      while (!this.#isTooSlow && !this.#isClosed && !request.readableEnded && !request.destroyed) {
        const bytes = request.read()
        if (bytes !== null) yield bytes
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
    } finally {
      this.#detach()
    }
  }

  #detach(): void {
    for (const event of events) this.#request.off(event, this.#onEvent)
  }

  /** The rest of the body is read and discarded, so that the client can read the response. */
  close(): void {
    this.#stopWatching()
    this.#isClosed = true
    this.#wake()
    this.#detach()
    this.#request.resume()
  }
}
