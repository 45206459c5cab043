import type { GuardedResponse } from '../../lib/fetch/exchange.ts'
import type { Metadata } from '../../videos/tables.ts'
import type { ObjectKind } from '../kinds.ts'
import type { ImportOptions, ImportRequest } from '../schemas.ts'
import type { ServiceClient } from './client.ts'

/** Strings by name, such as `key`. They are stored encrypted. */
export type Credentials = Record<string, string>

/**
 * Another service that videos are imported from. One file of this folder implements it, and `services.ts` lists it.
 * Everything it returns may be hostile: the caller checks lengths and formats.
 */
export type ImportService = {
  /** Whether the objects keep their ids unless the request says otherwise. */
  keepsIds: boolean
  /** What to store of a request: the name of the library and the secrets. Throws an `ApiError` that names the field. */
  read(request: ImportRequest): { account: string; credentials: Credentials }
  open(
    run: { account: string; options: ImportOptions; credentials: Credentials },
    client: ServiceClient,
  ): Library
}

/** The library of a run, at the service. */
export type Library = {
  /** One page of the list, from `cursor` on; null is the beginning. The order must not change between the pages. */
  list(cursor: string | null): Promise<{ items: ListedObject[]; next: string | null }>
  /** The cursor of what the list has after the videos. */
  afterVideos?: string | null
  /** All that is known about a video but its file. */
  describe(item: KnownItem): Promise<VideoDescription>
  /** All that is known about an object other than a video, if the list does not tell. */
  detailsOf?(item: KnownItem): Promise<Record<string, unknown>>
  /** The URL of an HLS playlist whose best quality has more pixels than the file of `open`. Undefined if there is none. */
  findLarger?(item: KnownItem): Promise<string | undefined>
  /** The file of a video from this byte on. See `requestFile`. */
  open(item: KnownItem, from: number, validator: string | null): Promise<OpenedFile>
  /** Size and duration of a video, if the list does not tell. */
  measure?(item: KnownItem): Promise<{ bytes: number | null; seconds: number | null }>
  /** As `open`, but nothing changes at the service. Undefined if the service has to prepare the file. */
  peek?(item: KnownItem): Promise<GuardedResponse | undefined>
}

/** `note`: what the owner should know about this file. */
export type OpenedFile = GuardedResponse & { note?: string }

export type ListedObject = {
  kind: ObjectKind
  id: string
  title: string
  /** Changes with the attributes of the object. */
  version: string
  /** Changes with the file of a video. Empty if the service never replaces files. */
  contentVersion: string
  bytes: number | null
  seconds: number | null
  /** What the other functions need: for objects other than videos, all of it. */
  details: Record<string, unknown>
}

export type KnownItem = Pick<ListedObject, 'kind' | 'id' | 'title' | 'details'>

export type Track = { language: string; isDefault: boolean; url: string; headers?: Record<string, string> }

export type VideoDescription = {
  title: string
  description: string
  tags: string[]
  metadata: Metadata[]
  public: boolean
  panoramic: boolean
  mp4Support: boolean
  playableDuringUpload: boolean | null
  language: string | null
  createdAt: Date | null
  /** The id of a player theme at the service. */
  playerId: string | null
  captions: Track[]
  chapters: Track[]
  /** The URL of an image. */
  thumbnail: string | null
  summary: { abstract: string; takeaways: string[] } | null
  notes: string[]
  /** Why there is no file to fetch. */
  missing: string | null
}
