import { Readable } from 'node:stream'
import type { Environment } from '../environments.ts'

/** A client that leaves this much unread is disconnected. It reconnects and loads everything again. */
const maxUnreadBytes = 64 * 1_024
/** More changes of one kind at once become a resync. */
const maxIds = 500

/** Changes of one kind are sent together, at most this often. Each makes the page load what it shows. */
const defaultIntervalMs = 500
const intervalsMs: Record<string, number> = { sessions: 10_000, system: 5_000 }

/** What one page of the dashboard receives, as server-sent events. */
export class ChangeStream {
  readonly environment: Environment
  readonly sessionId: string
  readonly body = new Readable({ read() {} })
  /** The ids of each kind that wait for the end of its interval. */
  readonly #waiting = new Map<string, Set<string>>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isEnded = false

  constructor(environment: Environment, sessionId: string, { isReconnect }: { isReconnect: boolean }) {
    this.environment = environment
    this.sessionId = sessionId
    this.body.once('close', () => this.#stop())
    // A browser repeats the id when it reconnects.
    this.#send('id: 1\nretry: 2000\n\n')
    if (isReconnect) this.resync()
  }

  change(kind: string, id: string): void {
    if (this.#isEnded) return
    const waiting = this.#waiting.get(kind)
    if (waiting) return void waiting.add(id)
    this.#sendChange(kind, id)
    this.#wait(kind)
  }

  /** Changes may have been missed: the page has to load everything again. */
  resync(): void {
    for (const ids of this.#waiting.values()) ids.clear()
    this.#send('event: resync\ndata: {}\n\n')
  }

  /** Shows proxies and the browser that the connection is alive. */
  keepAlive(): void {
    this.#send(':\n\n')
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#stop()
    this.body.push(null)
  }

  #wait(kind: string): void {
    const ids = new Set<string>()
    this.#waiting.set(kind, ids)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#waiting.delete(kind)
      if (ids.size === 0) return
      this.#wait(kind)
      if (ids.size > maxIds) this.resync()
      else for (const id of ids) this.#sendChange(kind, id)
    }, intervalsMs[kind] ?? defaultIntervalMs)
    this.#timers.add(timer)
  }

  #sendChange(kind: string, id: string): void {
    this.#send(`event: change\ndata: ${JSON.stringify({ kind, id })}\n\n`)
  }

  #send(text: string): void {
    if (this.body.destroyed || this.#isEnded) return
    if (this.body.readableLength > maxUnreadBytes) this.body.destroy()
    else this.body.push(text)
  }

  #stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#waiting.clear()
  }
}
