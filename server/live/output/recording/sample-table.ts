import { box, fullBox, matrix, text, u16, u32 } from '../../../media/write-boxes.ts'
import type { InitTrack, Sample, TrackKind } from './read-segment.ts'

/** The movie counts in microseconds, so that the start of a track can be given exactly enough. */
export const movieTimescale = 1_000_000

/** Big-endian numbers of 32 bits. An array of numbers would take several times the memory. */
class NumberList {
  #bytes = Buffer.alloc(4_096)
  #length = 0

  get count(): number {
    return this.#length / 4
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  push(...values: number[]): void {
    for (const value of values) {
      if (this.#length === this.#bytes.length)
        this.#bytes = Buffer.concat([this.#bytes], 2 * this.#bytes.length)
      this.#length = this.#bytes.writeUInt32BE(value >>> 0, this.#length)
    }
  }
}

/** Pairs of a count and a value, for equal values in a row. */
class RunList {
  readonly #list = new NumberList()
  #count = 0
  #value = 0

  push(value: number): void {
    if (value !== this.#value) this.#flush()
    this.#value = value
    this.#count++
  }

  #flush(): void {
    if (this.#count > 0) this.#list.push(this.#count, this.#value)
    this.#count = 0
  }

  finish(): NumberList {
    this.#flush()
    return this.#list
  }
}

/** Collects the samples of one track and writes its `trak` box (ISO/IEC 14496-12, 8.3). */
export class SampleTable {
  readonly #kind: TrackKind
  readonly #track: InitTrack
  readonly #durations = new RunList()
  readonly #compositionOffsets = new RunList()
  readonly #sizes = new NumberList()
  readonly #keyFrames = new NumberList()
  readonly #chunks = new NumberList()
  readonly #chunkRuns = new NumberList()
  #lastChunkSamples = 0
  #firstTime: number | undefined
  #lastTime = 0
  #lastDuration = 0

  constructor(kind: TrackKind, track: InitTrack) {
    this.#kind = kind
    this.#track = track
  }

  /** Adds samples that lie one after the other from `offset` of the file on. */
  add(offset: number, samples: Sample[]): void {
    this.#chunks.push(Math.floor(offset / 2 ** 32), offset)
    if (samples.length !== this.#lastChunkSamples)
      this.#chunkRuns.push(this.#chunks.count / 2, samples.length, firstEntry)
    this.#lastChunkSamples = samples.length
    for (const sample of samples) this.#addSample(sample)
  }

  #addSample({ decodeTime, duration, compositionOffset, isKeyFrame, size }: Sample): void {
    const isFirst = this.#firstTime === undefined
    // The audio of a connection may end a little after its video, and then overlaps with the next connection.
    const time = isFirst ? decodeTime : Math.max(decodeTime, this.#lastTime + 1)
    if (isFirst) this.#firstTime = time
    else this.#durations.push(time - this.#lastTime)
    this.#lastTime = time
    this.#lastDuration = duration
    this.#compositionOffsets.push(compositionOffset)
    this.#sizes.push(size)
    if (isKeyFrame) this.#keyFrames.push(this.#sizes.count)
  }

  /** In ticks of the movie. Undefined without samples. */
  get start(): number | undefined {
    return this.#firstTime === undefined ? undefined : this.#toMovie(this.#firstTime)
  }

  #toMovie(time: number): number {
    return Math.round((time * movieTimescale) / this.#track.timescale)
  }

  /** The box in pieces, because a copy would take as much memory as the tables. */
  finish(id: number, origin: number): { pieces: Buffer[]; end: number } {
    this.#durations.push(this.#lastDuration)
    const duration = this.#lastTime + this.#lastDuration - this.#firstTime!
    const delay = this.#toMovie(this.#firstTime!) - origin
    const shown = this.#toMovie(duration)
    const end = delay + shown
    const isVideo = this.#kind === 'video'
    const { timescale, width, height } = this.#track
    const enabledInMovie = 3
    const trackHeader = fullBox(
      ...(['tkhd', 1, enabledInMovie] as const),
      ...[u64(0, 0), u32(id, 0), u64(end), u32(0, 0), u16(0, 0, isVideo ? 0 : 0x100, 0), matrix],
      u32(width * 0x10000, height * 0x10000),
    )
    const edits = delay > 0 ? [editList(delay, shown)] : []
    const undetermined = 0x55c4
    const mediaHeader = fullBox(
      ...(['mdhd', 1, 0, u64(0, 0), u32(timescale), u64(duration)] as const),
      u16(undetermined, 0),
    )
    const handler = fullBox('hdlr', 0, 0, u32(0), text(isVideo ? 'vide' : 'soun'), u32(0, 0, 0), zero)
    const typeHeader = isVideo ? fullBox('vmhd', 0, 1, u16(0, 0, 0, 0)) : fullBox('smhd', 0, 0, u16(0, 0))
    const dataInFile = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)))
    const information = inPieces('minf', typeHeader, dataInFile, ...this.#tables())
    const media = inPieces('mdia', mediaHeader, handler, ...information)
    return { pieces: inPieces('trak', trackHeader, ...edits, ...media), end }
  }

  #tables(): Buffer[] {
    const table = (type: string, list: NumberList, perEntry: number) =>
      inPieces(type, u32(0, list.count / perEntry), list.bytes)
    // Offsets may be negative in version 1.
    const compositionOffsets = this.#compositionOffsets.finish()
    return inPieces(
      'stbl',
      fullBox('stsd', 0, 0, u32(1), this.#track.entry),
      ...table('stts', this.#durations.finish(), 2),
      ...(this.#kind === 'video'
        ? [
            ...inPieces('ctts', u32(0x1000000, compositionOffsets.count / 2), compositionOffsets.bytes),
            ...table('stss', this.#keyFrames, 1),
          ]
        : []),
      ...table('stsc', this.#chunkRuns, 3),
      ...inPieces('stsz', u32(0, 0, this.#sizes.count), this.#sizes.bytes),
      ...table('co64', this.#chunks, 2),
    )
  }
}

const firstEntry = 1
const zero = Buffer.alloc(1)

/** The track begins after `delay`. */
function editList(delay: number, shown: number): Buffer {
  const normalRate = 0x10000
  const nothing = Buffer.alloc(8, 0xff)
  return box(
    'edts',
    fullBox('elst', 1, 0, u32(2), u64(delay), nothing, u32(normalRate), u64(shown, 0), u32(normalRate)),
  )
}

export function inPieces(type: string, ...pieces: Buffer[]): Buffer[] {
  const size = pieces.reduce((sum, { length }) => sum + length, 8)
  return [u32(size), text(type), ...pieces]
}

export function u64(...values: number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length)
  for (const [i, value] of values.entries()) bytes.writeBigUInt64BE(BigInt(value), 8 * i)
  return bytes
}
