import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ListedPart, nextReload, partAfter, readParts } from './playlist.ts'

/** What a viewer has waited for: the frame that completed the part, and when the playlist was requested and received. */
export type Reload = [endFrame: number, requestedAt: number, receivedAt: number]
export type LoadOptions = { playlist: string; viewers: number; settleMs: number; seconds: number }

/** All connections receive into one buffer: an ordinary HTTP client would use more CPU time than the server. */
const buffer = Buffer.allocUnsafe(1024 * 1024)

/** One keep-alive connection, which requests one file after the other. */
class HttpConnection {
  readonly #socket
  readonly #queue: string[] = []
  readonly #onResponse: (body: string) => void
  readonly #isKept: boolean
  #isBusy = false
  #header = ''
  #isInHeader = true
  #left = 0
  #body = ''

  /** The bodies are discarded unless they are kept. */
  constructor(url: URL, isKept: boolean, onResponse: (body: string) => void) {
    this.#onResponse = onResponse
    this.#isKept = isKept
    const onread = { buffer, callback: (length: number) => this.#receive(length) }
    this.#socket = connect({ host: url.hostname, port: Number(url.port), onread })
  }

  request(path: string): void {
    this.#queue.push(path)
    this.#next()
  }

  close(): void {
    this.#socket.destroy()
  }

  #next(): void {
    if (this.#isBusy || this.#queue.length === 0) return
    this.#isBusy = true
    this.#socket.write(`GET ${this.#queue.shift()} HTTP/1.1\r\nHost: bench\r\n\r\n`)
  }

  #receive(length: number): boolean {
    for (let at = 0; at < length; ) {
      if (this.#isInHeader) at = this.#receiveHeader(at, length)
      if (this.#isInHeader) continue
      const end = Math.min(length, at + this.#left)
      if (this.#isKept) this.#body += buffer.toString('latin1', at, end)
      this.#left -= end - at
      at = end
      if (this.#left === 0) this.#finish()
    }
    return true
  }

  #receiveHeader(at: number, length: number): number {
    const found = buffer.indexOf('\r\n\r\n', at)
    const end = found < 0 || found >= length ? length : found + 4
    this.#header += buffer.toString('latin1', at, end)
    if (!this.#header.endsWith('\r\n\r\n')) return end
    if (!this.#header.startsWith('HTTP/1.1 200')) throw new Error(this.#header)
    this.#left = Number(/^content-length: (\d+)/im.exec(this.#header)?.[1])
    this.#isInHeader = false
    this.#header = ''
    return end
  }

  #finish(): void {
    const body = this.#body
    this.#body = ''
    this.#isInHeader = true
    this.#isBusy = false
    this.#onResponse(body)
    this.#next()
  }
}

/** Most viewers get the same playlist. */
let lastRead: { playlist: string; parts: ListedPart[]; next: string } | undefined

function readOnce(playlist: string): { parts: ListedPart[]; next: string } {
  if (lastRead?.playlist !== playlist)
    lastRead = { playlist, parts: readParts(playlist), next: nextReload(playlist) }
  return lastRead
}

/** Reloads the playlist and loads each new part, over two connections, as hls.js does. */
function watch(playlist: URL, onReload: (reload: Reload) => void): () => void {
  const folder = playlist.pathname.slice(0, playlist.pathname.lastIndexOf('/') + 1)
  let last: ListedPart | undefined
  let requestedAt = 0
  const media = new HttpConnection(playlist, false, () => {})
  const reloads = new HttpConnection(playlist, true, (body) => {
    const receivedAt = Date.now()
    const { parts, next } = readOnce(body)
    const awaited = last ? partAfter(parts, last) : undefined
    if (awaited) onReload([awaited.endFrame, requestedAt, receivedAt])
    const fresh = awaited ? parts.slice(parts.indexOf(awaited)) : parts.slice(-1)
    for (const { uri } of fresh) media.request(folder + uri)
    last = parts.at(-1) ?? last
    requestedAt = Date.now()
    reloads.request(playlist.pathname + next)
  })
  reloads.request(playlist.pathname)
  return () => {
    media.close()
    reloads.close()
  }
}

async function view({ playlist, viewers, settleMs, seconds }: LoadOptions): Promise<void> {
  let reloads: Reload[] = []
  const leave = Array.from({ length: viewers }, () => watch(new URL(playlist), (each) => reloads.push(each)))
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  console.log('watching')
  reloads = []
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  console.log(JSON.stringify(reloads))
  for (const each of leave) each()
}

if (import.meta.main) await view(JSON.parse(await text(process.stdin)))
