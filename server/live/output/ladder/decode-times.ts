/**
 * Gives encoded frames the decode times of the source. The encoder writes frames in the order of presentation, without
 * B-frames. With their presentation times as decode times, its key frames would come later than those of a source with
 * B-frames, and the segments of both would begin at different times.
 *
 * The n-th frame to be shown gets the n-th decode time, so a key frame gets its own.
 */
export class DecodeTimes {
  /** Both sorted. They have the same length. */
  readonly #presentation: number[] = []
  readonly #decode: number[] = []
  #key = { decodeMs: Number.NEGATIVE_INFINITY, presentationMs: Number.NEGATIVE_INFINITY }

  /** The number of frames that the encoder has not returned. */
  get length(): number {
    return this.#decode.length
  }

  /** Adds a frame of the source, in the order of decoding. */
  add(decodeMs: number, presentationMs: number, isKeyFrame: boolean): void {
    const before = this.#presentation.findLastIndex((each) => each <= presentationMs)
    this.#presentation.splice(before + 1, 0, presentationMs)
    const isLeading = presentationMs < this.#key.presentationMs
    const key = isLeading ? this.#decode.indexOf(this.#key.decodeMs) : -1
    if (key < 0) this.#decode.push(decodeMs)
    else this.#decode.splice(key, 0, this.#beforeKeyFrame(key))
    if (isKeyFrame) this.#key = { decodeMs, presentationMs }
  }

  /** In an open group of pictures, frames after the key frame are shown before it. They are encoded before it, too. */
  #beforeKeyFrame(key: number): number {
    const previous = this.#decode[key - 1] ?? this.#key.decodeMs - maxLeadingFrames
    return Math.min(previous + 1, this.#key.decodeMs - 1)
  }

  /** Returns the decode time of an encoded frame. Undefined if the source has no frame at this time. */
  take(presentationMs: number): number | undefined {
    const index = this.#presentation.findIndex((each) => each >= presentationMs)
    const isKnown = this.#presentation[index] === presentationMs
    const decodeMs = isKnown ? this.#decode[index] : undefined
    // The encoder has dropped the frames before.
    const passed = index < 0 ? this.#decode.length : index + (isKnown ? 1 : 0)
    this.#presentation.splice(0, passed)
    this.#decode.splice(0, passed)
    return decodeMs
  }
}

/** H.264 has at most 16 frames between two that are shown in the order of decoding. */
const maxLeadingFrames = 17
