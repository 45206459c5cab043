import { setTimeout as delay } from 'node:timers/promises'
import { FetchError, UrlNotAllowedError } from '../../../lib/fetch/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { type RtmpClient, RtmpClientError } from '../../rtmp/client.ts'
import type { SourceMessage } from './message.ts'
import { SendQueue } from './send-queue.ts'

export type RestreamState = {
  name: string
  state: 'connecting' | 'live' | 'retrying' | 'stopped'
  /** Why it is not live, or why frames are dropped. One sentence. */
  reason: string | null
  /** When the state began. */
  since: Date
  /** Frames that the server was too slow for. */
  droppedFrames: number
}

type Deps = {
  name: string
  open(signal: AbortSignal, onDrain: () => void): Promise<RtmpClient>
  retryDelayMs(attempt: number): number
  log: Log
  now(): Date
  onChange(): void
}

/** A server that receives too slowly for so long gets a new connection, maybe over a better route. */
const maxFullMs = 10_000
/** A connection that lasted so long was a good one: the delays between attempts begin anew after it. */
const goodConnectionMs = 30_000
const tooSlow = 'The server receives too slowly. Frames are dropped.'

/** Sends a stream to one server, with as many connections as it takes. */
export class Restream {
  readonly #deps: Deps
  readonly #queue = new SendQueue()
  readonly #closing = new AbortController()
  #state: Omit<RestreamState, 'name' | 'droppedFrames'>
  #client: RtmpClient | undefined
  #running: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#state = { state: 'connecting', reason: null, since: deps.now() }
  }

  get state(): RestreamState {
    return { name: this.#deps.name, ...this.#state, droppedFrames: this.#queue.droppedFrames }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** `headers` are what a decoder needs before its first frame. */
  send(message: SourceMessage, headers: SourceMessage[]): void {
    const client = this.#client
    if (!client) return
    const wasDropping = this.#queue.isDropping
    this.#queue.add(message, headers)
    if (this.#queue.isDropping !== wasDropping) this.#change('live', wasDropping ? null : tooSlow)
    if (this.#queue.fullForMs(message.atMs) > maxFullMs) client.abort('The server receives too slowly.')
    this.#pump()
  }

  /** The configuration has changed: frames follow from the next key frame on. */
  awaitBeginning(): void {
    this.#queue.awaitBeginning()
  }

  /** Sends what is left, and ends the connection. The reason of a restream that did not work stays visible. */
  async close(reason: string | null = this.#failure): Promise<void> {
    if (this.#state.state !== 'stopped') this.#change('stopped', reason)
    this.#closing.abort()
    const client = this.#client
    this.#client = undefined
    if (client) {
      for (let left = this.#queue.next(); left; left = this.#queue.next())
        client.send(left.kind, left.atMs, left.payload)
      await client.close()
    }
    await this.#running
  }

  get #failure(): string | null {
    return this.#state.state === 'retrying' ? this.#state.reason : null
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    for (let attempt = 0; !signal.aborted; attempt++) {
      const error = await this.#serve(signal).catch((error: unknown) => error)
      this.#client = undefined
      if (signal.aborted) return
      if (error instanceof UrlNotAllowedError) return this.#change('stopped', error.message)
      if (this.#wasGood()) attempt = 0
      this.#change('retrying', this.#reasonOf(error))
      await delay(this.#deps.retryDelayMs(attempt), undefined, { signal }).catch(() => {})
    }
  }

  #wasGood(): boolean {
    const { state, since } = this.#state
    return state === 'live' && this.#deps.now().getTime() - since.getTime() >= goodConnectionMs
  }

  /** One connection. Returns why it ended. */
  async #serve(signal: AbortSignal): Promise<RtmpClientError> {
    const client = await this.#deps.open(signal, () => this.#pump())
    if (signal.aborted) {
      client.abort('The broadcast has ended.')
      return client.ended
    }
    this.#queue.restart()
    this.#client = client
    this.#change('live', null)
    return client.ended
  }

  #pump(): void {
    const client = this.#client
    while (client && !client.isFull) {
      const message = this.#queue.next()
      if (!message) return
      client.send(message.kind, message.atMs, message.payload)
    }
  }

  #reasonOf(error: unknown): string {
    const isKnown = [FetchError, RtmpClientError].some((kind) => error instanceof kind)
    const bug = isKnown ? error instanceof RtmpClientError && error.cause : error
    if (bug) this.#deps.log.error({ err: bug, restream: this.#deps.name }, 'a restream failed')
    return isKnown ? (error as Error).message : 'The connection failed.'
  }

  #change(state: RestreamState['state'], reason: string | null): void {
    const isNew = state !== this.#state.state
    if (!isNew && reason === this.#state.reason) return
    this.#state = { state, reason, since: isNew ? this.#deps.now() : this.#state.since }
    // The reason may be text of the server, which belongs to the owner of the stream and not into the log.
    if (isNew)
      this.#deps.log.info({ restream: this.#deps.name, state }, 'the state of a restream has changed')
    this.#deps.onChange()
  }
}
