import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import type { Files } from '../../lib/files/files.ts'
import { RunError } from '../../lib/run.ts'
import { type WorkDeps, withWorkFolder } from '../../lib/work.ts'
import { type Content, isPlausible, isSuspicious, scanContent } from '../../media/content.ts'
import { type Extent, findExtent, probeMp4 } from '../../media/extent.ts'
import { blameOf, explain, failureOf } from '../../media/failure.ts'
import { runFfmpeg, type Tools } from '../../media/ffmpeg.ts'
import { copyLimits } from '../../media/limits.ts'
import { readPlainMp4 } from '../../media/plain-mp4.ts'
import { probe, Unreadable } from '../../media/probe.ts'
import { remuxArgs } from '../../media/remux.ts'
import type { Repair } from '../../media/repair.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import { sourceCopyKey, sourceKey } from '../../videos/files.ts'
import { readIndex } from '../source/copied-source.ts'
import { type Input, openInput } from '../source/input.ts'
import { openSourceBytes, type SourceBytes } from '../source/source-bytes.ts'

type Deps = Pick<Context, 'files'> & WorkDeps & { tools: Tools }

export type ExaminedSource = {
  /** The key of the file to decode: the source, or a copy of its streams. */
  key: string
  /** The size of the source. */
  bytes: number
  media: SourceMedia
  extent: Extent
  /** Counted only if the timestamps alone are not plausible. */
  content?: Content
}

/**
 * Whether the frames of a source are used as they are if its streams are copied to an MP4: asked first without a path, before
 * there is a copy, and then with the path of the copy.
 */
export type AcceptsMp4 = (source: Omit<ExaminedSource, 'key'>, path?: string) => Promise<boolean>

/** A file that may be the one to decode. */
export type Candidate = { path: string; media: SourceMedia; extent: Extent }

/** Audio usually ends slightly after the video. If it goes on for longer, the last frame is shown until it ends. */
const audioOverhangSeconds = 1

export function endOf(
  { picture }: SourceMedia,
  { videoEndSeconds = 0, audioEndSeconds = 0 }: Extent,
): number {
  const hasAudioEnded = audioEndSeconds <= videoEndSeconds + audioOverhangSeconds
  return picture && hasAudioEnded ? videoEndSeconds : audioEndSeconds
}

/**
 * Finds out what a source contains and where it ends. If the source is not seekable, its streams are first copied into a
 * file that is. If its timestamps claim far more than the file holds, the copy gets repaired timestamps.
 */
export async function examine(deps: Deps, videoId: string, accepts?: AcceptsMp4): Promise<ExaminedSource> {
  const key = sourceKey(videoId)
  const input = await openInput(deps.files, key)
  const { bytes } = input
  try {
    return await withWorkFolder(deps, async (folder) => {
      const source = await openSource(deps, input, key)
      const mp4 =
        accepts && !source.extent.isSeekable && (await copyToMp4(deps, { input, folder }, source, accepts))
      const found = mp4 || (await findUsable(deps, { input, folder }, source))
      if (found.path === input.path) return { ...found, key, bytes }
      const copyKey = sourceCopyKey(videoId)
      await deps.files.put(copyKey, createReadStream(found.path))
      return { ...found, key: copyKey, bytes }
    })
  } finally {
    await input.close()
  }
}

async function openSource({ tools, files }: Deps, input: Input, key: string): Promise<Candidate> {
  if (await isMp4(files, key)) {
    const found = (await readPlain(files, key)) ?? (await probeMp4(tools, input.path, input))
    if (found) return { path: input.path, ...found }
  }
  const media = await probe(tools, input.path, input)
  return { path: input.path, media, extent: await findExtent(tools, input.path, media, input) }
}

async function isMp4(files: Files, key: string): Promise<boolean> {
  const chunks: Buffer[] = []
  for await (const chunk of await files.read(key, { from: 4, to: 7 })) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1') === 'ftyp'
}

async function readPlain(files: Files, key: string): Promise<ReturnType<typeof readPlainMp4>> {
  const source = await openSourceBytes(files, key)
  try {
    return await readPlainFrom(source, key)
  } finally {
    await source.close()
  }
}

/** What an MP4 contains, if its index alone says that. */
export async function readPlainFrom(
  source: SourceBytes,
  key: string,
): Promise<ReturnType<typeof readPlainMp4>> {
  const index = await readIndex(source, key)
  return index && readPlainMp4(index.tracks, source.bytes)
}

