import { createHash } from 'node:crypto'
import { array, object, string } from './json.ts'

// What `kinora export` writes for each video, player theme and live stream: see docs/import.md.

const names = { video: 'video.json', player: 'player.json', liveStream: 'live-stream.json' } as const
export type ExportedKind = keyof typeof names
const ids = { video: 'videoId', player: 'playerId', liveStream: 'liveStreamId' } as const

/** The kind of the object that this file describes. */
export function exportedKind(path: string): ExportedKind | undefined {
  const name = path.split('/').at(-1)
  return (Object.keys(names) as ExportedKind[]).find((kind) => names[kind] === name)
}

export const exportedName = (kind: ExportedKind): string => names[kind]

type ExportedObject = {
  /** Empty if the file is none of an export. */
  id: string
  title: string
  /** Changes with the object and the texts that belong to it. */
  version: string
  /** The object of the API. */
  attributes: Record<string, unknown>
}

export function readExportedObject(kind: ExportedKind, content: Record<string, unknown>): ExportedObject {
  const attributes = kind === 'video' ? object(content.video) : content
  const { updatedAt } = attributes
  const { thumbnailVersion } = object(attributes.status)
  const { summary, defaultCaptions, tracks } = content
  return {
    id: string(attributes[ids[kind]]),
    title: string(kind === 'video' ? attributes.title : attributes.name),
    version:
      kind === 'video'
        ? hashOf([updatedAt, thumbnailVersion, summary, defaultCaptions, tracks])
        : string(updatedAt),
    attributes,
  }
}

export type ExportedTrack = {
  kind: 'captions' | 'chapters'
  language: string
  path: string
  isDefault: boolean
}

const trackPath = /^(captions|chapters)\/([A-Za-z0-9-]{1,35})\.vtt$/

/** The captions and chapters of a video, in the order of their paths. */
export function readExportedTracks({ tracks, defaultCaptions }: Record<string, unknown>): ExportedTrack[] {
  const paths = Object.keys(object(tracks)).sort()
  return paths.flatMap((path) => {
    const [, kind, language = ''] = trackPath.exec(path) ?? []
    if (kind !== 'captions' && kind !== 'chapters') return []
    return [{ kind, language, path, isDefault: kind === 'captions' && language === defaultCaptions }]
  })
}

export function readExportedSummary(content: Record<string, unknown>) {
  const { abstract, takeaways } = object(content.summary)
  if (abstract === undefined && takeaways === undefined) return null
  return { abstract: string(abstract), takeaways: array(takeaways).map(string) }
}

/** The name of the file of a video. Undefined if it has none. */
export function readExportedFile({ file }: Record<string, unknown>): string | undefined {
  return typeof file === 'string' && /^source\.[a-z0-9]{1,10}$/.test(file) ? file : undefined
}

const hashOf = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
