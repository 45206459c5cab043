import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Context } from '../../context.ts'
import { prefixOf } from '../../lib/byte-ranges.ts'
import type { WorkDeps } from '../../lib/work.ts'
import { withWorkFolder } from '../../lib/work.ts'
import { type ArrivedMp4, readArrivedMp4 } from '../../media/arrived-index.ts'
import { isSuspicious } from '../../media/content.ts'
import { type Extent, findVideoStart } from '../../media/extent.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { probe } from '../../media/probe.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import { sourceCopyFolder, sourceKey } from '../../videos/files.ts'
import {
  type AcceptsMp4,
  type Candidate,
  copy,
  copyToMp4,
  type ExaminedSource,
  readPlainFrom,
} from '../plan/examine.ts'
import { type ArrivedFile, openArrivedBytes } from '../source/arrived-file.ts'
import { type Input, openPrefix } from '../source/input.ts'
import { openFileBytes } from '../source/source-bytes.ts'

type Deps = Pick<Context, 'files'> & WorkDeps & { tools: Tools }

/** What the beginning of a source contains. */
export type ExaminedBeginning = {
  source: ExaminedSource
  /** Everything before this time has arrived. */
  seconds: number
  /** Whether the source is examined as if it were complete, because its index describes all of it. */
  hasEnd: boolean
  /** Whether it is decoded as it is, and not from a copy of its streams. */
  isRead: boolean
  /** Whether its frames may be those of the highest quality. */
  canCopy: boolean
  /** The size of the complete file, if it is known. */
  bytes: number | null
  /** The duration of the complete video, if it is known. */
  totalSeconds: number | null
  share: number
}

type Kind = 'mp4' | 'matroska' | 'mpegts' | 'flv'

/** Undefined if nothing can be encoded yet, or nothing before the source is complete. Throws `Unreadable`. */
export async function examineArrived(
  deps: Deps,
  arrived: ArrivedFile,
  accepts: AcceptsMp4,
): Promise<ExaminedBeginning | undefined> {
  const kind = await readKind(arrived)
  if (kind !== 'mp4') return kind && examineGrowing(deps, arrived, kind, accepts)
  const index = await readIndex(arrived)
  if (index.kind === 'fragmented') return examineGrowing(deps, arrived, kind, accepts)
  return index.kind === 'indexed' ? examineIndexed(deps, arrived, index) : undefined
}

const signatureBytes = 400

/** The containers that can be read from their start on, by their first bytes. */
async function readKind({ path, ranges }: ArrivedFile): Promise<Kind | undefined> {
  if (prefixOf(ranges) < signatureBytes) return undefined
  const file = await openFileBytes(path)
  try {
    const head = await file.read(0, signatureBytes)
    if (head.toString('latin1', 4, 8) === 'ftyp') return 'mp4'
    if (head.readUInt32BE(0) === 0x1a45dfa3) return 'matroska'
    if (head.toString('latin1', 0, 3) === 'FLV') return 'flv'
    return [0, 188, 376].every((at) => head[at] === 0x47) ? 'mpegts' : undefined
  } finally {
    await file.close()
  }
}

async function readIndex(arrived: ArrivedFile): Promise<ArrivedMp4> {
  const file = await openArrivedBytes(arrived, 0)
  try {
    return await readArrivedMp4({ read: file.read, has: file.has!, total: arrived.total })
  } finally {
    await file.close()
  }
}

/** The index is complete, so the plan of the complete source is known, except for what is damaged in it. */
async function examineIndexed(
  { tools }: Deps,
  arrived: ArrivedFile,
  { seconds, totalSeconds, bytes }: Extract<ArrivedMp4, { kind: 'indexed' }>,
): Promise<ExaminedBeginning | undefined> {
  const key = sourceKey(arrived.videoId)
  const file = await openArrivedBytes(arrived, bytes)
  const plain = await readPlainFrom(file, key).finally(() => file.close())
  const { media, extent } = plain ?? (await probeIndexed({ tools }, arrived.path, totalSeconds))
  if (isSuspicious(media, totalSeconds, bytes)) return undefined
  const share = Math.min(1, seconds / totalSeconds)
  const examined = { source: { key, bytes, media, extent }, hasEnd: true, isRead: true, canCopy: true }
  return { ...examined, seconds, bytes, totalSeconds, share }
}

