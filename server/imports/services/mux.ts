import { createHash } from 'node:crypto'
import type { ImportOptions, ImportRequest } from '../schemas.ts'
import { readBaseUrl } from './base-url.ts'
import type { ServiceClient } from './client.ts'
import { NotReady, ServiceError } from './errors.ts'
import { describeFile } from './file-description.ts'
import { array, number, object, string } from './json.ts'
import { checkSigningKey, type SigningKey, signPlaybackId } from './mux-token.ts'
import { refuseTags } from './refuse-tags.ts'
import { requireField } from './require-field.ts'
import type {
  Credentials,
  ImportService,
  KnownItem,
  Library,
  ListedObject,
  Track,
  VideoDescription,
} from './service.ts'

const officialUrl = 'https://api.mux.com'
const officialMediaUrl = 'https://stream.mux.com'
const pageSize = 100
/** A master usually takes less than a minute. */
const pollMs = 15_000

/** Assets of Mux, by its public API. Their files are the masters, or else the largest MP4. */
export const mux: ImportService = {
  keepsIds: false,
  read(request) {
    refuseTags(request)
    const credentials = {
      key: requireField(request, 'key'),
      secret: requireField(request, 'secret'),
      ...readSigningKey(request),
    }
    return { account: readBaseUrl(request.url ?? officialUrl), credentials }
  },
  open: ({ account, options, credentials }, client) =>
    new MuxLibrary({ base: account, credentials, client, options }),
}

function readSigningKey(request: ImportRequest): Credentials {
  if (request.signingKey === undefined && request.signingKeyId === undefined) return {}
  const signingKey = requireField(request, 'signingKey')
  checkSigningKey(signingKey)
  return { signingKey, signingKeyId: requireField(request, 'signingKeyId') }
}

type Settings = { base: string; credentials: Credentials; client: ServiceClient; options: ImportOptions }
type Asset = Record<string, unknown>

class MuxLibrary implements Library {
  readonly #assets: string
  /** Playback URLs have another host. */
  readonly #media: string
  readonly #headers: Record<string, string>
  readonly #signingKey: SigningKey | undefined
  readonly #client: ServiceClient
  readonly #options: ImportOptions

  constructor({ base, credentials, client, options }: Settings) {
    const { key, secret, signingKey, signingKeyId = '' } = credentials
    this.#assets = `${base}/video/v1/assets`
    this.#media = base === officialUrl ? officialMediaUrl : base
    this.#headers = { authorization: `Basic ${Buffer.from(`${key}:${secret}`).toString('base64')}` }
    this.#signingKey = signingKey === undefined ? undefined : { id: signingKeyId, key: signingKey }
    this.#client = client
    this.#options = options
  }

