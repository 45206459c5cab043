import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Context } from '../../../context.ts'
import { signFeedRequest } from '../../state/feed/signature.ts'
import { readOffer } from '../../webrtc/sdp.ts'
import type { Refused } from '../publisher.ts'
import { claimOf, type InternalAnswer, internalPath } from './internal-routes.ts'
import { listReceivers, type Receiver } from './receiver-store.ts'
import type { WhipAnswer, WhipServer } from './server.ts'

type Deps = Pick<Context, 'db' | 'log' | 'now' | 'publicUrl' | 'secret'>

const timeoutMs = 5_000
const maxAnswerBytes = 64 * 1024

/**
 * Brings offers to a process that receives WebRTC: to this one if it does, else to any other. Media then go to that process
 * directly.
 */
export class WhipGateway {
  readonly #deps: Deps
  readonly #local: () => WhipServer | undefined

  constructor(deps: Deps, local: () => WhipServer | undefined) {
    this.#deps = deps
    this.#local = local
  }

  /** Rejects with `SdpError`. Undefined if no process receives WebRTC. */
  async offer(streamKey: string, sdp: string): Promise<WhipAnswer | Refused | undefined> {
    readOffer(sdp)
    const local = this.#local()
    if (local) return local.offer(streamKey, sdp)
    let result: Refused | undefined
    for (const receiver of await listReceivers(this.#deps.db)) {
      const { answer, refusal } = (await this.#ask(receiver, { action: 'offer', streamKey, sdp })) ?? {}
      if (answer) return answer
      result = refusal ?? result
      if (result && result.kind !== 'closing') return result
    }
    return result
  }

  /** False if there is no such session. */
  end(sessionId: string): Promise<boolean> {
    return this.#visit(sessionId, 'end')
  }

  has(sessionId: string): Promise<boolean> {
    return this.#visit(sessionId, 'find')
  }

  async #visit(sessionId: string, action: 'end' | 'find'): Promise<boolean> {
    const local = this.#local()
    if (local?.has(sessionId)) return action === 'find' || local.end(sessionId)
    const receiver = (await listReceivers(this.#deps.db)).find(({ id }) => sessionId.endsWith(`-${id}`))
    if (!receiver || receiver.id === local?.id) return false
    return (await this.#ask(receiver, { action, sessionId }))?.isFound === true
  }

  /** Undefined if the process cannot be reached. */
  async #ask(receiver: Receiver, question: object): Promise<InternalAnswer | undefined> {
    try {
      return JSON.parse(await this.#request(receiver.url, JSON.stringify(question)))
    } catch (err) {
      this.#deps.log.warn(
        { err, url: receiver.url },
        'live: a process that receives WebRTC cannot be reached',
      )
      return undefined
    }
  }

  #request(receiverUrl: string, body: string): Promise<string> {
    const { now, publicUrl, secret } = this.#deps
    const url = new URL(`${receiverUrl.replace(/\/$/, '')}${internalPath}`)
    const start = url.protocol === 'https:' ? requestHttps : requestHttp
    // The certificate is for the public name, also when the URL has an IP address.
    const servername = isIP(url.hostname) ? new URL(publicUrl()).hostname : url.hostname
    const headers = {
      authorization: signFeedRequest(secret, claimOf(body), now()),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const options = { method: 'POST', headers, agent: false, timeout: timeoutMs, servername }
    return new Promise((resolve, reject) => {
      const sent = start(url, options, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          text += part
          if (text.length > maxAnswerBytes) sent.destroy(new Error('The answer is too long.'))
        })
        response.on('error', reject)
        response.on('end', () =>
          response.statusCode === 200 ? resolve(text) : reject(new Error(`status ${response.statusCode}`)),
        )
      })
      sent.on('timeout', () => sent.destroy(new Error('The process is silent.')))
      sent.on('error', reject)
      sent.end(body)
    })
  }
}
