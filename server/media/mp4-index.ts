import { endianness } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Box, boxesOf, inside, MAX_CHILDREN, part, readLong } from './boxes.ts'

/** Reads exactly this many bytes of a file, and rejects if there are fewer. */
export type ReadBytes = (from: number, size: number) => Promise<Buffer>

/** The samples of a track in decoding order. */
export type Samples = {
  count: number
  offsets: Float64Array
  sizes: Uint32Array
  /** When each sample is shown, in ticks of the track's timescale, after the edit list. */
  times: Float64Array
  isSync: Uint8Array
  /** The sum of all durations, in ticks. */
  ticks: number
  /** The duration of each sample but the last one, in ticks, if they are equal. */
  ticksPerSample: number | undefined
}

export type Mp4Track = {
  handler: string
  /** Ticks per second. */
  timescale: number
  /** The only sample entry. */
  entry: Box
  samples: Samples
  /** What the edit list shows, in ticks. The samples outside of it are in the file, but players leave them out. */
  shown: { from: number; to: number }
  /** Whether the track is shown rotated, mirrored or scaled. */
  isTransformed: boolean
}

const maxMoovBytes = 64 * 1024 * 1024
const maxTopBoxes = 1_000
/** Of all tracks together: six hours at 30 frames per second with audio. This limits the memory to 50 MB. */
const maxSamples = 2_000_000
/** Loops of this length take about a millisecond. */
const turnSamples = 100_000

/**
 * Reads the index of an MP4 or QuickTime file that is not fragmented. The result has an entry for each track of the file, in
 * the order of ffmpeg's streams; undefined for a track that is unusual in any way. The file is not trusted: whatever contradicts
 * itself is unusual.
 */
export async function readMp4Index(
  read: ReadBytes,
  fileBytes: number,
): Promise<(Mp4Track | undefined)[] | undefined> {
  const place = await findMoov(read, fileBytes)
  if (!place) return undefined
  const moov = await read(place.from, place.size)
  return ignoringDamage(async () => {
    const boxes = [...boxesOf(moov, MAX_CHILDREN)]
    if (boxes.some(({ type }) => type === 'mvex')) return undefined
    const movieTimescale = readTimescale(inside(moov, 'mvhd'))
    const tracks: (Mp4Track | undefined)[] = []
    let samples = 0
    for (const { body } of boxes.filter(({ type }) => type === 'trak')) {
      const file = { movieTimescale, fileBytes, maxSamples: maxSamples - samples }
      const track = await ignoringDamage(() => readTrack(body, file))
      samples += track?.samples.count ?? 0
      tracks.push(track)
    }
    return tracks
  })
}

/** Damage in a box is an error with this prefix, or of a number outside of a buffer. Errors of `read` have other forms. */
async function ignoringDamage<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RangeError || (error as Error).message.startsWith('MP4: ')) return undefined
    throw error
  }
}

async function findMoov(
  read: ReadBytes,
  fileBytes: number,
): Promise<{ from: number; size: number } | undefined> {
  let from = 0
  for (let count = 0; count < maxTopBoxes && from + 8 <= fileBytes; count++) {
    const head = await read(from, Math.min(16, fileBytes - from))
    const short = head.readUInt32BE(0)
    if (short === 1 && head.length < 16) return undefined
    const headBytes = short === 1 ? 16 : 8
    const size = short === 1 ? Number(head.readBigUInt64BE(8)) : short === 0 ? fileBytes - from : short
    if (!(size >= headBytes && size <= fileBytes - from)) return undefined
    const type = head.toString('latin1', 4, 8)
    if (type === 'moof') return undefined
    if (type === 'moov')
      return size > maxMoovBytes ? undefined : { from: from + headBytes, size: size - headBytes }
    from += size
  }
  return undefined
}

type File = { movieTimescale: number; fileBytes: number; maxSamples: number }

async function readTrack(trak: Buffer, file: File): Promise<Mp4Track | undefined> {
  const mdia = inside(trak, 'mdia')
  const handler = part(inside(mdia, 'hdlr'), 8, 4).toString('latin1')
  const timescale = readTimescale(inside(mdia, 'mdhd'))
  const stbl = inside(mdia, 'minf', 'stbl')
  const stsd = inside(stbl, 'stsd')
  const [entry] = boxesOf(part(stsd, 8), MAX_CHILDREN)
  if (!entry || part(stsd, 4, 4).readUInt32BE() !== 1) return undefined
  if (!isSelfContained(inside(mdia, 'minf', 'dinf', 'dref'))) return undefined
  const edit = readEdit(trak, file.movieTimescale, timescale)
  if (!edit) return undefined
  const samples = await readSamples(stbl, edit.shift, file)
  if (!samples) return undefined
  return {
    handler,
    timescale,
    samples,
    // A copy, because the rest of the index is large.
    entry: { type: entry.type, body: Buffer.from(entry.body) },
    shown: edit.shown,
    isTransformed: !hasPlainMatrix(trak),
  }
}

