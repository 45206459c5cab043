import { setImmediate as nextTurn } from 'node:timers/promises'
import { boxesOf, inside, MAX_CHILDREN, part, readLong } from './boxes.ts'
import type { ReadBytes } from './mp4-index.ts'

// How much of an MP4 or QuickTime file can be decoded while parts of it are still missing. Only the chunk tables are read:
// they are enough for every codec, and for files whose index is unusual in other ways.

/** A file of which some bytes have arrived. */
export type ArrivedBytes = {
  read: ReadBytes
  has(from: number, to: number): boolean
  /** Undefined if the size of the complete file is not known. */
  total: number | undefined
}

export type ArrivedMp4 =
  /** The index has not arrived, or cannot be used before the file is complete. */
  | { kind: 'unknown' }
  | { kind: 'fragmented' }
  | {
      kind: 'indexed'
      /** Everything before this time has arrived. */
      seconds: number
      totalSeconds: number
      /** The size of the complete file. */
      bytes: number
    }

const unknown = { kind: 'unknown' } as const
const maxTopBoxes = 1_000
const maxMoovBytes = 64 * 1024 * 1024
/** Of all tracks together. A film of two hours has about 20,000. */
const maxChunks = 500_000
const turnChunks = 50_000

export async function readArrivedMp4(file: ArrivedBytes): Promise<ArrivedMp4> {
  const found = await findMoov(file)
  if (!found) return unknown
  const moov = await file.read(found.from, found.to - found.from)
  try {
    const boxes = [...boxesOf(moov, MAX_CHILDREN)]
    if (boxes.some(({ type }) => type === 'mvex')) return { kind: 'fragmented' }
    const traks = boxes.filter(({ type }) => type === 'trak').map(({ body }) => body)
    return await readTracks(traks, file, found.bytes)
  } catch (error) {
    // Damage in a box.
    if (error instanceof RangeError || (error as Error).message.startsWith('MP4: ')) return unknown
    throw error
  }
}

/** The place of the index, and the end of the last box that is known. */
async function findMoov({
  read,
  has,
  total = Number.MAX_SAFE_INTEGER,
}: ArrivedBytes): Promise<{ from: number; to: number; bytes: number } | undefined> {
  let moov: { from: number; to: number } | undefined
  let from = 0
  for (let count = 0; count < maxTopBoxes && from + 16 <= total && has(from, from + 16); count++) {
    const head = await read(from, 16)
    const short = head.readUInt32BE(0)
    const headBytes = short === 1 ? 16 : 8
    const size = short === 1 ? Number(head.readBigUInt64BE(8)) : short
    // Without a size, the box goes on to the end of the file.
    if (short === 0) from = total
    if (size < headBytes || from + size > total) break
    const type = head.toString('latin1', 4, 8)
    if (type === 'moov') moov = { from: from + headBytes, to: from + size }
    from += size
    if (type === 'moof') break
  }
  if (!moov || moov.to - moov.from > maxMoovBytes || !has(moov.from, moov.to)) return undefined
  return { ...moov, bytes: from }
}

type Track = { offsets: Float64Array; stbl: Buffer; timescale: number; mediaTime: number }

async function readTracks(traks: Buffer[], file: ArrivedBytes, bytes: number): Promise<ArrivedMp4> {
  const tracks: (Track & { isMedia: boolean; ticks: number })[] = []
  let chunks = 0
  for (const trak of traks) {
    const mdia = inside(trak, 'mdia')
    const handler = part(inside(mdia, 'hdlr'), 8, 4).toString('latin1')
    const { timescale, ticks } = readHeader(inside(mdia, 'mdhd'))
    const stbl = inside(mdia, 'minf', 'stbl')
    const offsets = readChunkOffsets(stbl)
    const mediaTime = readMediaTime(trak)
    const isMedia = handler === 'vide' || handler === 'soun'
    if (mediaTime === undefined) return unknown
    chunks += offsets.length
    tracks.push({ offsets, stbl, timescale, mediaTime, isMedia, ticks })
  }
  const media = tracks.filter(({ isMedia }) => isMedia)
  if (chunks > maxChunks || media.length === 0) return unknown
  // A chunk ends where the next one begins, of whichever track.
  const sorted = new Float64Array(chunks)
  let at = 0
  for (const { offsets } of tracks) {
    sorted.set(offsets, at)
    at += offsets.length
  }
  sorted.sort()
  await nextTurn()
  let seconds = Number.POSITIVE_INFINITY
  for (const track of media) {
    const missing = await findMissing(track, sorted, file, bytes)
    if (missing === undefined) continue
    seconds = Math.min(seconds, (timeOfChunk(track.stbl, missing) - track.mediaTime) / track.timescale)
  }
  const totalSeconds = Math.max(
    ...media.map(({ ticks, mediaTime, timescale }) => (ticks - mediaTime) / timescale),
  )
  return { kind: 'indexed', seconds: Math.max(0, seconds), totalSeconds, bytes }
}

