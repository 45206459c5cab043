import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Context } from '../../context.ts'
import { FeedError, type FeedMessage, FrameReader, feedType } from './feed/frames.ts'
import { feedPath, pingMs } from './feed/routes.ts'
import { signFeedRequest } from './feed/signature.ts'
import { LiveBroadcast } from './live-broadcast.ts'
import type { Broadcast } from './store.ts'

export type MirrorDeps = Pick<Context, 'config' | 'log' | 'now' | 'publicUrl' | 'secret'>

/**
 * Viewers see nothing new while the owner is silent, for example behind a link that drops packets. After this time they get
 * playlists without parts from the database. An owner that was only busy is followed again within seconds.
 */
const silenceMs = 4 * pingMs

/** A copy of a broadcast that another process owns. It follows the owner by one connection. */
export class Mirror {
  readonly live: LiveBroadcast
  /** True once the copy is complete, false if the owner is out of reach. */
  readonly ready: Promise<boolean>
  readonly #deps: MirrorDeps
  /** The encoder has left. If the owner has stopped since then, nothing is wrong. */
  readonly #isAway: boolean
  readonly #abort = new AbortController()

  constructor(deps: MirrorDeps, broadcast: Broadcast) {
    const { id, live_stream_id: liveStreamId, fence, state } = broadcast
    this.#deps = deps
    this.#isAway = state === 'away'
    const windowMs = deps.config.liveRewindSeconds * 1000
    this.live = new LiveBroadcast({ id, liveStreamId, fence, windowMs })
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.ready = promise
    this.#follow(broadcast.owner_url, () => resolve(true))
      .catch((err) => this.#report(err))
      .finally(() => {
        resolve(false)
        this.live.close()
      })
  }

  close(): void {
    this.#abort.abort()
  }

  /** Resolves when the owner ends the connection. */
  async #follow(ownerUrl: string, onComplete: () => void): Promise<void> {
    const reader = new FrameReader()
    for await (const chunk of (await this.#request(ownerUrl)) as AsyncIterable<Buffer>)
      for (const message of reader.read(chunk)) this.#receive(message, onComplete)
  }

  #receive(message: FeedMessage, onComplete: () => void): void {
    if (message.kind === 'complete') onComplete()
    else if (message.kind !== 'ping') this.live.apply(message)
  }

  #request(ownerUrl: string): Promise<IncomingMessage> {
    const { now, secret } = this.#deps
    const { id, fence } = this.live
    const url = new URL(`${ownerUrl.replace(/\/$/, '')}${feedPath(id)}?fence=${fence}`)
    const headers = { authorization: signFeedRequest(secret, { id, fence }, now()) }
    const start = url.protocol === 'https:' ? requestHttps : requestHttp
    // The certificate of the owner is for the public name, also when the URL has an IP address.
    const servername = isIP(url.hostname) ? new URL(this.#deps.publicUrl()).hostname : url.hostname
    const options = { headers, agent: false, timeout: silenceMs, signal: this.#abort.signal, servername }
    return new Promise((resolve, reject) => {
      const sent = start(url, options, (response) => {
        const { statusCode, headers } = response
        if (statusCode === 200 && headers['content-type'] === feedType) return resolve(response)
        response.destroy()
        reject(new FeedError(`the owner responded with status ${statusCode}`))
      })
      sent.on('timeout', () => sent.destroy(new FeedError('the owner is silent')))
      sent.on('error', reject)
      sent.end()
    })
  }

  #report(err: unknown): void {
    if (this.#abort.signal.aborted) return
    const { id: broadcastId } = this.live
    const level = this.#isAway ? 'debug' : 'warn'
    this.#deps.log[level]({ err, broadcastId }, 'live: the owner of a broadcast cannot be reached')
  }
}
