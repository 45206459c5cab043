import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { FileNotFoundError, type Files } from '../../lib/files/files.ts'
import { withWorkFolder } from '../../lib/work.ts'
import { delaySegment } from '../../media/copied-segments.ts'
import { blameOf, explain, isFinalAfter } from '../../media/failure.ts'
import { runFfmpeg, type Tools } from '../../media/ffmpeg.ts'
import type { Grid } from '../../media/grid.ts'
import { mp4Args } from '../../media/remux.ts'
import type { Tables } from '../../tables.ts'
import { discardFiles } from '../../videos/delete.ts'
import { mp4Prefix, newMp4Key, segmentFile } from '../../videos/files.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import { recordEvent } from '../../webhooks/events.ts'
import { causeOf, encodingFailures } from '../metrics.ts'
import * as encodings from '../renditions/encoding-store.ts'
import { audioRendition } from '../renditions/playable.ts'
import * as renditions from '../renditions/rendition-store.ts'
import type { EncodingPlan, RenditionRow, SegmentsRow } from '../tables.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'now' | 'log' | 'metrics' | 'space'> & { tools: Tools }

type MuxDeps = Pick<Deps, 'db' | 'files' | 'tools'>

type Mp4Content = {
  quality: string
  hasAudio: boolean
  /** If the quality is copied from the source: the grid, and the delay of its frames. */
  copied: (Grid & { delay: number }) | undefined
}

type Mp4 = Mp4Content & {
  height: number
  /** The key of an existing MP4 with fewer streams or a lower quality, which is served until the new one exists. */
  replaces: string | undefined
}

/** Makes, replaces or drops the MP4, as `mp4Support` and the encoded qualities require. */
export async function updateMp4(deps: Deps, videoId: string, retries: number): Promise<void> {
  const wanted = await findWantedMp4(deps, videoId)
  if (!wanted) return
  const file = await makeMp4(deps, videoId, wanted, retries)
  if (!file) return
  const isRecorded = await recordMp4(deps, videoId, wanted, file)
  if (!isRecorded) await discardFiles(deps, videoId, [file.key])
}

/** The MP4 to make now. Also updates the MP4's row if nothing can be made yet, or if no MP4 is wanted. */
function findWantedMp4({ db }: Deps, videoId: string): Promise<Mp4 | undefined> {
  return db.transaction().execute(async (trx) => {
    const encoding = await encodings.lockEncoding(trx, videoId)
    const video = await encodings.findVideo(trx, videoId)
    if (!encoding?.plan || !video) return undefined
    const all = await renditions.listRenditions(trx, videoId)
    if (!video.mp4_support) {
      await renditions.deleteMp4(trx, videoId)
      return undefined
    }
    const best = bestOf(all)
    const current = all.find(({ type }) => type === 'mp4')
    const replaces = current?.state === 'encoded' ? (current.key ?? undefined) : undefined
    if (encoding.state !== 'encoded' || best === undefined) {
      if (replaces) return undefined
      const { quality } = encoding.plan.rungs.at(-1)!
      const hasFailed = encoding.state === 'failed'
      await replaceMp4(trx, videoId, {
        quality,
        height: Number.parseInt(quality, 10),
        state: hasFailed ? 'failed' : 'waiting',
        failure: hasFailed ? encoding.failure : null,
      })
      return undefined
    }
    const { quality, height } = best
    const wanted: Mp4 = { ...contentOf(encoding, encoding.plan, best), height, replaces }
    if (replaces?.startsWith(mp4Prefix(videoId, quality, wanted.hasAudio))) return undefined
    if (!replaces) await replaceMp4(trx, videoId, { quality, height, state: 'encoding', failure: null })
    return wanted
  })
}

const bestOf = (all: RenditionRow[]) =>
  all.findLast(({ type, state }) => type === 'hls' && state === 'encoded')

const contentOf = (
  { sound_failure }: encodings.Encoding,
  plan: EncodingPlan,
  { quality }: RenditionRow,
): Mp4Content => ({
  quality,
  hasAudio: plan.hasSound && sound_failure === null,
  copied: copiedGridOf(plan, quality),
})

const copiedGridOf = (plan: EncodingPlan, quality: string) =>
  plan.copiedDelay !== undefined && plan.rungs.at(-1)!.quality === quality
    ? { ...plan, delay: plan.copiedDelay }
    : undefined

async function replaceMp4(
  trx: Transaction<Tables>,
  videoId: string,
  row: Pick<RenditionRow, 'quality' | 'height' | 'state' | 'failure'>,
): Promise<void> {
  await renditions.deleteMp4(trx, videoId)
  await renditions.insertRenditions(trx, [{ ...row, video_id: videoId, type: 'mp4', key: null, bytes: null }])
}

type Mp4File = { key: string; bytes: number }

