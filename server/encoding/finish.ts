import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import { exclusively } from '../lib/db.ts'
import { FileMissing, type Files } from '../lib/files/files.ts'
import { newWorkFolder } from '../lib/work.ts'
import { mp4Args } from '../media/argv.ts'
import { blameOf, explain, isGivingUp } from '../media/failure.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { segmentFile } from '../renditions/files.ts'
import { finishLock } from '../renditions/locks.ts'
import type { RenditionRow, SegmentsRow } from '../renditions/tables.ts'
import type { Tables } from '../tables.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import { recordEvent } from '../webhooks/events.ts'
import { copyFolder } from './examine.ts'
import { removeStrays } from './leftovers.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'now' | 'log'> & { tools: Tools }

const mp4Folder = (videoId: string) => `videos/${videoId}/mp4`

/** What comes after the last quality, and whenever `mp4Support` changes. Runs again and changes nothing. */
export async function finishEncoding(
  deps: Deps,
  { videoId }: { videoId: string },
  retries = 0,
): Promise<void> {
  // Of two at once, one would take what the other has stored and not noted yet for a stray.
  const isOurs = await exclusively(deps.db, finishLock(videoId), () => finish(deps, videoId, retries))
  if (!isOurs) throw new Error(`${videoId} is being finished by another job`)
}

async function finish(deps: Deps, videoId: string, retries: number): Promise<void> {
  if (await removeIfDeleted(deps, videoId)) return
  const wanted = await reconcile(deps, videoId)
  if (wanted) await makeMp4(deps, videoId, wanted, retries)
  await removeStrays(deps, videoId)
  const encoding = await store.findEncoding(deps.db, videoId)
  const renditions = await store.listRenditions(deps.db, videoId)
  const streams = renditions.filter(({ type }) => type === 'hls')
  const isComplete = encoding?.sound_failure == null && streams.every(({ state }) => state === 'encoded')
  // What failed may be tried again, and needs it.
  if (isComplete) await deps.files.remove(copyFolder(videoId))
}

/** Of what an MP4 is made. `replaces` is the key of the one that serves until then: of less, before a retry. */
type Mp4 = { quality: string; height: number; hasSound: boolean; replaces: string | undefined }

/** The key tells what is in it. */
const keyPrefix = (videoId: string, { quality, hasSound }: Mp4) =>
  `${mp4Folder(videoId)}/${quality}-${hasSound ? 'sound' : 'silent'}-`

/** The MP4 that is to be made now. */
function reconcile({ db }: Deps, videoId: string): Promise<Mp4 | undefined> {
  return db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, videoId)
    const video = await store.findVideo(trx, videoId)
    if (!encoding?.plan || !video) return undefined
    const renditions = await store.listRenditions(trx, videoId)
    if (!video.mp4_support) {
      await store.deleteMp4(trx, videoId)
      return undefined
    }
    const best = renditions.findLast(({ type, state }) => type === 'hls' && state === 'encoded')
    const isReady = encoding.state === 'encoded' && best !== undefined
    const there = renditions.find(({ type }) => type === 'mp4')
    const replaces = there?.state === 'encoded' ? (there.key ?? undefined) : undefined
    if (!isReady) {
      if (replaces) return undefined
      const { quality } = encoding.plan.rungs.at(-1)!
      const hasFailed = encoding.state === 'failed'
      await replaceMp4(trx, videoId, {
        ...{ quality, height: Number.parseInt(quality, 10) },
        ...{ state: hasFailed ? 'failed' : 'waiting', failure: hasFailed ? encoding.failure : null },
      })
      return undefined
    }
    const { quality, height } = best
    const hasSound = encoding.plan.hasSound && encoding.sound_failure === null
    const wanted: Mp4 = { quality, height, hasSound, replaces }
    if (replaces?.startsWith(keyPrefix(videoId, wanted))) return undefined
    if (!replaces) await replaceMp4(trx, videoId, { quality, height, state: 'encoding', failure: null })
    return wanted
  })
}

async function replaceMp4(
  trx: Transaction<Tables>,
  videoId: string,
  row: Pick<RenditionRow, 'quality' | 'height' | 'state' | 'failure'>,
): Promise<void> {
  await store.deleteMp4(trx, videoId)
  await store.insertRenditions(trx, [{ ...row, video_id: videoId, type: 'mp4', key: null }])
}

async function makeMp4(deps: Deps, videoId: string, wanted: Mp4, retries: number): Promise<void> {
  const { db, files, now, log, config } = deps
  const { quality, height, replaces } = wanted
  const folder = newWorkFolder(config.dataDir)
  const key = `${keyPrefix(videoId, wanted)}${randomUUID()}.mp4`
  await mkdir(folder, { recursive: true })
  try {
    const picture = join(folder, 'picture.mp4')
    await writeRendition(deps, videoId, quality, picture)
    const sound = join(folder, 'sound.mp4')
    const hasSound = wanted.hasSound && (await writeRendition(deps, videoId, 'sound', sound))
    const output = join(folder, 'output.mp4')
    await runFfmpeg(deps.tools, mp4Args({ picture, sound: hasSound ? sound : undefined, output }), {
      // To put the index in front, the whole file is moved, which ffmpeg says nothing of.
      patience: 20,
    })
    await files.put(key, createReadStream(output))
  } catch (error) {
    await files.remove(key).catch(() => {})
    if (error instanceof FileMissing) return
    // What the store cannot do now, and an ffmpeg that was killed, is tried again; what ffmpeg rejects it always will.
    if (!isGivingUp(error, retries)) throw error
    log.warn({ err: error, videoId }, 'an MP4 could not be made')
    const failure = blameOf(error) === 'file' ? 'The MP4 could not be put together.' : explain(error)
    const change = { state: 'failed', failure } as const
    if (!replaces) await store.updateRendition(db, { video_id: videoId, type: 'mp4', quality }, change)
    return
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const isWanted = await db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, videoId)
    const there = (await store.listRenditions(trx, videoId)).find(({ type }) => type === 'mp4')
    const isExpected = replaces ? there?.key === replaces : there?.state === 'encoding'
    if (!encoding || !there || !isExpected || (!replaces && there.quality !== quality)) return false
    await store.updateRendition(trx, there, { state: 'encoded', key, quality, height })
    const payload = { videoId, encoding: 'mp4', quality } as const
    await recordEvent(trx, encoding.environment, 'video.encoding.quality.completed', payload, now())
    return true
  })
  // No longer wanted, or made by another meanwhile.
  if (!isWanted && !(await removeIfDeleted(deps, videoId))) await files.remove(key)
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

async function* joined(files: Files, init: Buffer, rows: SegmentsRow[]) {
  yield init
  for (const { key, sizes } of rows)
    for (const i of sizes.keys()) yield* await files.read(segmentFile(key, i))
}
