import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Context } from '../../context.ts'
import { prefixOf } from '../../lib/byte-ranges.ts'
import type { WorkDeps } from '../../lib/work.ts'
import { withWorkFolder } from '../../lib/work.ts'
import { type ArrivedMp4, readArrivedMp4 } from '../../media/arrived-index.ts'
import { isSuspicious } from '../../media/content.ts'
import { findVideoStart } from '../../media/extent.ts'
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
  return { source: { key, bytes, media, extent }, seconds, hasEnd: true, bytes, totalSeconds, share }
}

async function probeIndexed(
  { tools }: Pick<Deps, 'tools'>,
  path: string,
  totalSeconds: number,
): Promise<Pick<Candidate, 'media' | 'extent'>> {
  const media = await probe(tools, path, {})
  const extent = {
    videoStartSeconds: media.picture && (await findVideoStart(tools, path, media.picture.index)),
    videoEndSeconds: media.picture && totalSeconds,
    audioEndSeconds: media.sound && totalSeconds,
    isSeekable: true,
  }
  return { media, extent }
}

/** Streams end here where the other one ends as well. */
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
  const { tools, files } = deps
  const input = await openPrefix(arrived.path, prefixOf(arrived.ranges))
  try {
    return await withWorkFolder(deps, async (folder) => {
      const media = await probe(tools, input.path, input)
      const copied = await copy(deps, { input, folder }, media)
      const end = endOfAll(copied)
      if (end === undefined || end < minSeconds || isSuspicious(media, end, input.bytes)) return undefined
      const candidate = (await copyUntil(deps, { input, folder, kind, end }, media, accepts)) ?? copied
      const key = `${sourceCopyFolder(arrived.videoId)}/early-${randomUUID()}`
      await files.put(key, createReadStream(candidate.path))
      const { extent } = candidate
      const cut = {
        ...extent,
        videoEndSeconds: extent.videoEndSeconds === undefined ? undefined : end,
        audioEndSeconds: extent.audioEndSeconds === undefined ? undefined : end,
      }
      const source = { key, bytes: input.bytes, media: candidate.media, extent: cut }
      return { source, seconds: end, hasEnd: false, ...expectationOf(arrived, media, input, end) }
    })
  } finally {
    await input.close()
  }
}

/** Only containers without an index are copied as MP4 when they are complete. */
async function copyUntil(
  deps: Deps,
  { input, folder, kind, end }: { input: Input; folder: string; kind: Kind; end: number },
  media: SourceMedia,
  accepts: AcceptsMp4,
): Promise<Candidate | undefined> {
  if (kind === 'matroska') return undefined
  return copyToMp4(deps, { input, folder, untilSeconds: end }, { media }, accepts)
}

function endOfAll({ media, extent }: Candidate): number | undefined {
  const ends = [
    ...(media.picture ? [extent.videoEndSeconds] : []),
    ...(media.sound ? [extent.audioEndSeconds] : []),
  ]
  return ends.some((end) => end === undefined) ? undefined : Math.min(...(ends as number[]))
}

/** The header may say how long the source is. Otherwise its size may. */
function expectationOf(
  { total }: ArrivedFile,
  { container, durationSeconds }: SourceMedia,
  input: Input,
  end: number,
) {
  const isDeclared = container === 'matroska' && durationSeconds !== undefined && durationSeconds > end
  const share = total === undefined ? 1 : input.bytes / total
  return {
    bytes: total ?? null,
    totalSeconds: isDeclared ? durationSeconds : null,
    share: isDeclared ? end / durationSeconds : share,
  }
}