/** The first chunk of a track that has not arrived completely. Undefined if there is none. */
async function findMissing(
  { offsets }: Track,
  sorted: Float64Array,
  { has }: ArrivedBytes,
  end: number,
): Promise<number | undefined> {
  for (let chunk = 0; chunk < offsets.length; chunk++) {
    const from = offsets[chunk]!
    if (!has(from, nextAfter(sorted, from) ?? Math.max(from, end))) return chunk
    if (chunk % turnChunks === turnChunks - 1) await nextTurn()
  }
  return undefined
}

/** The first of these ascending numbers that is greater than `value`. */
function nextAfter(numbers: Float64Array, value: number): number | undefined {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (numbers[middle]! > value) to = middle
    else from = middle + 1
  }
  return numbers[from]
}

function readHeader(mdhd: Buffer): { timescale: number; ticks: number } {
  const isLong = part(mdhd, 0, 1)[0] === 1
  const timescale = part(mdhd, isLong ? 20 : 12, 4).readUInt32BE()
  if (timescale === 0) throw new Error('MP4: a timescale of 0')
  return { timescale, ticks: isLong ? readLong(part(mdhd, 24, 8)) : part(mdhd, 16, 4).readUInt32BE() }
}

function readChunkOffsets(stbl: Buffer): Float64Array {
  const long = boxesOf(stbl, MAX_CHILDREN).find(({ type }) => type === 'co64')?.body
  const table = long ?? inside(stbl, 'stco')
  const count = part(table, 4, 4).readUInt32BE()
  if (count > maxChunks) throw new Error('MP4: too many chunks')
  const places = part(table, 8, count * (long ? 8 : 4))
  const offsets = new Float64Array(count)
  for (let i = 0; i < count; i++)
    offsets[i] = long ? readLong(part(places, 8 * i, 8)) : places.readUInt32BE(4 * i)
  return offsets
}

/**
 * The time in the track that is shown first. A pause in front of it only makes everything later. Undefined for an edit list
 * that changes the order or the speed.
 */
function readMediaTime(trak: Buffer): number | undefined {
  const edts = boxesOf(trak, MAX_CHILDREN).find(({ type }) => type === 'edts')
  const elst = edts && boxesOf(edts.body, MAX_CHILDREN).find(({ type }) => type === 'elst')?.body
  if (!elst) return 0
  const isLong = part(elst, 0, 1)[0] === 1
  const count = part(elst, 4, 4).readUInt32BE()
  if (count === 0) return 0
  if (count > 2) return undefined
  const entryBytes = isLong ? 20 : 12
  const times = Array.from({ length: count }, (_, i) => {
    const entry = part(elst, 8 + i * entryBytes, entryBytes)
    return isLong ? Number(entry.readBigInt64BE(8)) : entry.readInt32BE(4)
  })
  if (count === 2 && times[0] !== -1) return undefined
  return Math.max(0, times.at(-1)!)
}

/** When the first sample of a chunk is decoded, in ticks. */
function timeOfChunk(stbl: Buffer, chunk: number): number {
  const stsc = inside(stbl, 'stsc')
  const runs = part(stsc, 4, 4).readUInt32BE()
  const table = part(stsc, 8, 12 * runs)
  let sample = 0
  for (let run = 0; run < runs; run++) {
    const first = table.readUInt32BE(12 * run) - 1
    const next = run + 1 < runs ? table.readUInt32BE(12 * (run + 1)) - 1 : Number.POSITIVE_INFINITY
    if (first >= chunk) break
    sample += (Math.min(chunk, next) - first) * table.readUInt32BE(12 * run + 4)
  }
  const stts = inside(stbl, 'stts')
  const entries = part(stts, 4, 4).readUInt32BE()
  const durations = part(stts, 8, 8 * entries)
  let ticks = 0
  for (let i = 0; i < entries && sample > 0; i++) {
    const count = Math.min(sample, durations.readUInt32BE(8 * i))
    ticks += count * durations.readUInt32BE(8 * i + 4)
    sample -= count
  }
  return ticks
}
