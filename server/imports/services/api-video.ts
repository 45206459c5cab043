import type { Part } from '../kinds.ts'
import type { ImportOptions } from '../schemas.ts'
import { readBaseUrl } from './base-url.ts'
import type { ServiceClient } from './client.ts'
import { NotReady, ServiceError } from './errors.ts'
import { describeExported } from './exported-video.ts'
import { array, bool, number, object, string } from './json.ts'
import { requireField } from './require-field.ts'
import type {
  ImportService,
  KnownItem,
  Library,
  ListedObject,
  OpenedFile,
  Track,
  VideoDescription,
} from './service.ts'

const officialUrl = 'https://ws.api.video'
const pageSize = 100
/** How long it takes at most until an MP4 exists that was asked for. */
const mp4PollMs = 30_000

const read =
  (defaultUrl: string | undefined): ImportService['read'] =>
  (request) => {
    const url = requireField({ ...request, url: request.url ?? defaultUrl }, 'url')
    const key = requireField(request, 'key')
    return { account: readBaseUrl(url), credentials: { key } }
  }

const openWith =
  (hasSources: boolean): ImportService['open'] =>
  ({ account, options, credentials }, client) =>
    new PublishedApi({ base: account, key: credentials.key ?? '', client, options, hasSources })

/** Its files are the MP4s. */
export const apiVideo: ImportService = { keepsIds: true, read: read(officialUrl), open: openWith(false) }

/** Another installation, which has the same interface, and also the sources. */
export const kinora: ImportService = { keepsIds: true, read: read(undefined), open: openWith(true) }

/** What is listed, in this order. `part` is asked for by the owner. */
const lists = [
  { kind: 'player', path: '/players', part: 'players', id: 'playerId', title: 'name' },
  { kind: 'video', path: '/videos', part: undefined, id: 'videoId', title: 'title' },
  { kind: 'liveStream', path: '/live-streams', part: 'liveStreams', id: 'liveStreamId', title: 'name' },
  { kind: 'webhook', path: '/webhooks', part: 'webhooks', id: 'webhookId', title: 'url' },
] as const

const watermarkNote = 'The watermark is part of the picture.'
const unknownWatermarkNote =
  'The service has watermarks, and does not tell which videos have one. It would be part of the picture.'
const smallerNote = 'The MP4, which was imported, has a lower resolution than the HLS version at the service.'

type Settings = {
  base: string
  key: string
  client: ServiceClient
  options: ImportOptions
  hasSources: boolean
}

/** A library behind the interface that api.video has published. */
class PublishedApi implements Library {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #client: ServiceClient
  readonly #options: ImportOptions
  readonly #hasSources: boolean

  constructor({ base, key, client, options, hasSources }: Settings) {
    this.#base = base
    this.#headers = { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
    this.#client = client
    this.#options = options
    this.#hasSources = hasSources
  }

  get afterVideos(): string | null {
    const next = this.#lists[this.#lists.findIndex(({ kind }) => kind === 'video') + 1]
    return next ? `${next.kind} 1` : null
  }

  get #lists() {
    return lists.filter(({ part }) => part === undefined || this.#wants(part))
  }

