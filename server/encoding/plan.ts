import type { Context } from '../context.ts'
import { blameOf, explain, isGivingUp } from '../media/failure.ts'
import type { Tools } from '../media/ffmpeg.ts'
import {
  alignGrid,
  boundRate,
  countSegments,
  type Grid,
  listChunks,
  makeGrid,
  pictureCut,
  segmentOf,
  soundCut,
} from '../media/grid.ts'
import { ladderOf } from '../media/ladder.ts'
import { Unreadable } from '../media/probe.ts'
import type { RenditionRow } from '../renditions/tables.ts'
import type { Clip } from '../videos/tables.ts'
import { type Examined, endOf, examine } from './examine.ts'
import * as store from './store.ts'
import type { EncodingPlan } from './tables.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log'> & { tools: Tools }

/** Where only sound is: few frames, as nothing moves. */
const still = { width: 426, height: 240, rate: { num: 10, den: 1 } }
/** Beyond it, timestamps are wrong. */
const mostSeconds = 7 * 86_400

/** Looks at a source that has arrived, and lays out the work. Runs again and changes nothing. */
export async function planEncoding(deps: Deps, { videoId }: { videoId: string }, retries = 0): Promise<void> {
  const { db, log, now } = deps
  const video = await store.findVideo(db, videoId)
  if (!video) return deps.files.remove(`videos/${videoId}`)
  if (await store.findEncoding(db, videoId)) return
  const { environment, mp4_support: hasMp4 } = video
  try {
    const examined = await examine(deps, videoId)
    const { media: told, extent } = examined
    const plan = makePlan(deps, examined, video)
    const media = { ...told, durationSeconds: told.durationSeconds ?? endOf(told, extent) }
    await db.transaction().execute(async (trx) => {
      const row = { video_id: videoId, environment, state: 'encoding', failure: null, media, plan } as const
      if (!(await store.insertEncoding(trx, { ...row, created_at: now() }))) return
      await store.insertRenditions(trx, listRenditions(videoId, plan, hasMp4))
      await store.insertChunks(trx, row, listWork(plan))
      await store.announceChunks(trx)
    })
  } catch (error) {
    // Deleted meanwhile, and perhaps before a copy was stored.
    if (!(await store.findVideo(db, videoId))) return deps.files.remove(`videos/${videoId}`)
    // What the file is to blame for is `Unreadable`; another error of ffprobe is that of a source that was not served.
    const hasGivenUp = isGivingUp(error, retries) && blameOf(error) === 'environment'
    if (!(error instanceof Unreadable) && !hasGivenUp) throw error
    const failure = hasGivenUp ? explain(error) : error.message
    log.info({ videoId, reason: failure, err: hasGivenUp ? error : error.cause }, 'a source cannot be read')
    const row = { video_id: videoId, environment, state: 'failed', failure } as const
    await db
      .transaction()
      .execute((trx) => store.insertEncoding(trx, { ...row, media: null, plan: null, created_at: now() }))
  }
}

export function makePlan(
  { config }: { config: Pick<Context['config'], 'sandbox'> },
  { key, bytes, media, extent, content }: Examined,
  { environment, clip }: { environment: string; clip: Clip | null },
): EncodingPlan {
  const isSandbox = environment === 'sandbox'
  const { picture, sound } = media
  const end = endOf(media, extent)
  if (end > mostSeconds)
    throw new Unreadable(`The file claims to last ${Math.round(end / 3_600)} hours, which cannot be true.`)
  const { rate: wantedRate, ...size } = picture ?? still
  const rate = picture && content ? boundRate(wantedRate, end, content) : wantedRate
  const { fromSeconds: wanted, toSeconds } = readClip(clip, end)
  const fromSeconds = picture ? alignGrid(rate, wanted, extent.pictureStartSeconds ?? 0) : wanted
  const limit = (isSandbox && config.sandbox.seconds) || Number.POSITIVE_INFINITY
  const seconds = Math.min(toSeconds - fromSeconds, limit)
  const rungs = ladderOf(size, rate)
  return {
    key,
    offsetSeconds: fromSeconds,
    rate,
    frames: makeGrid(rate, seconds).frames,
    rungs: picture ? rungs : rungs.slice(0, 1),
    hasSound: sound !== undefined,
    isWatermarked: isSandbox && config.sandbox.hasWatermark,
    sourceBytes: bytes,
  }
}

/** Timecodes that make no sense for this source leave it whole. */
function readClip(clip: Clip | null, end: number): { fromSeconds: number; toSeconds: number } {
  const from = secondsOfTimecode(clip?.startTimecode) ?? 0
  const to = Math.min(end, secondsOfTimecode(clip?.endTimecode) ?? end)
  return from < to ? { fromSeconds: from, toSeconds: to } : { fromSeconds: 0, toSeconds: end }
}

function secondsOfTimecode(text: string | undefined): number | undefined {
  const [, hours, minutes, seconds] = /^(\d+):(\d+):(\d+(?:\.\d+)?)$/.exec(text ?? '') ?? []
  return seconds === undefined ? undefined : Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

function listRenditions(videoId: string, { rungs }: EncodingPlan, hasMp4: boolean): RenditionRow[] {
  const rendition = (type: 'hls' | 'mp4', quality: string): RenditionRow => ({
    ...{ video_id: videoId, type, quality, height: Number.parseInt(quality, 10) },
    ...{ state: 'waiting', failure: null, key: null },
  })
  const streams = rungs.map(({ quality }) => rendition('hls', quality))
  return hasMp4 ? [...streams, rendition('mp4', rungs.at(-1)!.quality)] : streams
}

/** What is to be encoded, all of it or what of it is missing. */
export function listWork(plan: EncodingPlan, isMissing = (_rendition: string) => true): store.NewChunk[] {
  const missing = plan.rungs.map(({ quality }) => quality).filter(isMissing)
  const [lowest, ...others] = missing
  const last = countSegments(plan) - 1
  const work: store.NewChunk[] = []
  const add = (
    track: 'picture' | 'sound',
    qualities: string[],
    chunk: { firstSegment: number; segments: number },
    after = 0,
  ) => {
    if (track === 'picture' && qualities.length === 0) return
    const priority = priorityOf(plan, chunk.firstSegment) + after
    work.push({ track, qualities, first_segment: chunk.firstSegment, segments: chunk.segments, priority })
  }
  for (const chunk of listChunks(plan, pictureCut)) {
    // The beginning of the lowest quality goes ahead: with it the video plays.
    if (chunk.index === 0) {
      add('picture', lowest === undefined ? [] : [lowest], chunk)
      add('picture', others, chunk, 2)
    } else if (chunk.firstSegment === last) {
      // In two: while one slot does the most of it, another that has nothing else left does the rest.
      add('picture', missing.slice(-2), chunk)
      add('picture', missing.slice(0, -2), chunk, 2)
    } else add('picture', missing, chunk)
  }
  if (plan.hasSound && isMissing('sound'))
    for (const chunk of listChunks(plan, soundCut)) add('sound', [], chunk, 1)
  return work
}

/** By the time in the video: the beginnings of all videos come before the middle of any. */
const priorityOf = (grid: Grid, segment: number) =>
  3 * Math.floor((segmentOf(grid, segment).fromFrame * grid.rate.den) / grid.rate.num)
