import type { GuardedResponse } from '../../lib/fetch/exchange.ts'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'

/** The interface that api.video has published, at api.video or at another Kinora. */
export class PublishedApi {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #client: ServiceClient
  /** Kinora has more than the published interface, such as the sources. */
  readonly isKinora: boolean

  constructor(
    client: ServiceClient,
    { base, key, isKinora }: { base: string; key: string; isKinora: boolean },
  ) {
    this.#base = base
    this.#headers = { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
    this.#client = client
    this.isKinora = isKinora
  }

  get(path: string): Promise<unknown> {
    return this.#client.json(this.#base + path, { headers: this.#headers })
  }

  /** Undefined if the service has answered, but not with what was asked for. The account may not have it. */
  getIfAny(path: string): Promise<unknown> {
    return this.get(path).catch((error) => {
      if (isRefusal(error)) return undefined
      throw error
    })
  }

  patch(path: string, body: object): Promise<unknown> {
    return this.#client.json(this.#base + path, { method: 'PATCH', headers: this.#headers, body })
  }

  /** A file of the interface, from this byte on. */
  file(path: string, from: number, validator: string | null): Promise<GuardedResponse> {
    return this.#client.file(this.#base + path, from, validator, this.#headers)
  }

  /** A file of a viewer, to which the key is not sent. */
  asset(url: string, from: number, validator: string | null): Promise<GuardedResponse> {
    return this.#client.file(url, from, validator)
  }
}

export const videoPath = (id: string) => `/videos/${encodeURIComponent(id)}`

const isRefusal = (error: unknown) =>
  error instanceof ServiceError && error.status !== undefined && error.status < 500

export const isMissing = (error: unknown) => error instanceof ServiceError && error.status === 404

/** What the list of videos tells besides. */
export const included = ['status', 'texts']
