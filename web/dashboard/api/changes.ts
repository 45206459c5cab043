import type { QueryClient } from '@tanstack/react-query'
import type { Environment } from './client.ts'
import { sessionQuery } from './session.ts'

/** What the server says has changed. Query keys begin with the environment and the kind. */
type Change = { kind: string; id: string | null }

/** Lists are reloaded at most this often, because every change of a video affects them. */
const listEveryMs = 2_000
/** Viewers who leave send nothing. They count for another 20 seconds. */
const viewersLeaveMs = 25_000
/** A page in the background closes its connection after this time. */
const hiddenMs = 10_000

export type ConnectionState = 'connecting' | 'open' | 'lost'

/**
 * Keeps the queries of an environment up to date with the server's events. While the page is hidden there is no
 * connection; when it is shown again, everything on it is reloaded. A new session needs a new instance.
 */
export class Changes {
  readonly #environment: Environment
  readonly #client: QueryClient
  readonly #onState: (state: ConnectionState) => void
  readonly #pendingLists = new Set<string>()
  #source: EventSource | undefined
  #listTimer: ReturnType<typeof setTimeout> | undefined
  /** Until the connection is opened again, or closed because the page is hidden. */
  #connectionTimer: ReturnType<typeof setTimeout> | undefined
  #viewersTimer: ReturnType<typeof setTimeout> | undefined

  constructor(environment: Environment, client: QueryClient, onState: (state: ConnectionState) => void) {
    this.#environment = environment
    this.#client = client
    this.#onState = onState
  }

  open(): void {
    document.addEventListener('visibilitychange', this.#onVisibility)
    this.#connect()
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility)
    clearTimeout(this.#connectionTimer)
    clearTimeout(this.#listTimer)
    clearTimeout(this.#viewersTimer)
    this.#disconnect()
  }

  #connect(): void {
    if (this.#source || document.hidden) return
    // Another tab may have logged in again.
    if (this.#client.getQueryData(sessionQuery.queryKey) === null) {
      this.#reloadSession()
      return
    }
    this.#onState('connecting')
    const source = new EventSource(`/dashboard/changes/${this.#environment}`)
    this.#source = source
    source.addEventListener('open', () => {
      this.#onState('open')
      // What was loaded before may have changed in the meantime, and another tab may have logged in again.
      this.#reloadAll()
      this.#reloadSession()
    })
    source.addEventListener('change', (event) => this.#apply(JSON.parse(event.data)))
    source.addEventListener('resync', () => this.#reloadAll())
    source.addEventListener('error', () => {
      this.#onState('lost')
      // The browser reconnects by itself, except after a response that is not a stream.
      if (source.readyState !== EventSource.CLOSED) return
      this.#disconnect()
      this.#reloadSession()
      // A hidden page connects when it is shown.
      if (!document.hidden) this.#connectionTimer = setTimeout(() => this.#connect(), 5_000)
    })
  }

  #disconnect(): void {
    this.#source?.close()
    this.#source = undefined
  }

  #apply({ kind, id }: Change): void {
    if (id) void this.#client.invalidateQueries({ queryKey: [this.#environment, kind, id] })
    this.#reloadSoon(kind)
    // The system lists failed uploads and encodings, and webhooks that fail.
    if (kind === 'videos' || kind === 'deliveries') this.#reloadSoon('system')
    if (kind !== 'sessions') return
    clearTimeout(this.#viewersTimer)
    this.#viewersTimer = setTimeout(() => this.#reloadSoon(kind), viewersLeaveMs)
  }

  #reloadSoon(kind: string): void {
    this.#pendingLists.add(kind)
    this.#listTimer ??= setTimeout(() => this.#reloadLists(), listEveryMs)
  }

  #reloadLists(): void {
    this.#listTimer = undefined
    for (const kind of this.#pendingLists)
      void this.#client.invalidateQueries({ queryKey: [this.#environment, kind, 'list'] })
    this.#pendingLists.clear()
  }

  #reloadAll(): void {
    void this.#client.invalidateQueries({ queryKey: [this.#environment] })
  }

  #reloadSession(): void {
    void this.#client.invalidateQueries(sessionQuery)
  }

  #onVisibility = () => {
    clearTimeout(this.#connectionTimer)
    if (document.visibilityState === 'visible') this.#connect()
    else this.#connectionTimer = setTimeout(() => this.#disconnect(), hiddenMs)
  }
}
