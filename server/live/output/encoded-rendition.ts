import type { Sample } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import type { BroadcastEvent } from '../state/live-broadcast.ts'
import { RenditionOutput } from './rendition-output.ts'
import type { SegmentNumbers } from './segment-numbers.ts'
import type { WriteQueue } from './write-queue.ts'

type Options = {
  quality: string
  fence: number
  show(event: BroadcastEvent): void
  writer: WriteQueue
  numbers: SegmentNumbers
  /** The source is not shown, so the encoded qualities decide together where segments begin. */
  isReference: boolean
  minSegmentMs: number
  /** The epoch of the source at a time. The encoder is behind the source. */
  epochAt(atMs: number): number
  now(): Date
  /** The first part can be watched. */
  onStart(): void
}

/** An encoded quality of a broadcast. It begins with a segment of the other qualities. */
export class EncodedRendition {
  readonly #options: Options
  readonly #writer: RenditionOutput
  /** The tracks of the next segment. Until it begins, samples are left out. */
  #pending: Tracks | undefined
  #isStarted = false

  constructor(options: Options) {
    const { isReference, minSegmentMs, numbers } = options
    this.#options = options
    this.#writer = new RenditionOutput({
      ...options,
      startsSegment: (atMs, segmentStartMs) =>
        isReference ? atMs - segmentStartMs >= minSegmentMs : numbers.find(atMs) !== undefined,
      numberOf: (startMs) => this.#numberOf(startMs),
    })
  }

  tracks(tracks: Tracks): void {
    this.#pending = tracks
  }

  video(sample: Sample, atMs: number): void {
    if (this.#pending) this.#begin(this.#pending, sample, atMs)
    if (!this.#pending) this.#writer.video(sample, atMs)
  }

  audio(sample: Sample, atMs: number): void {
    if (!this.#pending) this.#writer.audio(sample, atMs)
  }

  end(): void {
    this.#writer.end()
  }

  #begin(tracks: Tracks, { isKeyFrame }: Sample, atMs: number): void {
    const { epochAt, isReference, numbers, onStart } = this.#options
    if (!isKeyFrame || !(isReference || numbers.find(atMs) !== undefined)) return
    this.#pending = undefined
    this.#writer.start(epochAt(atMs), tracks)
    if (!this.#isStarted) onStart()
    this.#isStarted = true
  }

  #numberOf(startMs: number): number {
    const { numbers } = this.#options
    return numbers.find(startMs) ?? numbers.begin(startMs)
  }
}