  async list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }> {
    const wanted = this.#lists
    const [kind, pageText = '1'] = (cursor ?? '').split(' ')
    const at = Math.max(
      0,
      wanted.findIndex((each) => each.kind === kind),
    )
    const { path, ...list } = wanted[at]!
    const page = Number(pageText)
    const query = new URLSearchParams({ currentPage: String(page), pageSize: String(pageSize) })
    if (list.kind !== 'webhook') {
      query.set('sortBy', 'createdAt')
      query.set('sortOrder', 'asc')
    }
    if (list.kind === 'video') {
      for (const tag of this.#options.tags ?? []) query.append('tags[]', tag)
      if (this.#hasSources) for (const part of ['status', 'texts']) query.append('include[]', part)
    }
    const { data, pagination } = object(await this.#get(`${path}?${query}`))
    const found = array(data).map(object)
    const listed = found.map((each) => listObject(list, each, this.#hasSources))
    const items = list.kind === 'video' ? await this.#noteWatermarks(listed) : listed
    const isLast = found.length < pageSize || page >= (number(object(pagination).pagesTotal) ?? page)
    if (!isLast) return { items, next: `${list.kind} ${page + 1}` }
    const following = wanted[at + 1]
    return { items, next: following ? `${following.kind} 1` : null }
  }

  async describe({ id, details }: KnownItem): Promise<VideoDescription> {
    const path = videoPath(id)
    const video = this.#isEnough(id, details) ? details : object(await this.#get(path + this.#included))
    // Kinora tells which texts there are, which saves requests.
    const { captions, chapters, summary } = object(video.texts)
    const isNone = (value: unknown) => value === false || (Array.isArray(value) && value.length === 0)
    const [captionTracks, chapterTracks, text, notes] = await Promise.all([
      isNone(captions) ? [] : this.#tracks(path, 'captions'),
      isNone(chapters) ? [] : this.#tracks(path, 'chapters'),
      isNone(summary) ? null : this.#summary(id),
      this.#notes(id, video, details),
    ])
    return {
      ...describeExported(string(video.title), video),
      captions: captionTracks,
      chapters: chapterTracks,
      thumbnail: this.#thumbnailOf(video),
      summary: text,
      notes,
      missing: object(video.status).state === 'missing' ? 'The video has no file.' : null,
    }
  }

  async open({ id }: KnownItem, from: number, validator: string | null) {
    const { source, edits } = await this.#openSource(id, from, validator)
    if (source) return source
    const video = object(await this.#get(videoPath(id)))
    const url = string(object(video.assets).mp4)
    if (url) {
      const response = await this.#client.file(url, from, validator)
      return edits.includes('watermark') ? { ...response, note: watermarkNote } : response
    }
    await this.#requestMp4(id, video)
    throw new NotReady('Waiting until the service has made the MP4.', mp4PollMs)
  }

  async peek({ id }: KnownItem) {
    const { source } = await this.#openSource(id, 0, null)
    if (source) return source
    const url = string(object(object(await this.#get(videoPath(id))).assets).mp4)
    return url ? this.#client.file(url, 0, null) : undefined
  }

  async measure({ id }: KnownItem): Promise<{ bytes: number | null; seconds: number | null }> {
    const { ingest, encoding } = object(await this.#get(`${videoPath(id)}/status`))
    const { duration } = object(object(encoding).metadata)
    return { bytes: number(object(ingest).filesize), seconds: number(duration) }
  }

  /** What Kinora has listed is all of a video, but the URLs of a private one can be used only once. */
  #isEnough(id: string, details: Record<string, unknown>): boolean {
    if (!this.#hasSources || details.videoId !== id) return false
    return details.public === true || !this.#wants('thumbnails') || !hasThumbnail(details)
  }

  #thumbnailOf(video: Record<string, unknown>): string | null {
    if (!this.#wants('thumbnails') || !hasThumbnail(video)) return null
    return string(object(video.assets).thumbnail) || null
  }

  get #included(): string {
    return this.#hasSources ? '?include[]=status&include[]=texts' : ''
  }

  /** Without a source if it was dropped, or if viewers see something else: then `edits` says why. */
  async #openSource(
    id: string,
    from: number,
    validator: string | null,
  ): Promise<{ source?: OpenedFile; edits: string }> {
    if (!this.#hasSources) return { edits: '' }
    const url = `${this.#base}${videoPath(id)}/source`
    try {
      const response = await this.#client.file(url, from, validator, this.#headers)
      const edits = response.headers['kinora-source-edits']
      if (edits === undefined) return { source: response, edits: '' }
      response.cancel()
      return { edits: String(edits) }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return { edits: '' }
  }

  async #requestMp4(id: string, video: Record<string, unknown>): Promise<void> {
    if (video.mp4Support === true) throw new ServiceError('The video has neither a source nor an MP4.')
    await this.#client.json(this.#base + videoPath(id), {
      method: 'PATCH',
      headers: this.#headers,
      body: { mp4Support: true },
    })
  }

  async #tracks(path: string, kind: 'captions' | 'chapters'): Promise<Track[]> {
    if (!this.#wants(kind)) return []
    const { data } = object(await this.#get(`${path}/${kind}?pageSize=${pageSize}`))
    return array(data)
      .map(object)
      .map((track) => ({
        language: string(track.srclang) || string(track.language),
        isDefault: bool(track.default, false),
        url: string(track.src),
      }))
  }

  async #summary(id: string): Promise<VideoDescription['summary']> {
    if (!this.#wants('summaries')) return null
    try {
      const { data } = object(await this.#get(`/summaries?videoId=${encodeURIComponent(id)}`))
      const [summary] = array(data).map(object)
      if (summary?.sourceStatus !== 'completed') return null
      const path = `/summaries/${encodeURIComponent(string(summary.summaryId))}/source`
      const { abstract, takeaways } = object(await this.#get(path))
      return { abstract: string(abstract), takeaways: array(takeaways).map(string) }
    } catch (error) {
      // The account may not have summaries.
      if (isStatus(error)) return null
      throw error
    }
  }

  async #notes(
    id: string,
    video: Record<string, unknown>,
    details: Record<string, unknown>,
  ): Promise<string[]> {
    const notes: string[] = []
    const { type, liveStream } = object(video.source)
    if (type === 'liveStream')
      notes.push(`A recording of the live stream ${string(object(liveStream).liveStreamId)}.`)
    if (!this.#hasSources && video.mp4Support === false)
      notes.push('mp4Support was switched on at the service.')
    if (details.mayHaveWatermark === true) notes.push(unknownWatermarkNote)
    if (!this.#hasSources && (await this.#isMp4Smaller(id))) notes.push(smallerNote)
    if (this.#wants('views')) notes.push(...(await this.#views(id)))
    return notes
  }

  /** Kinora tells it with the source. At api.video, only the account shows whether there are watermarks at all. */
  async #noteWatermarks(items: ListedObject[]): Promise<ListedObject[]> {
    if (this.#hasSources) return items
    const found = object(await this.#get('/watermarks?pageSize=1').catch(ignoreStatus))
    if (array(found.data).length === 0) return items
    return items.map((item) => ({ ...item, details: { ...item.details, mayHaveWatermark: true } }))
  }

  async #isMp4Smaller(id: string): Promise<boolean> {
    const status = object(await this.#get(`${videoPath(id)}/status`).catch(ignoreStatus))
    const qualities = array(object(status.encoding).qualities).map(object)
    const heights = (type: string) =>
      qualities
        .filter((each) => each.type === type && each.status === 'encoded')
        .map(({ quality }) => Number.parseInt(string(quality), 10))
    const mp4 = heights('mp4')
    return mp4.length > 0 && Math.max(...mp4) < Math.max(...heights('hls'))
  }

  async #views(id: string): Promise<string[]> {
    try {
      const query = new URLSearchParams({ 'filterBy[mediaId]': id })
      const { data } = object(await this.#get(`/data/metrics/play/total?${query}`))
      return [`${number(data) ?? 0} plays at the service until ${new Date().toISOString().slice(0, 10)}.`]
    } catch (error) {
      // The account may not have analytics.
      if (isStatus(error)) return []
      throw error
    }
  }

  #wants(part: Part): boolean {
    return this.#options.include.includes(part)
  }

  #get(path: string): Promise<unknown> {
    return this.#client.json(this.#base + path, { headers: this.#headers })
  }
}

const videoPath = (id: string) => `/videos/${encodeURIComponent(id)}`

/** The service has answered, but not with what was asked for. */
const isStatus = (error: unknown) =>
  error instanceof ServiceError && error.status !== undefined && error.status < 500

/** What is missing is not worth a retry. */
function ignoreStatus(error: unknown): undefined {
  if (isStatus(error)) return undefined
  throw error
}

const isMissing = (error: unknown) => error instanceof ServiceError && error.status === 404

/** Kinora tells whether the thumbnail is only a placeholder. */
const hasThumbnail = ({ status }: Record<string, unknown>) =>
  status === undefined || object(status).thumbnailVersion !== null

function listObject(
  { kind, id: idName, title }: Pick<(typeof lists)[number], 'kind' | 'id' | 'title'>,
  found: Record<string, unknown>,
  isComplete: boolean,
): ListedObject {
  const id = string(found[idName]) || string(found.id)
  const isVideo = kind === 'video'
  return {
    kind,
    id,
    title: string(found[title]),
    version: string(found.updatedAt) || string(found.createdAt),
    contentVersion: '',
    bytes: null,
    seconds: isVideo ? number(object(found.status).duration) : null,
    details: isVideo ? detailsOf(found, isComplete) : found,
  }
}

/** Without the URLs of a private video, which contain tokens. */
function detailsOf(video: Record<string, unknown>, isComplete: boolean): Record<string, unknown> {
  if (!isComplete) return { createdAt: video.createdAt, tags: video.tags }
  const { assets, ...rest } = video
  return video.public === true ? { ...rest, assets } : rest
}
