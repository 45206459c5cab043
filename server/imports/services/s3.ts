import { invalidAttribute } from '../../lib/errors.ts'
import { inParallel } from '../../lib/parallel.ts'
import { titleOfFile } from '../../media/file-title.ts'
import type { Part } from '../kinds.ts'
import type { ImportOptions } from '../schemas.ts'
import { Bucket, type StoredObject } from './bucket.ts'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'
import {
  type ExportedKind,
  exportedKind,
  exportedName,
  readExportedFile,
  readExportedObject,
  readExportedSummary,
  readExportedTracks,
} from './exported-objects.ts'
import { describeExported } from './exported-video.ts'
import { describeFile } from './file-description.ts'
import { isMediaFile, isTextFile, readTrackName, type TrackName } from './file-names.ts'
import { number, object, string } from './json.ts'
import { requireField } from './require-field.ts'
import type { ImportService, KnownItem, Library, ListedObject, Track, VideoDescription } from './service.ts'

const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/
/** Texts of a video that are longer than the API accepts are cut later. */
const maxJsonBytes = 4 * 1024 * 1024
/** How many descriptions of a page are read at the same time. */
const readsAtOnce = 8

/**
 * Files of a bucket: folders become tags, captions beside a file are carried over. What `kinora export` has written there
 * keeps its ids.
 */
export const s3: ImportService = {
  keepsIds: true,
  read(request) {
    const location = requireField(request, 'location')
    const [, bucket] = pattern.exec(location) ?? []
    if (!bucket) throw invalidAttribute('location', '"location" must be a bucket, such as s3://films/2026.')
    const { url } = request
    const endpoint = url === undefined ? 'aws' : URL.parse(url)?.origin
    if (!endpoint) throw invalidAttribute('url', '"url" must be the http or https URL of the store.')
    const credentials = { key: requireField(request, 'key'), secret: requireField(request, 'secret') }
    return { account: `${endpoint}/${bucket}`, credentials }
  },
  open({ options, credentials: { key = '', secret = '' } }, client) {
    const [, bucket = '', prefix = ''] = pattern.exec(options.location ?? '') ?? []
    const { url, region } = options
    return new BucketLibrary(new Bucket({ url, region, key, secret, bucket }, client), {
      ...{ prefix, options, client },
    })
  },
}

type FileDetails = { tracks: (TrackName & { key: string })[]; tags: string[] }
/** `folder` ends with a slash, and `file` is a name in it. */
type ExportedDetails = { folder: string; file?: string; createdAt?: unknown; tags?: unknown }

type Settings = { prefix: string; options: ImportOptions; client: ServiceClient }

class BucketLibrary implements Library {
  readonly #bucket: Bucket
  readonly #prefix: string
  readonly #options: ImportOptions
  readonly #client: ServiceClient

  constructor(bucket: Bucket, { prefix, options, client }: Settings) {
    this.#bucket = bucket
    this.#prefix = prefix
    this.#options = options
    this.#client = client
  }

