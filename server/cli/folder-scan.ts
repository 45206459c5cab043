import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import {
  type ExportedKind,
  exportedName,
  readExportedFile,
  readExportedObject,
  readExportedSummary,
  readExportedTracks,
} from '../imports/services/exported-objects.ts'
import { isMediaFile, readTrackName } from '../imports/services/file-names.ts'
import { titleOfFile } from '../media/file-title.ts'
import { CommandError } from './errors.ts'
import { checkFile, type LocalFile } from './local-file.ts'

export type FolderObject = {
  kind: 'video' | 'player' | 'liveStream'
  sourceId: string
  title: string
  version: string
  contentVersion: string
  bytes?: number
  details: Record<string, unknown>
  /** Of a player theme. */
  logo?: string | undefined
}

type Track = { kind: 'captions' | 'chapters'; language: string; path: string; isDefault: boolean }

export type FolderVideo = FolderObject & {
  file: LocalFile
  tracks: Track[]
  thumbnail: string | undefined
  summary: object | undefined
}

/** The files of a folder by its path. */
type Files = Map<string, string[]>

/** The videos of a folder, and what an export has beside them. */
export async function scanFolder(root: string): Promise<{ videos: FolderVideo[]; others: FolderObject[] }> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error) => {
    throw new CommandError(`${root} cannot be read: ${error.message}.`)
  })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  const files: Files = Map.groupBy(paths.sort(), dirname)
  const videos: FolderVideo[] = []
  const others: FolderObject[] = []
  for (const [folder, inFolder] of files) {
    const has = (kind: ExportedKind) => inFolder.includes(join(folder, exportedName(kind)))
    if (has('video')) videos.push(...(await readExported(folder, files)))
    else if (has('player')) others.push(await readOther(folder, 'player', inFolder))
    else if (has('liveStream')) others.push(await readOther(folder, 'liveStream', inFolder))
    else for (const path of inFolder.filter(isMediaFile)) videos.push(await readPlain(root, path, inFolder))
  }
  return { videos, others: others.sort((a, b) => b.kind.localeCompare(a.kind)) }
}

/** A file with captions beside it. Its folders are tags. */
async function readPlain(root: string, path: string, siblings: string[]): Promise<FolderVideo> {
  const file = await checkFile(path)
  const tracks = siblings.flatMap((each): Track[] => {
    const track = readTrackName(each, path)
    return track ? [{ ...track, path: each, isDefault: false }] : []
  })
  const sourceId = relative(root, path).split(sep).join('/')
  const tags = sourceId.split('/').slice(0, -1)
  const trackFiles = await Promise.all(tracks.map(({ path }) => checkFile(path)))
  const title = titleOfFile(basename(path))
  return {
    ...{ kind: 'video', sourceId, title, file, tracks, thumbnail: undefined, summary: undefined },
    version: hashOf([tags, trackFiles.map(({ path, size, mtimeMs }) => [path, size, mtimeMs])]),
    contentVersion: `${file.size} ${file.mtimeMs}`,
    bytes: file.size,
    details: { title, tags },
  }
}

/** A video of an export. Empty if its file is missing. */
async function readExported(folder: string, files: Files): Promise<FolderVideo[]> {
  const content = await readJson(join(folder, exportedName('video')))
  const { id: sourceId, title, version, attributes: details } = readExportedObject('video', content)
  const name = readExportedFile(content)
  if (name === undefined || sourceId === '' || !files.get(folder)?.includes(join(folder, name))) return []
  const file = await checkFile(join(folder, name))
  const exists = ({ path }: Track) => files.get(dirname(path))?.includes(path)
  const tracks = readExportedTracks(content)
    .map((track) => ({ ...track, path: join(folder, track.path) }))
    .filter(exists)
  return [
    {
      ...{ kind: 'video', sourceId, title, file, tracks, details, version },
      thumbnail: files.get(folder)?.find((each) => basename(each) === 'thumbnail.jpg'),
      summary: readExportedSummary(content) ?? undefined,
      // Another export of the same video has files of another time.
      contentVersion: String(file.size),
      bytes: file.size,
    },
  ]
}

async function readOther(
  folder: string,
  kind: 'player' | 'liveStream',
  files: string[],
): Promise<FolderObject> {
  const content = await readJson(join(folder, exportedName(kind)))
  const { id: sourceId, title, version, attributes } = readExportedObject(kind, content)
  const { assets, ...plain } = attributes
  const link = (assets as { link?: unknown } | undefined)?.link
  return {
    ...{ kind, sourceId, title, version, contentVersion: '' },
    // The URLs are those of the service that it was exported from.
    details: { ...plain, assets: { link } },
    logo: files.find((each) => basename(each).startsWith('logo.')),
  }
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${(error as Error).message}.`)
  }
}

const hashOf = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