  async list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }> {
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor !== null && { cursor }) })
    const page = object(await this.#client.json(`${this.#assets}?${query}`, { headers: this.#headers }))
    const items = array(page.data).map(object).map(listAsset)
    // A list of empty pages would not end.
    return { items, next: items.length === 0 ? null : string(page.next_cursor) || null }
  }

  async describe({ id }: KnownItem): Promise<VideoDescription> {
    const asset = await this.#find(id)
    const { creator_id, external_id } = object(asset.meta)
    const playbackIds = playbackIdsOf(asset)
    const metadata = [
      { key: 'asset_id', value: id },
      { key: 'passthrough', value: string(asset.passthrough) },
      { key: 'creator_id', value: string(creator_id) },
      { key: 'external_id', value: string(external_id) },
      // A key can have one value.
      ...playbackIds.map((each, i) => ({
        key: i === 0 ? 'playback_id' : `playback_id_${i + 1}`,
        value: each.id,
      })),
    ]
    const notes: string[] = []
    const liveStreamId = string(asset.live_stream_id)
    if (liveStreamId) notes.push(`A recording of the live stream ${liveStreamId}.`)
    if (asset.test === true) notes.push('A test asset: it has a watermark and at most 10 seconds.')
    return {
      ...describeFile(titleOf(asset)),
      metadata: metadata.filter(({ value }) => value !== ''),
      public: publicId(asset) !== undefined,
      createdAt: createdAt(asset),
      captions: await this.#captions(asset, notes),
      notes,
      missing: missing(asset),
    }
  }

  async open({ id }: KnownItem, from: number, validator: string | null) {
    const asset = await this.#find(id)
    if (asset.status === 'preparing') throw new NotReady('Waiting until Mux has processed the video.', pollMs)
    const { status, url } = object(asset.master)
    if (status === 'ready' && string(url)) return this.#openMaster(id, string(url), from, validator)
    if (status === 'preparing' || (status !== 'errored' && (await this.#requestMaster(id))))
      throw new NotReady('Waiting until Mux has made the master.', pollMs)
    return this.#openRendition(id, asset, from, validator)
  }

  /** The URL of a master works for 24 hours. */
  async #openMaster(id: string, url: string, from: number, validator: string | null) {
    try {
      return await this.#client.file(url, from, validator)
    } catch (error) {
      if (!isRefusal(error) || !(await this.#requestMaster(id))) throw error
      throw new NotReady('The URL of the master has expired. Waiting for another one.', pollMs)
    }
  }

  /** False if Mux has none for this asset. */
  async #requestMaster(id: string): Promise<boolean> {
    const body = { master_access: 'temporary' }
    try {
      await this.#client.json(this.#urlOf(id, '/master-access'), {
        method: 'PUT',
        headers: this.#headers,
        body,
      })
      return true
    } catch (error) {
      if (isRefusal(error)) return false
      throw error
    }
  }

  async #openRendition(id: string, asset: Asset, from: number, validator: string | null) {
    const { url } = await this.#playback(asset)
    if (!url) throw new ServiceError('Mux has no master of it, and its MP4 needs a signing key.')
    const { files, status } = object(asset.static_renditions)
    const renditions = array(files).map(object)
    // Files of `mp4_support` have no status of their own.
    const stateOf = (file: Asset) => file.status ?? status
    const ready = renditions.filter((file) => stateOf(file) === 'ready')
    const [largest] = ready.toSorted((a, b) => rank(b) - rank(a))
    if (largest) return this.#client.file(url(string(largest.name)), from, validator)
    if (renditions.some((file) => stateOf(file) !== 'preparing'))
      throw new ServiceError('Mux has neither a master nor an MP4 of it.')
    if (renditions.length === 0) await this.#requestRendition(id, asset)
    throw new NotReady('Waiting until Mux has made the MP4.', pollMs)
  }

  async #requestRendition(id: string, asset: Asset): Promise<void> {
    const body = { resolution: asset.resolution_tier === 'audio-only' ? 'audio-only' : 'highest' }
    await this.#client
      .json(this.#urlOf(id, '/static-renditions'), { method: 'POST', headers: this.#headers, body })
      .catch((error) => {
        if (isRefusal(error))
          throw new ServiceError(`Mux makes neither a master nor an MP4: ${error.message}`)
        throw error
      })
  }

  async #captions(asset: Asset, notes: string[]): Promise<Track[]> {
    if (!this.#options.include.includes('captions')) return []
    const tracks = array(asset.tracks)
      .map(object)
      .filter((track) => track.type === 'text' && track.status === 'ready')
    const { url } = await this.#playback(asset)
    if (!url) {
      if (tracks.length > 0) notes.push('The captions were left out, because they need a signing key.')
      return []
    }
    return tracks.map((track) => ({
      language: string(track.language_code),
      isDefault: false,
      url: url('text', `${string(track.id)}.vtt`),
    }))
  }

  /** The URLs of the files that viewers get, if there is a public playback id, or one that can be signed. */
  async #playback(asset: Asset): Promise<{ url?: (...path: string[]) => string }> {
    const ids = playbackIdsOf(asset)
    const open = publicId(asset)
    const signed = ids.find(({ policy }) => policy === 'signed')?.id
    const id = open ?? (this.#signingKey && signed)
    if (id === undefined) return {}
    const query = open || !this.#signingKey ? '' : `?token=${await signPlaybackId(this.#signingKey, id)}`
    return { url: (...path) => [this.#media, ...[id, ...path].map(encodeURIComponent)].join('/') + query }
  }

  async #find(id: string): Promise<Asset> {
    return object(object(await this.#client.json(this.#urlOf(id), { headers: this.#headers })).data)
  }

  #urlOf(id: string, path = ''): string {
    return `${this.#assets}/${encodeURIComponent(id)}${path}`
  }
}

const titleOf = (asset: Asset) =>
  string(object(asset.meta).title) || string(asset.passthrough) || string(asset.id)

/** Unix seconds, as text. */
function createdAt(asset: Asset): Date | null {
  const seconds = Number(string(asset.created_at) || asset.created_at)
  return Number.isFinite(seconds) && seconds > 0 && seconds < 1e11 ? new Date(seconds * 1000) : null
}

const playbackIdsOf = (asset: Asset) =>
  array(asset.playback_ids)
    .map(object)
    .map(({ id, policy }) => ({ id: string(id), policy }))
    .filter(({ id }) => id !== '')

/** A playback id that needs no token. Without one, the video is private. */
const publicId = (asset: Asset) => playbackIdsOf(asset).find(({ policy }) => policy === 'public')?.id

function missing(asset: Asset): string | null {
  if (asset.is_live === true) return 'The live stream is on air. Import it again when it has ended.'
  if (asset.status !== 'errored') return null
  const messages = array(object(asset.errors).messages).map(string).join(' ')
  return `Mux could not process the video. ${messages}`.trim()
}

/** The largest picture first, then sound. */
const rank = (file: Asset) => number(file.height) ?? (string(file.name).endsWith('.mp4') ? 0 : -1)

function listAsset(asset: Asset): ListedObject {
  const { meta, passthrough, playback_ids, tracks } = asset
  const sizes = array(object(asset.static_renditions).files)
    .map(object)
    .map(({ filesize }) => Number(filesize))
  const largest = Math.max(...sizes.filter(Number.isFinite))
  return {
    kind: 'video',
    id: string(asset.id),
    title: titleOf(asset),
    // Mux does not tell when an asset was changed.
    version: createHash('sha256')
      .update(JSON.stringify([meta, passthrough, playback_ids, tracks, asset.status]))
      .digest('base64url'),
    contentVersion: '',
    bytes: Number.isFinite(largest) ? largest : null,
    seconds: number(asset.duration),
    details: { createdAt: createdAt(asset)?.toISOString() },
  }
}

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError &&
  error.status !== undefined &&
  [400, 403, 404, 409, 410, 422].includes(error.status)
