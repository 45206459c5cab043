import type { Encoded } from './stream-type.ts'

/** A higher quality must be encoded this far ahead, so that the player does not return to the lower one at once. */
const switchSeconds = 6
/** The buffer does not end exactly where a segment ends. */
const toleranceSeconds = 0.5

/** The rendition of the audio. */
const audio = 'sound'

type Choice = {
  /** The quality to play if it is encoded far enough. */
  wanted: number
  /** The quality that is being loaded, or -1. */
  current: number
  /** Where the next segment begins. */
  position: number
}

/**
 * How far each quality is encoded. While a video is being encoded, some qualities are ahead of others. A video that is
 * encoded has all of them.
 */
export class Growth {
  /** Infinity while it is not certain. */
  #durationSeconds = Number.POSITIVE_INFINITY
  /** Infinity for a complete quality. A quality that is missing has failed. */
  #seconds: Map<string, number> | undefined
  #isGrowing = false

  constructor(encoded: Encoded) {
    this.update(encoded)
  }

  get isGrowing(): boolean {
    return this.#isGrowing
  }

  /** The seconds are null once the video is encoded. */
  update({ encodedSeconds, durationSeconds, isUploading }: Encoded): void {
    if (durationSeconds !== null && !isUploading) this.#durationSeconds = durationSeconds
    this.#isGrowing = encodedSeconds !== null
    const names = Object.keys(encodedSeconds ?? Object.fromEntries(this.#seconds ?? []))
    const read = (name: string) => {
      const seconds = encodedSeconds?.[name] ?? this.#durationSeconds
      return seconds >= this.#durationSeconds ? Number.POSITIVE_INFINITY : seconds
    }
    // A playlist that the player has loaded may be newer.
    const newest = (name: string) => Math.max(read(name), this.#seconds?.get(name) ?? 0)
    if (names.length > 0) this.#seconds = new Map(names.map((name) => [name, newest(name)]))
  }

  /** A playlist was loaded that ends here. */
  note(name: string, seconds: number, isComplete: boolean): void {
    if (isComplete) this.#durationSeconds = Math.min(this.#durationSeconds, seconds)
    const known = this.#seconds?.get(name)
    if (known !== undefined)
      this.#seconds?.set(name, isComplete ? Number.POSITIVE_INFINITY : Math.max(known, seconds))
  }

  secondsOf(name: string): number {
    return this.#seconds ? (this.#seconds.get(name) ?? 0) : Number.POSITIVE_INFINITY
  }

  /** The end of the part that can be played in some quality. */
  get playableSeconds(): number {
    const qualities = [...(this.#seconds ?? [])].filter(([name]) => name !== audio)
    const video = Math.max(0, ...qualities.map(([, seconds]) => seconds))
    return Math.min(video, this.#seconds?.get(audio) ?? video, this.#durationSeconds)
  }

  /**
   * The index of the quality to load, of a list from low to high: the wanted one, or else the next lower one that is
   * encoded far enough, or else the next higher one. Where nothing is encoded yet, the one that is ahead of the others.
   */
  choose(names: string[], { wanted, current, position }: Choice): number {
    const ends = names.map((name) => this.secondsOf(name))
    const isUsable = (end: number, index: number) =>
      end > position + (index > current ? switchSeconds : toleranceSeconds)
    const lower = ends.findLastIndex((end, index) => index <= wanted && isUsable(end, index))
    if (lower >= 0) return lower
    const higher = ends.findIndex(isUsable)
    return higher >= 0 ? higher : ends.indexOf(Math.max(...ends))
  }
}
