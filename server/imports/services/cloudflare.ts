import { invalidAttribute } from '../../lib/errors.ts'
import type { ImportOptions } from '../schemas.ts'
import { readBaseUrl } from './base-url.ts'
import type { ServiceClient } from './client.ts'
import { NotReady, ServiceError } from './errors.ts'
import { describeFile } from './file-description.ts'
import { array, number, object, string, time } from './json.ts'
import { refuseTags } from './refuse-tags.ts'
import { requireField } from './require-field.ts'
import type { ImportService, KnownItem, Library, ListedObject, Track, VideoDescription } from './service.ts'

const officialUrl = 'https://api.cloudflare.com/client/v4'
const accountPattern = /^[\w-]{1,64}$/
/** Cloudflare encodes an MP4 when it is asked for. */
const pollMs = 20_000
const thumbnailHeight = 1080

/** Videos of Cloudflare Stream, by its public API. Their files are MP4s of at most 1080p. */
export const cloudflare: ImportService = {
  keepsIds: false,
  read(request) {
    refuseTags(request)
    const id = requireField(request, 'location')
    if (!accountPattern.test(id))
      throw invalidAttribute('location', '"location" must be the id of the account at Cloudflare.')
    const base = readBaseUrl(request.url ?? officialUrl)
    return { account: `${base}/accounts/${id}`, credentials: { key: requireField(request, 'key') } }
  },
  open: ({ account, options, credentials: { key = '' } }, client) =>
    new StreamLibrary({ videos: `${account}/stream`, key, client, options }),
}

type Settings = { videos: string; key: string; client: ServiceClient; options: ImportOptions }
type Video = Record<string, unknown>

class StreamLibrary implements Library {
  readonly #videos: string
  readonly #headers: Record<string, string>
  readonly #client: ServiceClient
  readonly #options: ImportOptions

  constructor({ videos, key, client, options }: Settings) {
    this.#videos = videos
    this.#headers = { authorization: `Bearer ${key}` }
    this.#client = client
    this.#options = options
  }

