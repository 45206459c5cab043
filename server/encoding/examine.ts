import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { RunError } from '../lib/run.ts'
import { newWorkFolder } from '../lib/work.ts'
import { type Content, isPlausible, isSuspicious, scanContent } from '../media/content.ts'
import { type Extent, findExtent, remuxArgs } from '../media/extent.ts'
import { blameOf, explain, failureOf } from '../media/failure.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { copyLimits } from '../media/limits.ts'
import { probe, Unreadable } from '../media/probe.ts'
import type { Repair } from '../media/repair.ts'
import type { SourceMedia } from '../media/source-media.ts'
import { type Input, openInput } from './input.ts'

type Deps = Pick<Context, 'files'> & { tools: Tools; config: Pick<Context['config'], 'dataDir'> }

export type Examined = {
  /** Of the file that is decoded: the source, or a copy of its streams. */
  key: string
  /** Of the source. */
  bytes: number
  media: SourceMedia
  extent: Extent
  /** Counted only where the timestamps alone cannot be believed. */
  content?: Content
}

/** A file on its way to being what is decoded. */
type Candidate = { path: string; media: SourceMedia; extent: Extent }

export const copyFolder = (videoId: string) => `videos/${videoId}/copy`

/** Sound that goes on after the picture is heard over its last frame; a bit more is how sound ends. */
const soundBeyondSeconds = 1

export function endOf(
  { picture }: SourceMedia,
  { pictureEndSeconds = 0, soundEndSeconds = 0 }: Extent,
): number {
  const isSoundOver = soundEndSeconds <= pictureEndSeconds + soundBeyondSeconds
  return picture && isSoundOver ? pictureEndSeconds : soundEndSeconds
}

/**
 * Finds out what a source is and where it ends. Where one cannot seek, the streams are first copied into a file in which
 * one can; where timestamps claim far more than the file holds, they are repaired on the way.
 */
export async function examine(deps: Deps, videoId: string): Promise<Examined> {
  const key = `videos/${videoId}/source`
  const bytes = (await deps.files.stat(key))?.size ?? 0
  const input = await openInput(deps.files, key)
  const folder = newWorkFolder(deps.config.dataDir)
  await mkdir(folder, { recursive: true })
  try {
    const source = await openSource(deps, input)
    const found = await findUsable(deps, { input, bytes, folder }, source)
    if (found.path === input.path) return { ...found, key, bytes }
    const copyKey = `${copyFolder(videoId)}/source.mkv`
    await deps.files.put(copyKey, createReadStream(found.path))
    return { ...found, key: copyKey, bytes }
  } finally {
    await rm(folder, { recursive: true, force: true })
    await input.close()
  }
}

async function openSource({ tools }: Deps, input: Input): Promise<Candidate> {
  const media = await probe(tools, input.path, input)
  return { path: input.path, media, extent: await findExtent(tools, input.path, media, input) }
}

type Source = { input: Input; bytes: number; folder: string }

/** The source, a copy or a repaired copy: the first that can be seeked in and lasts as long as it says. */
async function findUsable(
  deps: Deps,
  source: Source,
  original: Candidate,
): Promise<Candidate & { content?: Content }> {
  const { input, bytes } = source
  const { media } = original
  const candidate = original.extent.isSeekable ? original : await copy(deps, source, media)
  const { isSeekable } = candidate.extent
  const end = endOf(candidate.media, candidate.extent)
  if (isSeekable && !isSuspicious(media, end, bytes)) return candidate
  const content = await scanContent(deps.tools, input.path, media, { isServed: input.isServed, bytes })
  if (isSeekable && isPlausible(media, end, content)) return { ...candidate, content }
  const repaired = content.repair && (await copy(deps, source, media, content.repair))
  if (!isSeekable && !repaired?.extent.isSeekable)
    throw new Unreadable('The file cannot be read from its beginning to its end.')
  if (!repaired?.extent.isSeekable || !isWithin(endOf(repaired.media, repaired.extent), media, content))
    throw new Unreadable(
      `The file claims to last ${describeDuration(end)}, but holds only ${describeContent(content)}.`,
    )
  return { ...repaired, content }
}

/** The gaps are those of the source, and gone. */
const isWithin = (end: number, media: SourceMedia, content: Content) =>
  isPlausible(media, end, { ...content, maxGapSeconds: 0 })

const describeDuration = (seconds: number) =>
  seconds < 5_400 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`

const describeContent = ({ frames, soundSeconds }: Content) =>
  frames > 0 ? `${frames} frames` : `${Math.ceil(soundSeconds)} seconds of sound`

/** Copies picture and sound into a file of their own. */
async function copy(
  { tools }: Deps,
  { input, bytes, folder }: Source,
  media: SourceMedia,
  repair?: Repair,
): Promise<Candidate> {
  const path = join(folder, `${randomUUID()}.mkv`)
  const args = remuxArgs(input.path, path, media, { isServed: input.isServed, repair })
  try {
    await runFfmpeg(tools, args, { limits: copyLimits(bytes) })
  } catch (error) {
    // A copy that ffmpeg could not finish is no copy; of a file that is cut off, what could be read is there.
    if (!(error instanceof RunError) || blameOf(error) === 'environment') throw error
    if (failureOf(error) === 'cpu') throw new Unreadable(explain(error), { cause: error })
    const isThere = ((await stat(path).catch(() => undefined))?.size ?? 0) > 0
    if (!isThere) throw new Unreadable('The file cannot be read.', { cause: error })
  }
  const copied = await probe(tools, path, {})
  const extent = await findExtent(tools, path, copied, {})
  const { index = 0, rate, sourceRate } = copied.picture ?? {}
  // The rate of a file is an average over times that are now different ones.
  const rates = repair && rate && sourceRate ? { rate, sourceRate } : {}
  const picture = copied.picture && media.picture && { ...media.picture, index, ...rates }
  const sound = copied.sound && media.sound && { ...copied.sound, codec: media.sound.codec }
  return { path, media: { ...media, picture, sound }, extent }
}
