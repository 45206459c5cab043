import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import { audioRendition } from '../../encoding/renditions/playable.ts'
import * as renditions from '../../encoding/renditions/rendition-store.ts'
import { writeSegments } from '../../encoding/renditions/write-segments.ts'
import type { EncodingPlan } from '../../encoding/tables.ts'
import { runFfmpeg, type Tools } from '../../media/ffmpeg.ts'
import { audioSecondsOf, audioSegmentOf, countSegments } from '../../media/grid.ts'
import { durationOf, findCut, slicePcm, speechArgs } from '../../media/speech.ts'

type Deps = Pick<Context, 'db' | 'files'> & { tools: Tools }

export type PieceAudio = { fromMs: number; toMs: number; isLast: boolean; pcm: Buffer }

type Window = {
  videoId: string
  plan: EncodingPlan
  fromMs: number
  maxMs: number
  folder: string
  signal: AbortSignal
}

/** What remains after a piece has at least this length, because servers reject very short audio. */
const minRestMs = 1_000

const segmentStartMs = (plan: EncodingPlan, segment: number) =>
  1_000 * audioSecondsOf(plan, audioSegmentOf(plan, segment).fromFrame)

/** The length of the encoded audio. */
export const audioDurationOf = (plan: EncodingPlan) => segmentStartMs(plan, countSegments(plan))

/**
 * Decodes the next piece of a video's audio. It ends at a pause in the last quarter of its maximum length, or with the
 * audio. The pieces of a video join without a gap.
 */
export async function readPiece(deps: Deps, window: Window): Promise<PieceAudio> {
  const { plan, fromMs, maxMs } = window
  const { pcm: decoded, startMs, isEnd } = await decode(deps, window)
  const skippedMs = fromMs - startMs
  const availableMs = Math.floor(durationOf(decoded) - skippedMs)
  const pcm = slicePcm(decoded, skippedMs, skippedMs + availableMs)
  if (isEnd && availableMs <= maxMs)
    return { fromMs, toMs: fromMs + Math.max(1, availableMs), isLast: true, pcm }
  if (availableMs < maxMs / 2) throw new Error(`only ${availableMs} ms of audio could be decoded`)
  const restMs = audioDurationOf(plan) - fromMs
  const lengthMs = findCut(pcm, 0.75 * maxMs, Math.min(maxMs, restMs - minRestMs))
  return { fromMs, toMs: fromMs + lengthMs, isLast: false, pcm: slicePcm(pcm, 0, lengthMs) }
}

/** Decodes the segments of the window, and one before it, without which the decoder's first samples would be wrong. */
async function decode(
  deps: Deps,
  { videoId, plan, fromMs, maxMs, folder, signal }: Window,
): Promise<{ pcm: Buffer; startMs: number; isEnd: boolean }> {
  const count = countSegments(plan)
  const indexes = Array.from({ length: count }, (_, i) => i)
  const first = Math.max(0, indexes.findLastIndex((i) => segmentStartMs(plan, i) <= fromMs) - 1)
  const next = indexes.find((i) => segmentStartMs(plan, i) >= fromMs + maxMs) ?? count
  const rows = await renditions.listSegments(deps.db, videoId, audioRendition)
  const segments = indexes.slice(first, next).map((segment) => {
    const row = rows.findLast(({ first_segment }) => first_segment <= segment)
    if (!row) throw new Error(`the audio of ${videoId} has no segment ${segment}`)
    return { row, segment }
  })
  const input = join(folder, 'audio.mp4')
  const output = join(folder, 'audio.pcm')
  if (!(await writeSegments(deps, audioRendition, segments, input)))
    throw new Error(`the audio of ${videoId} has no initialization`)
  await runFfmpeg(deps.tools, speechArgs({ input, output }), { signal })
  return { pcm: await readFile(output), startMs: segmentStartMs(plan, first), isEnd: next === count }
}
