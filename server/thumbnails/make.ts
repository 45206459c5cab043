import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import type { EncodingPlan } from '../encoding/tables.ts'
import { exclusively } from '../lib/db.ts'
import { FileMissing } from '../lib/files/files.ts'
import { RunError } from '../lib/run.ts'
import { newWorkFolder } from '../lib/work.ts'
import { isGivingUp } from '../media/failure.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { findSegment, segmentOf } from '../media/grid.ts'
import {
  candidatesOf,
  fit,
  frameArgs,
  frameAt,
  isGood,
  looksArgs,
  looksOf,
  scoreOf,
  sheetArgs,
} from '../media/pictures.ts'
import { countSheets, laySprites, tileSegments } from '../media/sprites.ts'
import { segmentFile } from '../renditions/files.ts'
import * as store from '../renditions/store.ts'
import type { SegmentsRow } from '../renditions/tables.ts'
import { hasVideo } from '../videos/store.ts'
import { thumbnailsLock } from './locks.ts'
import * as pictures from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'log'> & { tools: Tools }
type Planned = store.Encoding & { plan: EncodingPlan }

/** As large as a player shows it before it plays; what is higher than wide is as high at the most. */
const mostSize = { width: 1_280, height: 1_280 }

/**
 * Thumbnail and sprites of what is encoded, not of the source: there it is upright, cut and marked. Runs again and
 * changes nothing.
 */
export async function makePictures(deps: Deps, { videoId }: { videoId: string }, retries = 0): Promise<void> {
  // Of two at once, one would take what the other has stored and not noted yet for a stray.
  const isOurs = await exclusively(deps.db, thumbnailsLock(videoId), () => make(deps, videoId, retries))
  if (!isOurs) throw new Error(`the pictures of ${videoId} are being made by another job`)
}

