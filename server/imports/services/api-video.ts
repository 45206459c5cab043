import type { ImportOptions } from '../schemas.ts'
import { describeVideo } from './api-video-describe.ts'
import { cursorAfterVideos, listPage } from './api-video-list.ts'
import { readBaseUrl } from './base-url.ts'
import { NotReady, ServiceError } from './errors.ts'
import { array, number, object, string } from './json.ts'
import { isMissing, PublishedApi, videoPath } from './published-api.ts'
import { requireField } from './require-field.ts'
import type { ImportService, KnownItem, Library, OpenedFile } from './service.ts'

const officialUrl = 'https://ws.api.video'
/** How long it takes at most until an MP4 exists that was asked for. */
const mp4PollMs = 30_000
const watermarkNote = 'The watermark is part of the picture.'

const read =
  (defaultUrl: string | undefined): ImportService['read'] =>
  (request) => {
    const url = requireField({ ...request, url: request.url ?? defaultUrl }, 'url')
    const key = requireField(request, 'key')
    return { account: readBaseUrl(url), credentials: { key } }
  }

const openWith =
  (isKinora: boolean): ImportService['open'] =>
  ({ account, options, credentials: { key = '' } }, client) =>
    new PublishedLibrary(new PublishedApi(client, { base: account, key, isKinora }), options)

/** Its files are the MP4s. */
export const apiVideo: ImportService = { keepsIds: true, read: read(officialUrl), open: openWith(false) }

/** Another installation, which has the same interface, and also the sources. */
export const kinora: ImportService = { keepsIds: true, read: read(undefined), open: openWith(true) }

/** A library behind the interface that api.video has published. */
class PublishedLibrary implements Library {
  readonly #api: PublishedApi
  readonly #options: ImportOptions

  constructor(api: PublishedApi, options: ImportOptions) {
    this.#api = api
    this.#options = options
  }

  get afterVideos(): string | null {
    return cursorAfterVideos(this.#options)
  }

  list(cursor: string | null) {
    return listPage({ api: this.#api, options: this.#options }, cursor)
  }

  describe(item: KnownItem) {
    return describeVideo({ api: this.#api, options: this.#options }, item)
  }

  async open({ id }: KnownItem, from: number, validator: string | null): Promise<OpenedFile> {
    const { source, edits } = await this.#openSource(id, from, validator)
    if (source) return source
    const video = object(await this.#api.get(videoPath(id)))
    const url = string(object(video.assets).mp4)
    if (url) {
      const response = await this.#api.asset(url, from, validator)
      return edits.includes('watermark') ? { ...response, note: watermarkNote } : response
    }
    if (video.mp4Support === true) throw new ServiceError('The video has neither a source nor an MP4.')
    await this.#api.patch(videoPath(id), { mp4Support: true })
    throw new NotReady('Waiting until the service has made the MP4.', mp4PollMs)
  }

  /** The MP4 of a video with 2160p may have 1080p. */
  async findLarger({ id }: KnownItem): Promise<string | undefined> {
    if (this.#api.isKinora) return undefined
    const status = object(await this.#api.getIfAny(`${videoPath(id)}/status`))
    const qualities = array(object(status.encoding).qualities).map(object)
    const heights = (type: string) =>
      qualities
        .filter((each) => each.type === type && each.status === 'encoded')
        .map(({ quality }) => Number.parseInt(string(quality), 10))
    const mp4 = heights('mp4')
    if (mp4.length === 0 || Math.max(...mp4) >= Math.max(...heights('hls'))) return undefined
    return string(object(object(await this.#api.get(videoPath(id))).assets).hls) || undefined
  }

  async peek({ id }: KnownItem) {
    const { source } = await this.#openSource(id, 0, null)
    if (source) return source
    const url = string(object(object(await this.#api.get(videoPath(id))).assets).mp4)
    return url ? this.#api.asset(url, 0, null) : undefined
  }

  async measure({ id }: KnownItem): Promise<{ bytes: number | null; seconds: number | null }> {
    const { ingest, encoding } = object(await this.#api.get(`${videoPath(id)}/status`))
    const { duration } = object(object(encoding).metadata)
    return { bytes: number(object(ingest).filesize), seconds: number(duration) }
  }

  /** Without a source if it was dropped, or if viewers see something else: then `edits` says why. */
  async #openSource(
    id: string,
    from: number,
    validator: string | null,
  ): Promise<{ source?: OpenedFile; edits: string }> {
    if (!this.#api.isKinora) return { edits: '' }
    try {
      const response = await this.#api.file(`${videoPath(id)}/source`, from, validator)
      const edits = response.headers['kinora-source-edits']
      if (edits === undefined) return { source: response, edits: '' }
      response.cancel()
      return { edits: String(edits) }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return { edits: '' }
  }
}
