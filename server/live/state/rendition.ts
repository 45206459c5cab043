import { Bytes } from '../media/bytes.ts'
import { PlaylistWindow, type WindowPart, type WindowSegment } from './playlist-window.ts'

/** The init segment of an epoch, and what the master playlist says about it. */
export type Init = {
  epoch: number
  data: Buffer
  codecs: string
  /** Null if there is no video. */
  width: number | null
  height: number | null
}

export type NewPart = WindowPart & Pick<WindowSegment, 'sequence' | 'epoch' | 'receivedAt'> & { data: Bytes }
export type NewSegment = Omit<WindowSegment, 'parts' | 'isGap'>

/** Half a second in whole frames: 15 frames at 30 frames per second take 501 ms if their times are rounded. */
export const partMs = 501

/** Segments whose parts stay in memory. Playlists list the parts of the last three. */
const segmentsInMemory = 5
/** Enough to know the bit rate of the recent past. */
const maxSizes = 30

type Memory = { parts: Bytes[]; isStored: boolean; segment?: Bytes }

/** One quality of a broadcast: the window that playlists show, and the data of the newest segments. */
export class Rendition {
  readonly window: PlaylistWindow
  readonly #inits = new Map<number, Init>()
  readonly #memory = new Map<number, Memory>()
  #sizes: { bytes: number; durationMs: number }[] = []

  constructor(windowMs: number) {
    this.window = new PlaylistWindow(windowMs)
  }

  addInit(init: Init): void {
    this.#inits.set(init.epoch, init)
  }

  findInit(epoch: number): Init | undefined {
    return this.#inits.get(epoch)
  }

  get inits(): Init[] {
    return [...this.#inits.values()]
  }

  get latestInit(): Init | undefined {
    return this.inits.at(-1)
  }

  addPart({ data, durationMs, isIndependent, sequence, epoch, receivedAt }: NewPart): void {
    const memory = this.#memory.get(sequence)
    if (memory) memory.parts.push(data)
    else this.#memory.set(sequence, { parts: [data], isStored: false })
    this.window.addPart({ durationMs, isIndependent }, { sequence, epoch, receivedAt })
  }

  addSegment(segment: NewSegment): void {
    const { sequence, epoch, receivedAt, durationMs, bytes, fence } = segment
    this.#sizes = [...this.#sizes, { bytes, durationMs }].slice(-maxSizes)
    this.window.addSegment({ sequence, epoch, receivedAt, durationMs, bytes, fence })
    const oldest = this.window.state.segments[0]?.epoch ?? epoch
    for (const each of this.#inits.keys()) if (each < oldest) this.#inits.delete(each)
  }

  /** The segment is in the file store. Until then it stays in memory. */
  markStored(sequence: number): void {
    const memory = this.#memory.get(sequence)
    if (memory) memory.isStored = true
    const oldest = Math.max(...this.#memory.keys()) - segmentsInMemory
    for (const [each, { isStored }] of this.#memory) if (isStored && each <= oldest) this.#memory.delete(each)
  }

  /** The segment will not be stored. */
  drop(sequence: number): void {
    this.#memory.delete(sequence)
    this.window.drop(sequence)
  }

  /** What is no longer in memory is stored. */
  isStored(sequence: number): boolean {
    return this.#memory.get(sequence)?.isStored ?? true
  }

  /** Undefined if the part does not exist yet, or not in memory any more. */
  findPart(sequence: number, index: number): Bytes | undefined {
    return this.#memory.get(sequence)?.parts[index]
  }

  /** A complete segment that is still in memory. */
  findSegment(sequence: number): Bytes | undefined {
    const memory = this.#memory.get(sequence)
    if (!memory || !this.window.has(sequence, undefined)) return undefined
    memory.segment ??= new Bytes(memory.parts.flatMap(({ buffers }) => buffers))
    return memory.segment
  }

  /** Bits per second of the recent segments. */
  get bandwidth(): { average: number; peak: number } {
    const rates = this.#sizes.map(({ bytes, durationMs }) => (bytes * 8_000) / Math.max(1, durationMs))
    const total = this.#sizes.reduce((sum, { bytes }) => sum + bytes, 0)
    const totalMs = this.#sizes.reduce((sum, { durationMs }) => sum + durationMs, 0)
    return {
      average: Math.round((total * 8_000) / Math.max(1, totalMs)),
      peak: Math.round(Math.max(0, ...rates)),
    }
  }
}