type Source = { input: Input; folder: string; untilSeconds?: number }

/** Undefined if the copy is of no use. */
export async function copyToMp4(
  deps: Deps,
  source: Source,
  { media }: Pick<Candidate, 'media'>,
  accepts: AcceptsMp4,
): Promise<Candidate | undefined> {
  const { bytes } = source.input
  const { durationSeconds: end } = media
  if (!end || isSuspicious(media, end, bytes)) return undefined
  const extent = { videoStartSeconds: 0, videoEndSeconds: end, audioEndSeconds: end, isSeekable: false }
  if (!(await accepts({ bytes, media, extent }))) return undefined
  try {
    const candidate = await copy(deps, source, media, { isMp4: true })
    const isUsable = candidate.extent.isSeekable && (await accepts({ bytes, ...candidate }, candidate.path))
    if (isUsable) return candidate
    await rm(candidate.path, { force: true })
  } catch (error) {
    // A copy in another container may still be possible.
    if (!(error instanceof Unreadable)) throw error
  }
  return undefined
}

/** The source, a copy or a repaired copy: the first one that is seekable and has a plausible duration. */
async function findUsable(
  deps: Deps,
  source: Source,
  original: Candidate,
): Promise<Candidate & { content?: Content }> {
  const { input } = source
  const { bytes } = input
  const { media } = original
  const candidate = original.extent.isSeekable ? original : await copy(deps, source, media)
  const { isSeekable } = candidate.extent
  const end = endOf(candidate.media, candidate.extent)
  if (isSeekable && !isSuspicious(media, end, bytes)) return candidate
  const content = await scanContent(deps.tools, input.path, media, { isServed: input.isServed, bytes })
  if (isSeekable && isPlausible(media, end, content)) return { ...candidate, content }
  const repaired = content.repair && (await copy(deps, source, media, { repair: content.repair }))
  if (!isSeekable && !repaired?.extent.isSeekable) throw new Unreadable('The file cannot be read completely.')
  if (!repaired?.extent.isSeekable || !isWithin(endOf(repaired.media, repaired.extent), media, content))
    throw new Unreadable(
      `The file states a duration of ${describeDuration(end)}, but contains only ${describeContent(content)}.`,
    )
  return { ...repaired, content }
}

/** The repair has removed the gaps that were counted in the source. */
const isWithin = (end: number, media: SourceMedia, content: Content) =>
  isPlausible(media, end, { ...content, maxGapSeconds: 0 })

const describeDuration = (seconds: number) =>
  seconds < 5_400 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`

const describeContent = ({ frames, audioSeconds }: Content) =>
  frames > 0 ? `${frames} frames` : `${Math.ceil(audioSeconds)} seconds of audio`

/** Copies the video and audio stream into a new file. */
export async function copy(
  { tools }: Pick<Deps, 'tools'>,
  { input, folder, untilSeconds }: Source,
  media: SourceMedia,
  { repair, isMp4 = false }: { repair?: Repair; isMp4?: boolean } = {},
): Promise<Candidate> {
  const path = join(folder, `${randomUUID()}.mkv`)
  const args = remuxArgs({
    input: input.path,
    output: path,
    media,
    isServed: input.isServed,
    repair,
    isMp4,
    untilSeconds,
  })
  try {
    await runFfmpeg(tools, args, { limits: copyLimits(input.bytes) })
  } catch (error) {
    // ffmpeg reports an error for a truncated source, but has copied the readable part.
    if (!(error instanceof RunError) || blameOf(error) === 'environment') throw error
    if (failureOf(error) === 'cpu') throw new Unreadable(explain(error), { cause: error })
    const hasOutput = ((await stat(path).catch(() => undefined))?.size ?? 0) > 0
    if (!hasOutput) throw new Unreadable('The file cannot be read.', { cause: error })
  }
  const copied = await probe(tools, path, {})
  const extent = await findExtent(tools, path, copied, {})
  const { index = 0, rate, sourceRate } = copied.picture ?? {}
  // The frame rate is an average over timestamps, which the repair has changed.
  const rates = repair && rate && sourceRate ? { rate, sourceRate } : {}
  const picture = copied.picture && media.picture && { ...media.picture, index, ...rates }
  const sound = copied.sound && media.sound && { ...copied.sound, codec: media.sound.codec }
  return { path, media: { ...media, picture, sound }, extent }
}
