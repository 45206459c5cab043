/**
 * Gives encoded frames the decode times of the source. The encoder writes frames in the order of presentation, without
 * B-frames. With their presentation times as decode times, its key frames would come later than those of a source with
 * B-frames, and the segments of both would begin at different times.
 *
 * The n-th frame to be shown gets the n-th decode time. At the key frames of a source with closed groups of pictures, this
 * is the decode time of the key frame.
 */
export class DecodeTimes {
  /** Both sorted. They have the same length. */
  #presentation: number[] = []
  #decode: number[] = []

  /** The number of frames that the encoder has not returned. */
  get length(): number {
    return this.#decode.length
  }

  /** Adds a frame of the source, in the order of decoding. */
  add(decodeMs: number, presentationMs: number): void {
    this.#decode.push(decodeMs)
    const before = this.#presentation.findLastIndex((each) => each <= presentationMs)
    this.#presentation.splice(before + 1, 0, presentationMs)
  }

  /** Returns the decode time of an encoded frame. Undefined if the source has no frame at this time. */
  take(presentationMs: number): number | undefined {
    // The encoder has dropped the frames before.
    const index = this.#presentation.findIndex((each) => each >= presentationMs)
    const isKnown = this.#presentation[index] === presentationMs
    const dropped = index < 0 ? this.#decode.length : index
    const decodeMs = isKnown ? this.#decode[index] : undefined
    this.#presentation.splice(0, dropped + (isKnown ? 1 : 0))
    this.#decode.splice(0, dropped + (isKnown ? 1 : 0))
    return decodeMs
  }
}