async function probeIndexed(
  { tools }: Pick<Deps, 'tools'>,
  path: string,
  totalSeconds: number,
): Promise<Pick<Candidate, 'media' | 'extent'>> {
  const media = await probe(tools, path, {})
  const extent = {
    videoStartSeconds: media.picture && (await findVideoStart(tools, path, media.picture.index, {})),
    videoEndSeconds: media.picture && totalSeconds,
    audioEndSeconds: media.sound && totalSeconds,
    isSeekable: true,
  }
  return { media, extent }
}

/** Less cannot be encoded. */
const minSeconds = 2

/**
 * Nothing describes what has not arrived. What has is copied into a file of its own, as the streams of a complete source
 * without an index are.
 */
async function examineGrowing(
  deps: Deps,
  arrived: ArrivedFile,
  kind: Kind,
  accepts: AcceptsMp4,
): Promise<ExaminedBeginning | undefined> {
  const input = await openPrefix(arrived.path, prefixOf(arrived.ranges))
  try {
    return await withWorkFolder(deps, async (folder) => {
      const media = await probe(deps.tools, input.path, input)
      const copied = await copy(deps, { input, folder }, media)
      const end = endOfAll(copied)
      if (end === undefined || end < minSeconds || isSuspicious(media, end, input.bytes)) return undefined
      const growing = { input, folder, kind, media, copied, end }
      const found = await chooseFile(deps, arrived, growing, accepts)
      return { ...found, seconds: end, hasEnd: false, ...expectationOf(arrived, growing) }
    })
  } finally {
    await input.close()
  }
}

type Growing = {
  input: Input
  folder: string
  kind: Kind
  media: SourceMedia
  copied: Candidate
  /** Where the stream that is shorter ends. */
  end: number
}

/** The file that is decoded: the same as for the complete source, as far as that can be known. */
async function chooseFile(
  deps: Deps,
  { videoId }: ArrivedFile,
  { input, folder, kind, media, copied, end }: Growing,
  accepts: AcceptsMp4,
): Promise<Pick<ExaminedBeginning, 'source' | 'isRead' | 'canCopy'>> {
  const { bytes } = input
  // A complete file has an index, and is not copied. The copy would move the audio if it has a codec delay.
  if (kind === 'matroska' && media.durationSeconds !== undefined) {
    const videoStartSeconds =
      media.picture && (await findVideoStart(deps.tools, input.path, media.picture.index, input))
    const extent = endAt({ ...copied.extent, videoStartSeconds }, end)
    return { source: { key: sourceKey(videoId), bytes, media, extent }, isRead: true, canCopy: false }
  }
  const canCopy = kind === 'mpegts' || kind === 'flv'
  const mp4 = canCopy
    ? await copyToMp4(deps, { input, folder, untilSeconds: end }, { media }, accepts)
    : undefined
  const candidate = mp4 ?? copied
  const key = `${sourceCopyFolder(videoId)}/early-${randomUUID()}`
  await deps.files.put(key, createReadStream(candidate.path))
  const extent = endAt(candidate.extent, end)
  return { source: { key, bytes, media: candidate.media, extent }, isRead: false, canCopy }
}

const endAt = (extent: Extent, end: number): Extent => ({
  ...extent,
  videoEndSeconds: extent.videoEndSeconds === undefined ? undefined : end,
  audioEndSeconds: extent.audioEndSeconds === undefined ? undefined : end,
})

function endOfAll({ media, extent }: Candidate): number | undefined {
  const ends = [
    ...(media.picture ? [extent.videoEndSeconds] : []),
    ...(media.sound ? [extent.audioEndSeconds] : []),
  ]
  return ends.some((end) => end === undefined) ? undefined : Math.min(...(ends as number[]))
}

/** The header may say how long the source is. Otherwise its size may. */
function expectationOf({ total }: ArrivedFile, { kind, media, input, end }: Growing) {
  const { durationSeconds } = media
  const isDeclared = kind === 'matroska' && durationSeconds !== undefined && durationSeconds > end
  const share = total === undefined ? 1 : input.bytes / total
  return {
    bytes: total ?? null,
    totalSeconds: isDeclared ? durationSeconds : null,
    share: isDeclared ? end / durationSeconds : share,
  }
}