/** Of `mvhd` or `mdhd`. */
function readTimescale(header: Buffer): number {
  const timescale = part(header, part(header, 0, 1)[0] === 1 ? 20 : 12, 4).readUInt32BE()
  if (timescale === 0) throw new Error('MP4: a timescale of 0')
  return timescale
}

/** Whether the samples are in this file and not in another one. */
function isSelfContained(dref: Buffer): boolean {
  const [entry] = boxesOf(part(dref, 8), MAX_CHILDREN)
  return entry !== undefined && (part(entry.body, 0, 4).readUInt32BE() & 1) === 1
}

const plainMatrix = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000]

function hasPlainMatrix(trak: Buffer): boolean {
  const tkhd = inside(trak, 'tkhd')
  const from = part(tkhd, 0, 1)[0] === 1 ? 52 : 40
  return plainMatrix.every((value, i) => part(tkhd, from + 4 * i, 4).readUInt32BE() === value)
}

type Edit = { shift: number; shown: Mp4Track['shown'] }

/** At most one pause and then one part of the track at normal speed. Undefined for any other edit list. */
function readEdit(trak: Buffer, movieTimescale: number, timescale: number): Edit | undefined {
  const whole = { shift: 0, shown: { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY } }
  const edts = boxesOf(trak, MAX_CHILDREN).find(({ type }) => type === 'edts')
  const elst = edts && boxesOf(edts.body, MAX_CHILDREN).find(({ type }) => type === 'elst')?.body
  if (!elst) return whole
  const isLong = part(elst, 0, 1)[0] === 1
  const count = part(elst, 4, 4).readUInt32BE()
  if (count === 0) return whole
  if (count > 2) return undefined
  const entryBytes = isLong ? 20 : 12
  const entries = Array.from({ length: count }, (_, i) => {
    const entry = part(elst, 8 + i * entryBytes, entryBytes)
    return {
      ticks: ((isLong ? readLong(part(entry, 0, 8)) : entry.readUInt32BE()) / movieTimescale) * timescale,
      mediaTime: isLong ? Number(entry.readBigInt64BE(8)) : entry.readInt32BE(4),
      rate: entry.readUInt32BE(entryBytes - 4),
    }
  })
  const pause = count === 2 ? entries[0]! : { ticks: 0, mediaTime: -1 }
  const edit = entries.at(-1)!
  if (pause.mediaTime !== -1 || edit.mediaTime < 0 || edit.rate !== 0x10000) return undefined
  const from = Math.round(pause.ticks)
  // A duration of 0 stands for all that follows.
  const to = edit.ticks === 0 ? Number.POSITIVE_INFINITY : from + edit.ticks
  return { shift: from - edit.mediaTime, shown: { from, to } }
}

async function readSamples(
  stbl: Buffer,
  shift: number,
  { fileBytes, maxSamples }: File,
): Promise<Samples | undefined> {
  const stsz = inside(stbl, 'stsz')
  const count = part(stsz, 8, 4).readUInt32BE()
  // If all samples have the same size, there is no table that limits their number.
  if (part(stsz, 4, 4).readUInt32BE() !== 0 || count === 0 || count > maxSamples) return undefined
  const sizes = new Uint32Array(count)
  const table = Buffer.from(sizes.buffer)
  part(stsz, 12, 4 * count).copy(table)
  if (endianness() === 'LE') table.swap32()
  await nextTurn()
  const offsets = await readOffsets(stbl, sizes, fileBytes)
  const timing = offsets && (await readTimes(stbl, count, shift))
  const isSync = timing && readSync(stbl, count)
  return isSync && { count, offsets, sizes, isSync, ...timing }
}

