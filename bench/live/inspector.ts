import { once } from 'node:events'

type Answer = { id: number; result?: { result?: { value?: number } } }

/** Reads the memory of a Node process that was started with `--inspect`. */
export class Inspector {
  readonly #socket: WebSocket
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
  }

  static async connect(port: number): Promise<Inspector> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`)
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[]
    const socket = new WebSocket(target!.webSocketDebuggerUrl)
    await once(socket, 'open')
    return new Inspector(socket)
  }

  /** The resident set size after a garbage collection. */
  async residentBytes(): Promise<number> {
    // What the first collection finds unreachable may be released by the second.
    for (let i = 0; i < 3; i++) await this.#send('HeapProfiler.collectGarbage')
    const answer = await this.#send('Runtime.evaluate', { expression: 'process.memoryUsage.rss()' })
    return answer.result?.result?.value ?? Number.NaN
  }

  close(): void {
    this.#socket.close()
  }

  async #send(method: string, params = {}): Promise<Answer> {
    const id = ++this.#lastId
    this.#socket.send(JSON.stringify({ id, method, params }))
    for (;;) {
      const [event] = (await once(this.#socket, 'message')) as [{ data: string }]
      const answer = JSON.parse(event.data) as Answer
      if (answer.id === id) return answer
    }
  }
}
