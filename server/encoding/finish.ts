import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../contracts/context.ts'
import type { RenditionRow } from '../contracts/tables.ts'
import { FileMissing, type Files } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { mp4Args } from '../media/argv.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { recordEvent } from '../webhooks/events.ts'
import { workFolder } from './plan.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'now' | 'log'> & { tools: Tools }

const mp4Folder = (videoId: string) => `videos/${videoId}/mp4`

/** What comes after the last quality, and whenever `mp4Support` changes. Runs again and changes nothing. */
export async function finishEncoding(deps: Deps, { videoId }: { videoId: string }): Promise<void> {
  const wanted = await reconcile(deps, videoId)
  if (wanted === 'none') await deps.files.remove(mp4Folder(videoId))
  else if (wanted) await makeMp4(deps, wanted)
  const renditions = await store.listRenditions(deps.db, videoId)
  const streams = renditions.filter(({ type }) => type === 'hls')
  // What failed may be tried again, and needs it.
  if (streams.every(({ state }) => state === 'encoded')) await deps.files.remove(workFolder(videoId))
}

/** The MP4 that is to be made now, or none as none is wanted; undefined when there is nothing to do. */
function reconcile({ db }: Deps, videoId: string): Promise<RenditionRow | 'none' | undefined> {
  return db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, videoId)
    const video = await store.findVideo(trx, videoId)
    if (!encoding?.plan || !video) return undefined
    const renditions = await store.listRenditions(trx, videoId)
    if (!video.mp4_support) {
      await store.deleteMp4(trx, videoId)
      return 'none'
    }
    const best = renditions.findLast(({ type, state }) => type === 'hls' && state === 'encoded')
    const isReady = encoding.state === 'encoded' && best !== undefined
    const there = renditions.find(({ type }) => type === 'mp4')
    const { quality, height } = isReady ? best : { quality: encoding.plan.rungs.at(-1)!.quality, height: 0 }
    const row: RenditionRow = {
      ...{ video_id: videoId, type: 'mp4', quality, height: height || Number.parseInt(quality, 10) },
      ...{ state: isReady ? 'encoding' : 'waiting', failure: null, key: null },
    }
    if (there?.state === 'encoded') return undefined
    await store.deleteMp4(trx, videoId)
    await store.insertRenditions(trx, [row])
    return isReady ? row : undefined
  })
}

async function makeMp4(deps: Deps, rendition: RenditionRow): Promise<void> {
  const { db, files, now, log, config } = deps
  const { video_id: videoId, quality } = rendition
  const folder = join(config.dataDir, 'work', randomUUID())
  const key = `${mp4Folder(videoId)}/${randomUUID()}.mp4`
  await mkdir(folder, { recursive: true })
  try {
    const picture = join(folder, 'picture.mp4')
    await writeRendition(deps, videoId, quality, picture)
    const sound = join(folder, 'sound.mp4')
    const hasSound = await writeRendition(deps, videoId, 'sound', sound)
    const output = join(folder, 'output.mp4')
    await runFfmpeg(deps.tools, mp4Args({ picture, sound: hasSound ? sound : undefined, output }))
    await files.put(key, createReadStream(output))
  } catch (error) {
    await files.remove(key).catch(() => {})
    // What the store cannot do now is tried again; what ffmpeg cannot do it will not do later.
    if (error instanceof FileMissing) return
    if (!(error instanceof RunError) || /No space left/.test(error.stderr)) throw error
    log.warn({ err: error, videoId }, 'an MP4 could not be made')
    await store.updateRendition(db, rendition, {
      state: 'failed',
      failure: 'The MP4 could not be put together.',
    })
    return
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const isWanted = await db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, videoId)
    const there = (await store.listRenditions(trx, videoId)).find(({ type }) => type === 'mp4')
    if (!encoding || there?.state !== 'encoding' || there.quality !== quality) return false
    await store.updateRendition(trx, there, { state: 'encoded', key })
    const payload = { videoId, encoding: 'mp4', quality } as const
    await recordEvent(trx, encoding.environment, 'video.encoding.quality.completed', payload, now())
    return true
  })
  // No longer wanted, or made by another meanwhile.
  if (!isWanted) await files.remove(key)
}

/** One file of all segments of a rendition. False when it has none. */
async function writeRendition(
  { db, files }: Deps,
  videoId: string,
  rendition: string,
  path: string,
): Promise<boolean> {
  const initialization = await store.findInitialization(db, videoId, rendition)
  const segments = await store.listSegments(db, videoId, rendition)
  if (!initialization || segments.length === 0) return false
  await pipeline(joined(files, initialization.bytes, segments), createWriteStream(path))
  return true
}

async function* joined(files: Files, init: Buffer, segments: { key: string }[]) {
  yield init
  for (const { key } of segments) yield* await files.read(key)
}