/** Stores the file. Undefined if it cannot be made, which is recorded. */
async function makeMp4(
  deps: Deps,
  videoId: string,
  wanted: Mp4,
  retries: number,
): Promise<Mp4File | undefined> {
  const { db, files, log, metrics } = deps
  const { quality } = wanted
  const key = newMp4Key(mp4Prefix(videoId, quality, wanted.hasAudio))
  try {
    const bytes = await withWorkFolder(deps, async (folder) => {
      const output = await muxMp4(deps, videoId, wanted, folder)
      await files.put(key, createReadStream(output))
      return (await stat(output)).size
    })
    return { key, bytes }
  } catch (thrown) {
    await files.remove(key).catch(() => {})
    const error = await explainMissing(deps, thrown)
    const failure = failureOf(error, retries)
    if (failure === undefined) throw error
    // The video was deleted meanwhile.
    if (!(await encodings.findVideo(db, videoId))) return undefined
    log.warn({ err: error, videoId }, 'an MP4 could not be created')
    metrics.count(encodingFailures, { step: 'mp4', cause: causeOf(error) })
    const row = { video_id: videoId, type: 'mp4', quality } as const
    if (!wanted.replaces) await renditions.updateRendition(db, row, { state: 'failed', failure })
    return undefined
  }
}

/**
 * Errors of the store are retried, and so is an ffmpeg that was killed. Missing segments and input that ffmpeg rejects are
 * final.
 */
function failureOf(error: unknown, retries: number): string | undefined {
  if (error instanceof FileNotFoundError) return 'Segments of the encoded video are missing.'
  if (!isFinalAfter(error, retries)) return undefined
  return blameOf(error) === 'file' ? 'The MP4 could not be created.' : explain(error)
}

/** Muxes the best quality of an encoded video into a file in the folder. Undefined if there is none. */
export async function muxBest(deps: MuxDeps, videoId: string, folder: string): Promise<string | undefined> {
  const encoding = await encodings.findEncoding(deps.db, videoId)
  const best = bestOf(await renditions.listRenditions(deps.db, videoId))
  return encoding?.plan && best
    ? muxMp4(deps, videoId, contentOf(encoding, encoding.plan, best), folder)
    : undefined
}

/** Muxes the segments of a quality and of the audio into one file, without encoding. */
async function muxMp4(deps: MuxDeps, videoId: string, wanted: Mp4Content, folder: string): Promise<string> {
  const video = join(folder, 'video.mp4')
  await joinSegments(deps, { videoId, rendition: wanted.quality, path: video, copied: wanted.copied })
  const audio = join(folder, 'audio.mp4')
  const hasAudio =
    wanted.hasAudio && (await joinSegments(deps, { videoId, rendition: audioRendition, path: audio }))
  const output = join(folder, 'output.mp4')
  await runFfmpeg(deps.tools, mp4Args({ video, audio: hasAudio ? audio : undefined, output }), {
    // ffmpeg moves the entire file to put the index in front, and reports no progress meanwhile.
    stallFactor: 20,
  })
  return output
}

/** Returns false if the MP4 is no longer wanted, or if another job has made it meanwhile. */
function recordMp4({ db, now }: Deps, videoId: string, wanted: Mp4, file: Mp4File): Promise<boolean> {
  const { quality, height, replaces } = wanted
  return db.transaction().execute(async (trx) => {
    const encoding = await encodings.lockEncoding(trx, videoId)
    const current = (await renditions.listRenditions(trx, videoId)).find(({ type }) => type === 'mp4')
    const isExpected = replaces ? current?.key === replaces : current?.state === 'encoding'
    if (!encoding || !current || !isExpected || (!replaces && current.quality !== quality)) return false
    await renditions.updateRendition(trx, current, { state: 'encoded', ...file, quality, height })
    const payload = { videoId, encoding: 'mp4', quality } as const
    await recordEvent(trx, encoding.environment, 'video.encoding.quality.completed', payload, now())
    return true
  })
}

/** Writes all segments of a rendition into one file. Returns false if it has none. */
async function joinSegments(
  { db, files }: MuxDeps,
  options: { videoId: string; rendition: string; path: string; copied?: Mp4['copied'] },
): Promise<boolean> {
  const { videoId, rendition, path, copied } = options
  const initialization = await renditions.findInitialization(db, videoId, rendition)
  const segments = await renditions.listSegments(db, videoId, rendition)
  if (!initialization || segments.length === 0) return false
  const body = readRendition(files, initialization.bytes, segments, copied)
  await pipeline(body, createWriteStream(path))
  return true
}

async function* readRendition(files: Files, init: Buffer, rows: SegmentsRow[], copied: Mp4['copied']) {
  yield init
  for (const { key, sizes } of rows)
    for (const i of sizes.keys()) {
      const body = await files.read(segmentFile(key, i))
      if (copied) yield delaySegment(Buffer.concat(await body.toArray()), copied.delay, copied)
      else yield* body
    }
}
