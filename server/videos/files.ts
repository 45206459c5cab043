import { randomUUID } from 'node:crypto'

/**
 * The keys of a video's files in the file store:
 *
 *     videos/{id}/source                                  the source
 *     videos/{id}/watermark.png                           the watermark that the video was created with
 *     videos/{id}/copy/source.mkv                         a seekable copy of the source, while it is encoded
 *     videos/{id}/hls/{rendition}/{first}-{uuid}/{n}.m4s  segments
 *     videos/{id}/mp4/{content}-{uuid}.mp4                the MP4
 *     videos/{id}/pictures/{content}-{uuid}.jpg           thumbnails
 *     videos/{id}/pictures/sprites-{uuid}/{sheet}.jpg     sprite sheets
 *
 * A file never changes under its key. The random part lets a retry write while an abandoned attempt is still writing.
 */
export const videosFolder = 'videos'

export const videoFolder = (videoId: string) => `${videosFolder}/${videoId}`

export const sourceKey = (videoId: string) => `${videoFolder(videoId)}/source`

/** A copy, so that the original can be deleted. */
export const watermarkKey = (videoId: string) => `${videoFolder(videoId)}/watermark.png`

export const sourceCopyFolder = (videoId: string) => `${videoFolder(videoId)}/copy`
export const sourceCopyKey = (videoId: string) => `${sourceCopyFolder(videoId)}/source.mkv`

export const hlsFolder = (videoId: string) => `${videoFolder(videoId)}/hls`

/** The key of a row of segments. `rendition` is a quality or `sound`. */
export const newSegmentsKey = (videoId: string, rendition: string, firstSegment: number) =>
  `${hlsFolder(videoId)}/${rendition}/${firstSegment}-${randomUUID()}`

/**
 * Each segment is a file below the key of its row: a proxy or a URL of the store can deliver a file, but not a part of
 * one, and caches work best with entire files. `position` is the index in the sizes of the row.
 */
export const segmentFile = (key: string, position: number) => `${key}/${position}.m4s`

/** The number of segments below each key. */
export type SegmentCounts = Record<string, number>

/** The key of the row that a segment belongs to, and whether the row says that the segment exists. */
export function findSegmentRow(file: string, counts: SegmentCounts): { key: string; isRecorded: boolean } {
  const [, key = file, position = ''] = /^(.*)\/(\d+)\.m4s$/.exec(file) ?? []
  return { key, isRecorded: Object.hasOwn(counts, key) && Number(position) < counts[key]! }
}

export const mp4Folder = (videoId: string) => `${videoFolder(videoId)}/mp4`

/** Starts the key of every MP4 with this content. */
export const mp4Prefix = (videoId: string, quality: string, hasSound: boolean) =>
  `${mp4Folder(videoId)}/${quality}-${hasSound ? 'sound' : 'silent'}-`
export const newMp4Key = (prefix: string) => `${prefix}${randomUUID()}.mp4`

export const thumbnailFolder = (videoId: string) => `${videoFolder(videoId)}/pictures`

/** Starts the key of every thumbnail with this content. */
export const thumbnailPrefix = (videoId: string, content: string) => `${thumbnailFolder(videoId)}/${content}-`
export const newThumbnailKey = (prefix: string) => `${prefix}${randomUUID()}.jpg`

/** The key of a set of sprite sheets. */
export const newSpritesKey = (videoId: string) => `${thumbnailFolder(videoId)}/sprites-${randomUUID()}`
export const spriteSheetFile = (spritesKey: string, sheet: number) => `${spritesKey}/${sheet}.jpg`

/** The key that rows refer to: of a thumbnail its own, of a sprite sheet that of its set. */
export function knownThumbnailKeyOf(videoId: string, file: string): string {
  const folder = thumbnailFolder(videoId)
  return `${folder}/${file.slice(folder.length + 1).split('/', 1)[0]}`
}

export type FileKind = 'source' | 'watermark.png' | 'copy' | 'hls' | 'mp4' | 'pictures'

const kinds: readonly string[] = [
  'source',
  'watermark.png',
  'copy',
  'hls',
  'mp4',
  'pictures',
] satisfies FileKind[]

/** Undefined for a file that this service does not create. */
export function kindOfFile(videoId: string, key: string): FileKind | undefined {
  const [kind = ''] = key.slice(videoFolder(videoId).length + 1).split('/', 1)
  return kinds.includes(kind) ? (kind as FileKind) : undefined
}
