import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { findSegment, segmentOf } from '../media/grid.ts'
import { fit } from '../media/images.ts'
import {
  brightnessArgs,
  brightnessOf,
  candidateFrames,
  frameAt,
  isGoodThumbnail,
  thumbnailArgs,
  thumbnailScore,
} from '../media/thumbnails.ts'
import { discardFiles } from '../videos/delete.ts'
import { newThumbnailKey, thumbnailPrefix } from '../videos/files.ts'
import { findQualitiesWithSegment, type PlannedEncoding, writeSegmentOfFrame } from './segments.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files'> & { tools: Tools }

/** As large as players show it. A portrait video is limited by its height. */
const maxSize = { width: 1_280, height: 1_280 }

/** The thumbnail to make: a picked frame, or the best of the first `frames` frames. */
type Choice = { frame: number } | { frames: number; isWhole: boolean }

/** People wait for the picture of a video that plays already. The encoders of its other qualities must not delay it. */
const runOptions = ({ state }: PlannedEncoding) => (state === 'encoding' ? { priority: 5 } : {})

/** Part of the key, by which a later run recognizes the thumbnail. */
const contentOf = (choice: Choice, quality: string) =>
  'frame' in choice
    ? `picked-${quality}-${choice.frame}`
    : `automatic-${quality}-${choice.isWhole ? 'whole' : 'beginning'}`

/** Makes the requested thumbnail from the best quality that has its frame, unless it exists. */
export async function makeThumbnail(
  deps: Deps,
  row: store.Thumbnails,
  encoding: PlannedEncoding,
  folder: string,
): Promise<void> {
  if (row.thumbnailSource === 'uploaded' || encoding.state === 'failed') return
  const { plan } = encoding
  const choice = await findChoice(deps, row, encoding)
  if (!choice) return
  const segment = 'frame' in choice ? findSegment(plan, choice.frame) : 0
  const best = (await findQualitiesWithSegment(deps, encoding, segment)).at(-1)
  if (!best) return
  const prefix = thumbnailPrefix(row.videoId, contentOf(choice, best.rendition))
  if (row.thumbnailKey?.startsWith(prefix)) return

  const chosen = 'frame' in choice ? choice.frame : await chooseFrame(deps, encoding, choice.frames, folder)
  const path = join(folder, 'frame.mp4')
  const frame = await writeSegmentOfFrame(deps, encoding, { frame: chosen, quality: 'best', path })
  if (frame === undefined) return
  const size = fit(plan.rungs.find(({ quality }) => quality === best.rendition)!, maxSize)
  const output = join(folder, 'thumbnail.jpg')
  await runFfmpeg(deps.tools, thumbnailArgs({ ...frame, size, output }), runOptions(encoding))
  const key = newThumbnailKey(prefix)
  const { size: bytes } = await deps.files.put(key, createReadStream(output))
  // Another thumbnail that was requested in the meantime has its own job.
  const isRecorded = await store.recordThumbnail(deps.db, row, { key, bytes })
  if (!isRecorded) await discardFiles(deps, row.videoId, [key])
}

/** Until a picked frame is encoded, a frame from the beginning is shown. */
async function findChoice(
  deps: Deps,
  row: store.Thumbnails,
  encoding: PlannedEncoding,
): Promise<Choice | undefined> {
  const { state, plan } = encoding
  if (row.timecode !== null) {
    const frame = frameAt(plan, row.timecode)
    const qualities = await findQualitiesWithSegment(deps, encoding, findSegment(plan, frame))
    if (qualities.length > 0) return { frame }
  }
  if (state === 'encoded') return { frames: plan.frames, isWhole: true }
  return row.thumbnailKey === null ? { frames: segmentOf(plan, 0).frames, isWhole: false } : undefined
}

/** The first candidate that is neither dark nor blank, or the best of them. Decodes the lowest quality. */
async function chooseFrame(
  deps: Deps,
  encoding: PlannedEncoding,
  frames: number,
  folder: string,
): Promise<number> {
  // All frames of an audio file are the same.
  if (!encoding.media?.picture) return 0
  const path = join(folder, 'candidate.mp4')
  const output = join(folder, 'candidate.gray')
  const scores: { candidate: number; score: number }[] = []
  for (const candidate of candidateFrames(frames)) {
    const frame = await writeSegmentOfFrame(deps, encoding, {
      frame: candidate,
      quality: 'lowest',
      path,
    })
    if (frame === undefined) continue
    await runFfmpeg(deps.tools, brightnessArgs({ ...frame, output }), runOptions(encoding))
    const looks = brightnessOf(await readFile(output))
    if (isGoodThumbnail(looks)) return candidate
    scores.push({ candidate, score: thumbnailScore(looks) })
  }
  return scores.sort((a, b) => b.score - a.score)[0]?.candidate ?? 0
}
