import type { Readable } from 'node:stream'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import { ChangeStream } from './change-stream.ts'
import { dashboardErrors } from './errors.ts'
import { findActiveIds, sessionsChannel } from './session-store.ts'
import { changesChannel, watchChanges } from './watch-store.ts'

const maxStreams = 1_000
const maxStreamsOfSession = 16
const tickMs = 25_000
/** Two ticks may be late. */
const watchSeconds = 60

type Deps = Pick<Context, 'db' | 'log' | 'now'>

/** The open pages of the dashboard at this process. They are told what changes, whichever process changes it. */
export class Changes {
  readonly #deps: Deps
  readonly #streams = new Set<ChangeStream>()
  #timer: NodeJS.Timeout | undefined
  /** When the database stops announcing changes, by the clock of `performance`. */
  #watchedUntilMs = 0
  #isClosed = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Postgres notification channels. Without a payload, notifications may have been missed. */
  readonly channels: Record<string, (payload?: string) => void> = {
    [changesChannel]: (payload) => (payload === undefined ? this.#recover() : this.#announce(payload)),
    [sessionsChannel]: (payload) => this.#endStreams(payload),
  }

  /** Returns the events of a page once changes are announced, so that what the page loads next does not become stale. */
  async open(environment: Environment, sessionId: string, isReconnect: boolean): Promise<Readable> {
    if (this.#isClosed || this.#streams.size >= maxStreams) throw new ApiError(httpErrors.serviceUnavailable)
    const ofSession = [...this.#streams].filter((stream) => stream.sessionId === sessionId)
    if (ofSession.length >= maxStreamsOfSession) throw new ApiError(dashboardErrors.tooManyStreams)
    const stream = new ChangeStream(environment, sessionId, { isReconnect })
    this.#streams.add(stream)
    stream.body.once('close', () => this.#remove(stream))
    this.#timer ??= setInterval(() => this.#tick(), tickMs)
    try {
      if (performance.now() + tickMs > this.#watchedUntilMs) await this.#watch()
      // The session may have ended after the request was authorized and before the stream was known.
      await this.#endStreamsOfEndedSessions()
    } catch (error) {
      stream.body.destroy()
      throw error
    }
    return stream.body
  }

  close(): void {
    this.#isClosed = true
    for (const stream of this.#streams) stream.end()
  }

  #remove(stream: ChangeStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #announce(payload: string): void {
    const [kind = '', environment, id = ''] = payload.split(' ')
    for (const stream of this.#streams)
      if (environment === '*' || environment === stream.environment) stream.change(kind, id)
  }

  async #watch(): Promise<void> {
    const startedMs = performance.now()
    await watchChanges(this.#deps.db, watchSeconds)
    this.#watchedUntilMs = startedMs + watchSeconds * 1_000
  }

  async #tick(): Promise<void> {
    for (const stream of this.#streams) stream.keepAlive()
    if (performance.now() > this.#watchedUntilMs) return this.#recover()
    try {
      await this.#watch()
      await this.#endStreamsOfEndedSessions()
    } catch (err) {
      this.#deps.log.warn({ err }, 'the dashboard could not renew its notifications')
    }
  }

  /** After a lost connection, or if the last renewal failed. */
  async #recover(): Promise<void> {
    if (this.#streams.size === 0) return
    try {
      await this.#watch()
      for (const stream of this.#streams) stream.resync()
    } catch (err) {
      // The next tick tries again.
      this.#watchedUntilMs = 0
      this.#deps.log.warn({ err }, 'the dashboard could not renew its notifications')
    }
  }

  #endStreams(sessionId: string | undefined): void {
    for (const stream of this.#streams) if (stream.sessionId === sessionId) stream.end()
    if (sessionId !== undefined && sessionId !== '*') return
    this.#endStreamsOfEndedSessions().catch((err) =>
      this.#deps.log.warn({ err }, 'the sessions of the dashboard could not be checked'),
    )
  }

  async #endStreamsOfEndedSessions(): Promise<void> {
    const streams = [...this.#streams]
    if (streams.length === 0) return
    const ids = [...new Set(streams.map(({ sessionId }) => sessionId))]
    const active = await findActiveIds(this.#deps.db, ids, this.#deps.now())
    for (const stream of streams) if (!active.has(stream.sessionId)) stream.end()
  }
}