/** Samples are stored in chunks. Undefined if the chunks do not contain all samples or are outside of the file. */
async function readOffsets(
  stbl: Buffer,
  sizes: Uint32Array,
  fileBytes: number,
): Promise<Float64Array | undefined> {
  const long = boxesOf(stbl, MAX_CHILDREN).find(({ type }) => type === 'co64')
  const chunkTable = long?.body ?? inside(stbl, 'stco')
  const chunks = part(chunkTable, 4, 4).readUInt32BE()
  const places = part(chunkTable, 8, chunks * (long ? 8 : 4))
  const stsc = inside(stbl, 'stsc')
  const runs = part(stsc, 4, 4).readUInt32BE()
  const runTable = part(stsc, 8, 12 * runs)
  const offsets = new Float64Array(sizes.length)
  let sample = 0
  let run = 0
  let turn = turnSamples
  if (runs === 0 || runTable.readUInt32BE(0) !== 1) return undefined
  for (let chunk = 1; chunk <= chunks && sample < sizes.length; chunk++) {
    while (run + 1 < runs && runTable.readUInt32BE(12 * (run + 1)) <= chunk) run++
    if (runTable.readUInt32BE(12 * run + 8) !== 1) return undefined
    let offset = long ? readLong(part(places, 8 * (chunk - 1), 8)) : places.readUInt32BE(4 * (chunk - 1))
    const end = Math.min(sizes.length, sample + runTable.readUInt32BE(12 * run + 4))
    for (; sample < end; sample++) {
      offsets[sample] = offset
      offset += sizes[sample]!
    }
    if (offset > fileBytes) return undefined
    if (sample + chunk > turn) {
      turn += turnSamples
      await nextTurn()
    }
  }
  return sample === sizes.length ? offsets : undefined
}

async function readTimes(
  stbl: Buffer,
  count: number,
  shift: number,
): Promise<Pick<Samples, 'times' | 'ticks' | 'ticksPerSample'> | undefined> {
  const times = new Float64Array(count)
  const durations = readRuns(inside(stbl, 'stts'), count)
  if (!durations) return undefined
  let at = shift
  for (let run = 0, sample = 0; run < durations.lengths.length; run++) {
    const ticks = durations.values.getUint32(8 * run)
    for (const end = sample + durations.lengths[run]!; sample < end; sample++) {
      times[sample] = at
      at += ticks
    }
  }
  await nextTurn()
  const { lengths, values } = durations
  const isConstant = lengths.length === 1 || (lengths.length === 2 && lengths[1] === 1)
  const timing = { times, ticks: at - shift, ticksPerSample: isConstant ? values.getUint32(0) : undefined }
  const ctts = boxesOf(stbl, MAX_CHILDREN).find(({ type }) => type === 'ctts')
  if (!ctts) return timing
  const delays = readRuns(ctts.body, count)
  if (!delays) return undefined
  for (let run = 0, sample = 0; run < delays.lengths.length; run++) {
    // Signed in version 1. Some writers use negative numbers in version 0 as well.
    const ticks = delays.values.getInt32(8 * run)
    for (const end = sample + delays.lengths[run]!; sample < end; sample++) times[sample]! += ticks
  }
  await nextTurn()
  return timing
}

/**
 * Reads a table of runs: a number of samples, and a value. The value of run `i` is at `8 * i` of `values`. Undefined unless the
 * runs have this many samples together.
 */
function readRuns(box: Buffer, count: number): { lengths: Uint32Array; values: DataView } | undefined {
  const runs = part(box, 4, 4).readUInt32BE()
  const table = part(box, 8, 8 * runs)
  if (runs > count) return undefined
  const view = new DataView(table.buffer, table.byteOffset, table.length)
  const lengths = new Uint32Array(runs)
  let sum = 0
  for (let run = 0; run < runs; run++) {
    lengths[run] = view.getUint32(8 * run)
    sum += lengths[run]!
  }
  if (sum !== count) return undefined
  return { lengths, values: new DataView(table.buffer, table.byteOffset + 4, table.length - 4) }
}

/** Without the table, all samples are sync samples. */
function readSync(stbl: Buffer, count: number): Uint8Array {
  const stss = boxesOf(stbl, MAX_CHILDREN).find(({ type }) => type === 'stss')?.body
  if (!stss) return new Uint8Array(count).fill(1)
  const isSync = new Uint8Array(count)
  const entries = part(stss, 4, 4).readUInt32BE()
  const table = part(stss, 8, 4 * entries)
  for (let i = 0; i < entries; i++) {
    const number = table.readUInt32BE(4 * i)
    if (number >= 1 && number <= count) isSync[number - 1] = 1
  }
  return isSync
}
