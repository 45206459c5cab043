import type { TimedSample } from '../media/flv.ts'

/** A source without a key frame for this time is encoded for viewers: they could only join at a key frame. */
const maxGroupMs = 4_500
const maxGroupBytes = 64 * 1024 * 1024
/** The memory of a sample besides its data. */
const sampleOverhead = 256

/** The samples of the source since its last key frame, to encode them if the next key frame does not come in time. */
export class KeyFrameGroup {
  #samples: TimedSample[] = []
  #bytes = 0
  #lastKeyFrameMs: number | undefined
  #longestMs = 0

  /** The longest time between two key frames so far. */
  get longestMs(): number {
    return this.#longestMs
  }

  /** A key frame begins the next group. */
  begin(atMs: number): void {
    this.take()
    this.#longestMs = Math.max(this.#longestMs, atMs - (this.#lastKeyFrameMs ?? atMs))
    this.#lastKeyFrameMs = atMs
  }

  /** True if the group has become too long. While there is only audio, there is nothing to encode. */
  add(timed: TimedSample): boolean {
    this.#samples.push(timed)
    this.#bytes += timed.sample.data.length + sampleOverhead
    const isTooLong = timed.kind === 'video' && timed.atMs - this.#samples[0]!.atMs > maxGroupMs
    return isTooLong || this.#bytes > maxGroupBytes
  }

  take(): TimedSample[] {
    const samples = this.#samples
    this.#samples = []
    this.#bytes = 0
    return samples
  }
}
