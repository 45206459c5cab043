import { RenditionWindow } from './hls/window.ts'
import type { Part, Segment } from './media/packager.ts'

/** A complete segment, ready to be stored. */
export type FinishedSegment = {
  sequence: number
  epoch: number
  startMs: number
  durationMs: number
  receivedAt: number
  data: Buffer
}

type Options = {
  /** How far back viewers can rewind. */
  windowMs: number
  /** The number of the segment that begins at a time. All qualities have the same numbers. */
  sequenceOf(startMs: number): number
  onSegment(segment: FinishedSegment): void
  now(): number
}

/** Segments whose parts stay in memory. Playlists list the parts of the last three. */
const segmentsInMemory = 5

/**
 * One quality of a broadcast in the memory of its owner: the window that playlists show, and the data of the newest
 * segments. Older segments are in the file store.
 */
export class Rendition {
  readonly window: RenditionWindow
  readonly #options: Options
  readonly #segments = new Map<number, Buffer[]>()
  #epoch = 0
  #receivedAt = 0

  constructor(options: Options) {
    this.#options = options
    this.window = new RenditionWindow(options.windowMs)
  }

  startEpoch(epoch: number): void {
    this.#epoch = epoch
  }

  addPart(part: Part, segmentStartMs: number): void {
    const sequence = this.#options.sequenceOf(segmentStartMs)
    const parts = this.#segments.get(sequence)
    if (parts) parts.push(part.data)
    else this.#beginSegment(sequence, part)
    const { durationMs, isIndependent } = part
    this.window.addPart(
      { durationMs, isIndependent },
      { sequence, epoch: this.#epoch, receivedAt: this.#receivedAt },
    )
  }

  endSegment({ startMs, durationMs, parts }: Segment): void {
    const sequence = this.#options.sequenceOf(startMs)
    const segment = { sequence, epoch: this.#epoch, durationMs, receivedAt: this.#receivedAt }
    this.window.addSegment(segment)
    this.#options.onSegment({ ...segment, startMs, data: Buffer.concat(parts.map(({ data }) => data)) })
  }

  /** Undefined if the part does not exist yet, or not in memory any more. */
  findPart(sequence: number, index: number): Buffer | undefined {
    return this.#segments.get(sequence)?.[index]
  }

  /** A complete segment that is still in memory. */
  findSegment(sequence: number): Buffer | undefined {
    const isComplete = this.window.has(sequence, undefined)
    const parts = this.#segments.get(sequence)
    return isComplete && parts ? Buffer.concat(parts) : undefined
  }

  #beginSegment(sequence: number, part: Part): void {
    this.#segments.set(sequence, [part.data])
    // The first part is complete when its last frame has arrived.
    this.#receivedAt = this.#options.now() - part.durationMs
    const oldest = sequence - segmentsInMemory
    for (const each of this.#segments.keys()) if (each <= oldest) this.#segments.delete(each)
  }
}
