import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { newRequestId } from '../lib/ids.ts'
import { maxEntries } from '../lib/lru.ts'
import { canSendFile, sendFile } from '../lib/send-file.ts'
import type { OpenContext } from '../slice.ts'
import { type SentKind, sentBytes } from './metrics.ts'

const maxResponses = 20_000
const maxVideos = 5_000

/** False once the video is not public any more, is deleted, or is encoded again. */
type Video = { isUnchanged: boolean }

/** What a route has answered to a GET request without a range or condition. */
type Answer = {
  id: string
  url: string
  route: string
  sentKind: SentKind
  headers: Record<string, unknown>
  /** Undefined if nginx sends it. */
  file: StoredFile | undefined
}

type StoredFile = { key: string; size: number }
type Response = Pick<Answer, 'route' | 'sentKind' | 'file'> & { video: Video; headers: string[] }

/** Differ for each request, or are set by Node. */
const ownHeaders = ['x-request-id', 'connection', 'date']

type Deps = Pick<OpenContext, 'files' | 'log' | 'metrics' | 'isListening'>

/**
 * Repeats responses for public videos, without Fastify and the database: most requests of viewers are for a segment that
 * somebody else has just got. The process is notified when a video changes. While it is not, nothing is repeated.
 */
export class RepeatedResponses {
  readonly #deps: Deps
  readonly #responses = new LRUCache<string, Response>(maxEntries(maxResponses))
  readonly #videos = new LRUCache<string, Video>({
    ...maxEntries(maxVideos),
    dispose: (video) => {
      video.isUnchanged = false
    },
  })
  /** Counts changes, so that an answer that was begun before a change is not kept. */
  #generation = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Called when a video has changed, or without an id when changes may have been missed. */
  forget(videoId?: string): void {
    this.#generation++
    if (videoId) return void this.#videos.delete(videoId)
    this.#videos.clear()
    this.#responses.clear()
  }

  /** To be called before a route asks the database. The returned function keeps its answer. */
  begin(): (answer: Answer) => void {
    const generation = this.#generation
    return ({ id, url, headers, ...answer }) => {
      if (generation !== this.#generation || !this.#deps.isListening()) return
      const video = this.#videos.get(id) ?? { isUnchanged: true }
      this.#videos.set(id, video)
      const list = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name))
      this.#responses.set(url, {
        ...answer,
        video,
        headers: list.flatMap(([name, value]) => [name, String(value)]),
      })
    }
  }

  /** Answers a request, or calls `next` if the route has to. */
  answer(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const known = this.#responses.get(request.url ?? '')
    if (!known?.video.isUnchanged || !this.#mayRepeat(request)) next()
    else if (known.file) void this.#sendFile(response, known, known.file, next)
    else this.#sendHeaders(response, known).end()
  }

  #mayRepeat({ method, httpVersionMajor, headers }: IncomingMessage): boolean {
    const isPlain = headers.range === undefined && headers['if-none-match'] === undefined
    // Requests are logged by the route.
    const isLogged = this.#deps.log.isLevelEnabled('debug')
    return method === 'GET' && httpVersionMajor === 1 && isPlain && !isLogged && this.#deps.isListening()
  }

  async #sendFile(response: ServerResponse, known: Response, { key, size }: StoredFile, next: () => void) {
    const open = canSendFile(response) && (await this.#open(key, size))
    // The video may have changed meanwhile.
    if (!open || !known.video.isUnchanged || response.destroyed) {
      if (open) open.release()
      return next()
    }
    response.once('close', open.release)
    this.#sendHeaders(response, known)
    const count = (bytes: number) => this.#deps.metrics.count(sentBytes, { kind: known.sentKind }, bytes)
    if (typeof open.value === 'number') return sendFile(response, open.value, 0, size, count)
    count(size)
    response.end(open.value)
  }

  /** The route reports an error. */
  #open = (key: string, size: number) => this.#deps.files.acquire(key, size, true).catch(() => undefined)

  #sendHeaders(response: ServerResponse, { route, headers }: Response): ServerResponse {
    const startedAt = performance.now()
    response.once('close', () => {
      this.#deps.metrics.observeRequest(route, 'GET', 200, (performance.now() - startedAt) / 1000)
    })
    return response.writeHead(200, [...headers, 'x-request-id', newRequestId()])
  }
}
