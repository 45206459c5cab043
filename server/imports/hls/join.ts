import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { FetchError } from '../../lib/fetch/errors.ts'
import { runFfmpeg } from '../../media/ffmpeg.ts'
import { joinArgs } from '../../media/join.ts'
import { copyLimits } from '../../media/limits.ts'
import type { WorkerContext } from '../../slice.ts'
import type { Run } from '../run-store.ts'
import type { ServiceClient } from '../services/client.ts'
import { ServiceError } from '../services/errors.ts'
import { slowDown } from '../slow-down.ts'
import { readMaster, readMedia } from './playlist.ts'

type Work = { context: WorkerContext; client: ServiceClient; run: Run; signal: AbortSignal }

const maxPlaylistBytes = 16 * 1024 * 1024
/** As for other files whose size nobody tells. */
const maxBytes = 100 * 1024 ** 3
const maxAttempts = 5

/**
 * Fetches the best quality of an HLS version, and writes it into one MP4 in the folder, without encoding. The folder needs
 * room for twice its size. Throws ServiceError for a version that is none or cannot be joined, and the error of ffmpeg.
 */
export async function joinHls(work: Work, url: string, folder: string): Promise<string> {
  const { context, signal } = work
  const read = async (at: string) => (await work.client.bytes(at, maxPlaylistBytes)).toString()
  const master = readMaster(await read(url), url)
  const fetchAll = async (name: string, playlist: string) => {
    const path = join(folder, name)
    await fetchSegments(work, readMedia(await read(playlist), playlist), path)
    return path
  }
  const video = await fetchAll('video', master.video)
  const audio = master.audio === undefined ? undefined : await fetchAll('audio', master.audio)
  const output = join(folder, 'joined.mp4')
  const limits = copyLimits((await stat(video)).size)
  // ffmpeg moves the entire file to put the index in front, and reports no progress meanwhile.
  await runFfmpeg(context.tools, joinArgs({ video, audio, output }), { signal, limits, stallFactor: 20 })
  for (const path of [video, audio]) if (path !== undefined) await rm(path)
  return output
}

async function fetchSegments(work: Work, urls: string[], path: string): Promise<void> {
  await using file = await open(path, 'wx')
  let end = 0
  for (const url of urls) {
    work.context.space.checkNew()
    end = await fetchSegment(work, url, file, end)
  }
}

/** Writes a segment to this place of the file. Returns where it ends. */
async function fetchSegment(work: Work, url: string, file: FileHandle, from: number): Promise<number> {
  const { context, client, run, signal } = work
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await client.file(url, 0, null)
      let end = from
      try {
        for await (const bytes of slowDown(context, run, response.body)) {
          await file.write(bytes, 0, bytes.length, end)
          end += bytes.length
          if (end > maxBytes) throw new ServiceError('The HLS version is too large.')
        }
      } finally {
        response.cancel()
      }
      await file.truncate(end)
      return end
    } catch (error) {
      if (!(error instanceof FetchError) || !error.isRetryable || attempt === maxAttempts) throw error
      await delay(1_000 * 2 ** attempt, undefined, { signal })
    }
  }
}
