import type { Readable } from 'node:stream'
import { FileNotFoundError, type Files, isKey } from '../lib/files/files.ts'
import { liveFolder } from '../live/state/files.ts'
import { sourceKey, videosFolder } from '../videos/files.ts'
import { watermarksFolder } from '../watermarks/files.ts'
import type { Entry } from './entries.ts'

/** A file to back up. */
export type Source = Omit<Entry, 'size' | 'sha256'> & {
  /** Undefined if it was removed. */
  findSize(): Promise<number | undefined>
  /** Rejects with FileNotFoundError if it was removed. */
  read(): Promise<Readable>
}

export type Group = { name: string; sources: Source[] }

/** A chunk of an unfinished upload according to the database. */
export type ChunkRow = { videoId: string; position: number; handle: string; size: number; place: string }

export const chunkRowsQuery = `
  select s.video_id as "videoId", p.position::float8 as position, s.handle, p.size::float8 as size, p.place
  from sources s join source_pieces p on p.video_id = s.video_id
  where s.state in ('receiving', 'received') and p.place is not null and p.size > 0
  order by s.handle collate "C", p.position`

/** In the order of groups. */
const folders = [liveFolder, 'uploads', videosFolder, watermarksFolder].sort()

const namesAtOnce = 1_000

/** Everything that the store has and a restored service needs, group by group, sorted. */
export async function* listSources(files: Files, chunks: ChunkRow[]): AsyncGenerator<Group> {
  for (const folder of folders) {
    if (folder === 'uploads') {
      yield* groupChunks(files, chunks)
      continue
    }
    let after = ''
    for (;;) {
      const names = await files.listNames(folder, after, namesAtOnce)
      for (const name of names.map((each) => `${folder}/${each}`).filter(isKey))
        yield { name, sources: await listGroup(files, name) }
      if (names.length < namesAtOnce) break
      after = names.at(-1)!
    }
  }
}

/**
 * Files that can be replaced under their key: a source that was lost or recorded again, the copy of one, and the numbers of
 * a broadcast. Their path in the destination contains their time and size, so that an earlier backup keeps its own.
 */
const isReplaceable = (key: string) => /^videos\/\w+\/(?:source$|copy\/)|^live\/.*\.json$/.test(key)

async function listGroup(files: Files, name: string): Promise<Source[]> {
  const sources: Source[] = []
  for await (const key of files.list(name)) {
    if (!isKey(key)) continue
    const findSize = async () => (await files.stat(key))?.size
    const read = () => files.read(key)
    if (!isReplaceable(key)) {
      sources.push({ key, path: `files/${key}`, findSize, read })
      continue
    }
    const found = await files.stat(key)
    if (!found) continue
    sources.push({ key, path: `files/${key}.${found.modified.getTime()}-${found.size}`, findSize, read })
  }
  return sources
}

function* groupChunks(files: Files, chunks: ChunkRow[]): Generator<Group> {
  for (const [handle, rows] of Map.groupBy(chunks, (row) => row.handle)) {
    const sources = rows.map(({ videoId, position, size, place }): Source => {
      // A location of an S3 store contains slashes.
      const name = place.slice(place.lastIndexOf('/') + 1)
      return {
        chunk: { videoId, position },
        path: `uploads/${handle}/${name}-${size}`,
        findSize: async () => size,
        read: () => files.readChunk(handle, { location: place, size }),
      }
    })
    yield { name: `uploads/${handle}`, sources }
  }
}

/** Whether the chunks of an upload were joined before its row was updated. The source is in the backup then. */
export async function isJoined(files: Files, { chunk }: Source, error: unknown): Promise<boolean> {
  return (
    error instanceof FileNotFoundError &&
    chunk !== undefined &&
    (await files.stat(sourceKey(chunk.videoId))) !== undefined
  )
}