  /**
   * The list has no cursor: a page begins after the creation of the last video that is known. A millisecond earlier, because
   * several videos may have been created at once. The cursor names those that the next page repeats.
   */
  async list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }> {
    const [after, ...seen] = (cursor ?? '').split(' ')
    const query = new URLSearchParams({ asc: 'true', ...(after && { after }) })
    const videos = array(await this.#get(`?${query}`)).map(object)
    const added = videos.filter(({ uid }) => !seen.includes(string(uid)))
    const last = time(added.at(-1)?.created)
    if (!last) return { items: added.map(listVideo), next: null }
    const start = new Date(last.getTime() - 1)
    const repeated = videos.filter(({ created }) => Number(time(created)) > start.getTime())
    const next = [start.toISOString(), ...repeated.map(({ uid }) => string(uid))].join(' ')
    return { items: added.map(listVideo), next }
  }

  async describe({ id }: KnownItem): Promise<VideoDescription> {
    const video = await this.#find(id)
    const { name: _, ...meta } = object(video.meta)
    const metadata = [
      { key: 'uid', value: id },
      { key: 'creator', value: string(video.creator) },
      ...Object.entries(meta).map(([key, value]) => ({ key: string(key), value: textOf(value) })),
    ]
    return {
      ...describeFile(titleOf(video)),
      metadata: metadata.filter(({ value }) => value !== ''),
      public: video.requireSignedURLs !== true,
      createdAt: time(video.created),
      captions: await this.#captions(id),
      thumbnail: await this.#thumbnail(id, video),
      notes: notesOf(video),
      missing: missing(video),
    }
  }

  async open({ id }: KnownItem, from: number, validator: string | null) {
    const video = await this.#find(id)
    if (stateOf(video) !== 'ready')
      throw new NotReady('Waiting until Cloudflare has processed the video.', pollMs)
    const { status, url, percentComplete } = object(object(await this.#get(path(id, '/downloads'))).default)
    if (status === 'error') throw new ServiceError('Cloudflare could not make an MP4 of it.')
    if (status === 'ready')
      return this.#client.file(await this.#sign(id, video, string(url)), from, validator)
    if (status === undefined) await this.#post(path(id, '/downloads'), {})
    const progress = number(percentComplete)
    const detail = progress === null ? '' : ` (${Math.round(progress)} %)`
    throw new NotReady(`Waiting until Cloudflare has made the MP4${detail}.`, pollMs)
  }

  async #captions(id: string): Promise<Track[]> {
    if (!this.#options.include.includes('captions')) return []
    return array(await this.#get(path(id, '/captions')))
      .map(object)
      .filter(({ status = 'ready' }) => status === 'ready')
      .map(({ language }) => ({
        language: string(language),
        isDefault: false,
        url: this.#videos + path(id, `/captions/${encodeURIComponent(string(language))}/vtt`),
        headers: this.#headers,
      }))
  }

  /** Only if its time was chosen: by default, it is the first frame, as here. */
  async #thumbnail(id: string, video: Video): Promise<string | null> {
    const seconds = (number(video.thumbnailTimestampPct) ?? 0) * (durationOf(video) ?? 0)
    const url = URL.parse(string(video.thumbnail))
    if (!url || seconds <= 0 || !this.#options.include.includes('thumbnails')) return null
    url.searchParams.set('time', `${seconds.toFixed(2)}s`)
    url.searchParams.set('height', String(thumbnailHeight))
    return this.#sign(id, video, url.href)
  }

  /** A token takes the place of the id in URLs of a video that needs one. */
  async #sign(id: string, video: Video, url: string): Promise<string> {
    if (video.requireSignedURLs !== true) return url
    const { token } = object(await this.#post(path(id, '/token'), { downloadable: true }))
    if (string(token) === '') throw new ServiceError('Cloudflare has made no token for the video.')
    return url.replace(`/${id}/`, `/${string(token)}/`)
  }

  async #find(id: string): Promise<Video> {
    return object(await this.#get(path(id)))
  }

  async #get(pathAndQuery: string): Promise<unknown> {
    const url = this.#videos + pathAndQuery
    return resultOf(await this.#client.json(url, { headers: this.#headers }))
  }

  async #post(path: string, body: object): Promise<unknown> {
    return resultOf(
      await this.#client.json(this.#videos + path, { method: 'POST', headers: this.#headers, body }),
    )
  }
}

const path = (id: string, rest = '') => `/${encodeURIComponent(id)}${rest}`

function resultOf(response: unknown): unknown {
  const { success, result, errors } = object(response)
  if (success !== false) return result
  const messages = array(errors).map((error) => string(object(error).message))
  throw new ServiceError(`Cloudflare responded with an error. ${messages.join(' ')}`.trim())
}

const titleOf = (video: Video) => string(object(video.meta).name) || string(video.uid)

const stateOf = (video: Video) => string(object(video.status).state)

/** -1: not known yet. */
function durationOf(video: Video): number | null {
  const seconds = number(video.duration)
  return seconds === null || seconds < 0 ? null : seconds
}

/** Values of `meta` are anything that JSON has. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return string(value)
  return value === null || value === undefined ? '' : string(JSON.stringify(value))
}

function notesOf(video: Video): string[] {
  const notes: string[] = []
  const origins = array(video.allowedOrigins).map(string)
  const { liveInput, scheduledDeletion, watermark } = video
  if (string(liveInput)) notes.push(`A recording of the live input ${string(liveInput)}.`)
  if (origins.length > 0) notes.push(`At Cloudflare, only these sites could embed it: ${origins.join(', ')}.`)
  if (string(scheduledDeletion)) notes.push(`Cloudflare deletes it on ${string(scheduledDeletion)}.`)
  if (string(object(watermark).uid)) notes.push('The watermark is part of the picture.')
  return notes
}

function missing(video: Video): string | null {
  const state = stateOf(video)
  if (state === 'pendingupload') return 'The video has no file.'
  if (state.startsWith('live')) return 'The live stream is on air. Import it again when it has ended.'
  if (state !== 'error') return null
  return `Cloudflare could not process the video. ${string(object(video.status).errorReasonText)}`.trim()
}

function listVideo(video: Video): ListedObject {
  const bytes = number(video.size)
  return {
    kind: 'video',
    id: string(video.uid),
    title: titleOf(video),
    version: string(video.modified) || string(video.created),
    contentVersion: '',
    // Of the original, which Cloudflare does not hand out: the MP4 is usually smaller.
    bytes: bytes === null || bytes <= 0 ? null : bytes,
    seconds: durationOf(video),
    details: { createdAt: string(video.created) },
  }
}