async function make(deps: Deps, videoId: string, retries: number): Promise<void> {
  const row = await pictures.openPictures(deps.db, videoId)
  const encoding = await store.findEncoding(deps.db, videoId)
  // Deleted, and perhaps before a job that was killed had stored what it made.
  if (!row) return deps.files.remove(`videos/${videoId}`)
  const folder = newWorkFolder(deps.config.dataDir)
  await mkdir(folder, { recursive: true })
  try {
    if (encoding?.plan) {
      const planned = { ...encoding, plan: encoding.plan }
      await orNot(deps, videoId, retries, () => makeThumbnail(deps, row, planned, folder))
      await orNot(deps, videoId, retries, () => makeSprites(deps, row, planned, folder))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  await removeStrays(deps, videoId)
}

/**
 * What the store cannot do now, and an ffmpeg that was killed, is tried again; what ffmpeg rejects it always will, and
 * the video plays without.
 */
async function orNot(
  { log }: Deps,
  videoId: string,
  retries: number,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    // Deleted meanwhile, or a quality that failed after all.
    if (error instanceof FileMissing) return
    if (!isGivingUp(error, retries)) throw error
    log.warn({ err: error, videoId }, 'a picture could not be made')
  }
}

const folderOf = (videoId: string) => `videos/${videoId}/pictures`

// --- the thumbnail

/** What is to be the thumbnail: a frame, or one that is to be looked for among so many. */
type Wanted = { frame: number } | { frames: number; isWhole: boolean }

/** The key tells what is in it. */
const nameOf = (wanted: Wanted, quality: string) =>
  'frame' in wanted
    ? `picked-${quality}-${wanted.frame}`
    : `automatic-${quality}-${wanted.isWhole ? 'whole' : 'beginning'}`

async function makeThumbnail(
  deps: Deps,
  row: pictures.Pictures,
  encoding: Planned,
  folder: string,
): Promise<void> {
  if (row.wish === 'uploaded' || encoding.state === 'failed') return
  const { video_id: videoId } = row
  const { plan } = encoding
  const wanted = await findWanted(deps, row, encoding)
  const segment = wanted && 'frame' in wanted ? findSegment(plan, wanted.frame) : 0
  const best = wanted && (await findHolders(deps, videoId, plan, segment)).at(-1)
  if (!best) return
  const prefix = `${folderOf(videoId)}/${nameOf(wanted, best.rendition)}-`
  if (row.thumbnail_key?.startsWith(prefix)) return

  const chosen = 'frame' in wanted ? wanted.frame : await chooseFrame(deps, encoding, wanted.frames, folder)
  const input = join(folder, 'frame.mp4')
  const frame = await fetchFrame(deps, encoding, chosen, (all) => all.at(-1), input)
  if (frame === undefined) return
  const size = fit(plan.rungs.find(({ quality }) => quality === best.rendition)!, mostSize)
  const output = join(folder, 'thumbnail.jpg')
  await runFfmpeg(deps.tools, frameArgs({ input, frame, size, output }))
  const key = `${prefix}${randomUUID()}.jpg`
  await deps.files.put(key, createReadStream(output))
  // Something else was wished for meanwhile, which has a job of its own.
  if (!(await pictures.noteThumbnail(deps.db, row, key))) await forget(deps, videoId, key)
}

/** Until a frame that was picked is there, something to show of the beginning, which is replaced soon. */
async function findWanted(
  deps: Deps,
  row: pictures.Pictures,
  { state, plan }: Planned,
): Promise<Wanted | undefined> {
  if (row.timecode !== null) {
    const frame = frameAt(plan, row.timecode)
    const holders = await findHolders(deps, row.video_id, plan, findSegment(plan, frame))
    if (holders.length > 0) return { frame }
  }
  if (state === 'encoded') return { frames: plan.frames, isWhole: true }
  return row.thumbnail_key === null ? { frames: segmentOf(plan, 0).frames, isWhole: false } : undefined
}

/** The first that shows something, or what comes nearest to it; looked for in the lowest quality. */
async function chooseFrame(deps: Deps, encoding: Planned, frames: number, folder: string): Promise<number> {
  // Of sound alone all frames are the same.
  if (!encoding.media?.picture) return 0
  const input = join(folder, 'candidate.mp4')
  const output = join(folder, 'candidate.gray')
  const judged: { candidate: number; score: number }[] = []
  for (const candidate of candidatesOf(frames)) {
    const frame = await fetchFrame(deps, encoding, candidate, (all) => all[0], input)
    if (frame === undefined) continue
    await runFfmpeg(deps.tools, looksArgs({ input, frame, output }))
    const looks = looksOf(await readFile(output))
    if (isGood(looks)) return candidate
    judged.push({ candidate, score: scoreOf(looks) })
  }
  return judged.sort((a, b) => b.score - a.score)[0]?.candidate ?? 0
}

/** The qualities that have a segment, the lowest first. */
async function findHolders({ db }: Deps, videoId: string, plan: EncodingPlan, segment: number) {
  const rows = await store.listRowsWithSegment(db, videoId, segment)
  return plan.rungs.flatMap(({ quality }) => rows.filter(({ rendition }) => rendition === quality))
}

/** Writes the segment of a frame as a file; how many frames come before it there. Undefined where there is none. */
async function fetchFrame(
  deps: Deps,
  { video_id: videoId, plan }: Planned,
  frame: number,
  choose: (holders: SegmentsRow[]) => SegmentsRow | undefined,
  path: string,
): Promise<number | undefined> {
  const segment = findSegment(plan, frame)
  const row = choose(await findHolders(deps, videoId, plan, segment))
  if (!row || !(await writeSegments(deps, row.rendition, [[row, segment]], path))) return undefined
  return frame - segmentOf(plan, segment).fromFrame
}

/** Segments after the beginning of their rendition, in one file. False when there is no such rendition. */
async function writeSegments(
  { db, files }: Deps,
  rendition: string,
  segments: [row: SegmentsRow, segment: number][],
  path: string,
): Promise<boolean> {
  const videoId = segments[0]?.[0].video_id ?? ''
  const initialization = await store.findInitialization(db, videoId, rendition)
  if (!initialization) return false
  async function* joined() {
    yield initialization!.bytes
    for (const [{ key, first_segment }, segment] of segments)
      yield* await files.read(segmentFile(key, segment - first_segment))
  }
  await pipeline(joined(), createWriteStream(path))
  return true
}

// --- the sprites

async function makeSprites(
  deps: Deps,
  { video_id: videoId, sprites: there }: pictures.Pictures,
  { state, plan, media }: Planned,
  folder: string,
): Promise<void> {
  if (state !== 'encoded' || there || !media?.picture) return
  const encoded = (await store.listRenditions(deps.db, videoId)).filter(
    ({ type, state }) => type === 'hls' && state === 'encoded',
  )
  const rung = plan.rungs.find(({ quality }) => encoded.some((stream) => stream.quality === quality))
  if (!rung) return
  const sprites = laySprites(plan, rung)
  const rows = await store.listSegments(deps.db, videoId, rung.quality)
  const segments = tileSegments(sprites).flatMap((segment) => {
    const row = rows.findLast(({ first_segment }) => first_segment <= segment)
    return row ? [[row, segment] as [SegmentsRow, number]] : []
  })
  const input = join(folder, 'tiles.mp4')
  if (!(await writeSegments(deps, rung.quality, segments, input))) return
  const sheets = join(folder, 'sheets')
  await mkdir(sheets)
  const { width, height, columns, rows: down } = sprites
  const output = join(sheets, '%d.jpg')
  await runFfmpeg(deps.tools, sheetArgs({ input, tile: { width, height }, columns, rows: down, output }))
  const made = (await readdir(sheets)).length
  if (made !== countSheets(sprites))
    throw new RunError(`made ${made} sheets, not ${countSheets(sprites)}`, {
      command: deps.tools.ffmpeg,
      exitCode: 0,
    })
  const key = `${folderOf(videoId)}/sprites-${randomUUID()}`
  for (let sheet = 0; sheet < made; sheet++)
    await deps.files.put(`${key}/${sheet}.jpg`, createReadStream(join(sheets, `${sheet}.jpg`)))
  if (!(await pictures.noteSprites(deps.db, videoId, sprites, key))) await forget(deps, videoId, key)
}

// --- what does not count

/** All there is where the video was deleted meanwhile. */
async function forget({ db, files }: Deps, videoId: string, key: string): Promise<void> {
  await files.remove((await hasVideo(db, videoId)) ? key : `videos/${videoId}`)
}

/** Of wishes of before, and of jobs and requests that were killed between storing and noting. */
async function removeStrays({ db, files }: Deps, videoId: string): Promise<void> {
  const folder = folderOf(videoId)
  const found = new Set<string>()
  // A thumbnail, or what the sheets of sprites have in common.
  for await (const key of files.list(folder))
    found.add(`${folder}/${key.slice(folder.length + 1).split('/', 1)[0]}`)
  // Asked afterwards: what was there before and is not known now never will be.
  const row = await pictures.openPictures(db, videoId)
  if (!row) return files.remove(`videos/${videoId}`)
  const known = [row.thumbnail_key, row.uploading_key, row.sprites_key]
  for (const key of found) if (!known.includes(key)) await files.remove(key)
}