  /**
   * The cursor is the last key. Before the first one, the player themes of an export are listed, because its live streams
   * and videos refer to them.
   */
  async list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }> {
    const players = `${this.#prefix.replace(/(?<=[^/])$/, '/')}players/`
    const isPlayers = cursor === null || cursor.startsWith(playersCursor)
    const after = isPlayers ? (cursor ?? playersCursor).slice(playersCursor.length) : cursor
    const { objects, isLast } = await this.#bucket.list(isPlayers ? players : this.#prefix, after)
    const items = await this.#listed(
      isPlayers ? objects : objects.filter(({ key }) => !key.startsWith(players)),
    )
    const last = objects.at(-1)?.key ?? ''
    if (isPlayers) return { items, next: isLast ? '' : playersCursor + last }
    return { items, next: isLast ? null : last }
  }

  async describe(item: KnownItem): Promise<VideoDescription> {
    const { folder } = item.details as Partial<ExportedDetails>
    return folder === undefined ? this.#describeFile(item) : this.#describeExported(item, folder)
  }

  async detailsOf({ kind, details }: KnownItem): Promise<Record<string, unknown>> {
    const { folder, file } = details as ExportedDetails
    const content = kind === 'player' || kind === 'liveStream' ? await this.#read(folder, kind) : undefined
    if (!content) throw new ServiceError(`The file in ${folder} has disappeared.`)
    const { link } = object(content.assets)
    // The other URLs are those of the service that it was exported from.
    const logo = file === undefined ? undefined : await this.#bucket.sign(folder + file)
    return { ...content, assets: { link, logo } }
  }

  async open({ id, details }: KnownItem, from: number, validator: string | null) {
    const { folder, file } = details as Partial<ExportedDetails>
    const key = folder === undefined ? id : `${folder}${file}`
    return this.#client.file(await this.#bucket.sign(key), from, validator)
  }

  async #listed(objects: StoredObject[]): Promise<ListedObject[]> {
    const exported = new Map<string, ListedObject>()
    await inParallel(objects, readsAtOnce, async ({ key }) => {
      const kind = this.#kindOf(key)
      const item = kind && (await this.#listExported(kind, folderOf(key), objects))
      if (item) exported.set(key, item)
    })
    const folders = new Set([...exported.keys()].map(folderOf))
    const keys = objects.map(({ key }) => key)
    const texts = keys.filter(isTextFile)
    // What describes the files of the last folder may be on the next page.
    const lastFolder = folderOf(keys.at(-1) ?? '')
    const hasSource = keys.some((key) => key.startsWith(`${lastFolder}source.`))
    if (hasSource && !folders.has(lastFolder) && (await this.#listExported('video', lastFolder, [])))
      folders.add(lastFolder)
    return objects.flatMap((each) => {
      const item = exported.get(each.key)
      if (item) return [item]
      return isMediaFile(each.key) && !folders.has(folderOf(each.key)) ? [this.#listFile(each, texts)] : []
    })
  }

  #kindOf(key: string): ExportedKind | undefined {
    const kind = exportedKind(key)
    if (kind === 'player' && !this.#wants('players')) return undefined
    if (kind === 'liveStream' && !this.#wants('liveStreams')) return undefined
    return kind
  }

  /** Undefined if the file is none of an export. */
  async #listExported(
    kind: ExportedKind,
    folder: string,
    objects: StoredObject[],
  ): Promise<ListedObject | undefined> {
    const content = await this.#read(folder, kind)
    if (!content) return undefined
    const { id, title, version, attributes } = readExportedObject(kind, content)
    if (id === '') return undefined
    const logo = objects.find(({ key }) => key.startsWith(`${folder}logo.`))?.key.slice(folder.length)
    const file = kind === 'video' ? readExportedFile(content) : logo
    const size = objects.find(({ key }) => key === folder + file)?.size ?? null
    const { createdAt, tags, status } = attributes
    const details: ExportedDetails = { folder, ...(file !== undefined && { file }), createdAt, tags }
    const seconds = kind === 'video' ? number(object(status).duration) : null
    return {
      kind,
      id,
      title,
      version,
      contentVersion: '',
      bytes: kind === 'video' ? size : null,
      seconds,
      details,
    }
  }

  #describeFile({ title, details }: KnownItem): Promise<VideoDescription> {
    const { tracks, tags } = details as FileDetails
    return this.#withTracks(
      { ...describeFile(title), tags },
      tracks.map((track) => ({ ...track, isDefault: false })),
    )
  }

  /** A file beside which nothing describes it. */
  #listFile({ key, etag, size }: StoredObject, texts: string[]): ListedObject {
    const tracks = texts.flatMap((each) => {
      const track = readTrackName(each, key)
      return track ? [{ ...track, key: each }] : []
    })
    const [name = key, ...folders] = key.slice(this.#prefix.length).split('/').reverse()
    const tags = folders.reverse().filter((folder) => folder !== '')
    return {
      kind: 'video',
      id: key,
      title: titleOfFile(name),
      version: [etag, ...tracks.map((each) => each.key)].join(' '),
      contentVersion: etag,
      bytes: size,
      seconds: null,
      details: { tracks, tags } satisfies FileDetails,
    }
  }

  async #describeExported({ title }: KnownItem, folder: string): Promise<VideoDescription> {
    const content = await this.#read(folder, 'video')
    if (!content) throw new ServiceError(`${folder}${exportedName('video')} has disappeared.`)
    const { attributes } = readExportedObject('video', content)
    const hasThumbnail = string(object(attributes.status).thumbnailVersion) !== ''
    const found: VideoDescription = {
      ...describeExported(title, attributes),
      thumbnail:
        hasThumbnail && this.#wants('thumbnails') ? await this.#bucket.sign(`${folder}thumbnail.jpg`) : null,
      summary: this.#wants('summaries') ? readExportedSummary(content) : null,
      missing: readExportedFile(content) === undefined ? 'The video has no file.' : null,
    }
    return this.#withTracks(
      found,
      readExportedTracks(content).map((track) => ({ ...track, key: folder + track.path })),
    )
  }

  async #withTracks(
    found: VideoDescription,
    tracks: (TrackName & { key: string; isDefault: boolean })[],
  ): Promise<VideoDescription> {
    const of = (kind: TrackName['kind']): Promise<Track[]> =>
      Promise.all(
        tracks
          .filter((each) => each.kind === kind)
          .map(async ({ key, language, isDefault }) => ({
            language,
            isDefault,
            url: await this.#bucket.sign(key),
          })),
      )
    return { ...found, captions: await of('captions'), chapters: await of('chapters') }
  }

  /** The file that describes an exported object. Undefined if there is none. */
  async #read(folder: string, kind: ExportedKind): Promise<Record<string, unknown> | undefined> {
    const key = folder + exportedName(kind)
    const bytes = await this.#bucket.read(key, maxJsonBytes).catch((error) => {
      if (error instanceof ServiceError && error.status === 404) return undefined
      throw error
    })
    try {
      return bytes && object(JSON.parse(bytes.toString()))
    } catch {
      return undefined
    }
  }

  #wants(part: Part): boolean {
    return this.#options.include.includes(part)
  }
}

/** Begins the cursor of the list of player themes. */
const playersCursor = 'players\n'

/** With a slash at its end. */
const folderOf = (key: string) => key.slice(0, key.lastIndexOf('/') + 1)
