import { setTimeout as delay } from 'node:timers/promises'
import { productionKey } from '../test/support/harness.ts'
import type { Ledger } from './ledger.ts'

export type Answer = { status: number; text: string; headers: Headers; bytes: Buffer }

type Options = {
  method?: string
  json?: unknown
  body?: Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
  key?: string
  /** Ends the retries. */
  signal?: AbortSignal
}

/** The service is busy, stops, or cannot reach its database or store. Nothing was changed, or it is safe to repeat. */
const temporary = new Set([408, 429, 502, 503, 504])
/** A client that waits longer gives up, and asks another machine. */
const requestTimeoutMs = 20_000
const retryEveryMs = 300

/**
 * Sends requests as a good client does: to any of the machines, and to another one if there is no answer or the answer is
 * temporary.
 */
export class Client {
  readonly #urls: string[]
  readonly #ledger: Ledger
  #next = 0

  constructor(urls: string[], ledger: Ledger) {
    this.#urls = urls
    this.#ledger = ledger
  }

  /** One request to one machine. Undefined without a complete answer. */
  async attempt(path: string, { method = 'GET', json, body, headers, key = productionKey }: Options = {}) {
    const url = this.#urls[this.#next++ % this.#urls.length]! + path
    this.#ledger.requests.sent++
    try {
      const response = await fetch(url, {
        method,
        headers: {
          ...(key && { authorization: `Basic ${btoa(`${key}:`)}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: json !== undefined ? JSON.stringify(json) : (body ?? null),
        signal: AbortSignal.timeout(requestTimeoutMs),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      const answer: Answer = {
        status: response.status,
        headers: response.headers,
        bytes,
        text: bytes.toString(),
      }
      if (answer.status === 500) this.#ledger.report(`${method} ${url} got 500: ${answer.text.slice(0, 300)}`)
      return answer
    } catch {
      return undefined
    }
  }

  /** Repeats the request until it has an answer that is not temporary. */
  async send(path: string, options: Options = {}): Promise<Answer> {
    for (;;) {
      const answer = await this.attempt(path, options)
      if (answer && !temporary.has(answer.status) && answer.status !== 500) return answer
      options.signal?.throwIfAborted()
      this.#ledger.requests.retried++
      await delay(retryEveryMs)
    }
  }
}
