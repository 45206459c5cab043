import { type Sample, VideoReader } from '../../media/flv.ts'
import { type FlvTag, flvTagType } from '../../media/flv-stream.ts'
import type { Tracks } from '../../media/fmp4.ts'
import { DecodeTimes } from './decode-times.ts'

/** What an encoder delivers of a quality. */
export type EncodedEvent = { quality: string } & (
  | { tracks: Tracks }
  | { video: Sample; atMs: number }
  | { audio: Sample; atMs: number }
)

type Options = {
  quality: string
  /** The configuration of the audio of the source. */
  audio: Tracks['audio']
  /** The time of the broadcast at timestamp 0 of the FLV stream. */
  zeroMs: number
}

type Timed = { sample: Sample; atMs: number }

/** Audio that waits for video. More than this arrives only if there is no video any more. */
const maxWaitingAudio = 2_000

/** Combines the encoded video of one quality with the audio of the source, in the order of time. */
export class RungOutput {
  readonly #options: Options
  readonly #reader = new VideoReader()
  readonly #times = new DecodeTimes()
  #audio: Timed[] = []
  #lastMs = Number.NEGATIVE_INFINITY
  /** The latest time of presentation that was encoded. */
  encodedMs = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
    this.#options = options
  }

  /** The frames of the source that are not encoded yet. */
  get pendingFrames(): number {
    return this.#times.length
  }

  /** A frame of the source that the encoder gets. */
  expect({ compositionOffset, isKeyFrame }: Sample, atMs: number): void {
    this.#times.add(atMs, atMs + compositionOffset, isKeyFrame)
  }

  /** Audio waits for the video of its time, so that both end up in the same segment. */
  audio(sample: Sample, atMs: number): EncodedEvent[] {
    this.#audio.push({ sample, atMs })
    if (this.#audio.length > maxWaitingAudio) this.#audio.shift()
    return this.#takeAudio(this.#lastMs)
  }

  /** Throws if the encoder's output is no H.264. */
  tag({ type, timestamp, payload }: FlvTag): EncodedEvent[] {
    const { quality, audio } = this.#options
    const event = type === flvTagType.video ? this.#reader.read(timestamp, payload) : undefined
    if (!event) return []
    if ('config' in event) return [{ quality, tracks: { video: event.config, audio } }]
    return this.#frame(timestamp, event.sample)
  }

  #frame(timestamp: number, { compositionOffset, isKeyFrame, data }: Sample): EncodedEvent[] {
    const shownMs = this.#options.zeroMs + timestamp + compositionOffset
    const atMs = Math.max(this.#times.take(shownMs) ?? shownMs, this.#lastMs + 1)
    this.encodedMs = shownMs
    this.#lastMs = atMs
    const video = { decodeTime: atMs, compositionOffset: shownMs - atMs, isKeyFrame, data }
    return [...this.#takeAudio(atMs), { quality: this.#options.quality, video, atMs }]
  }

  /** The video has ended. */
  end(): EncodedEvent[] {
    return this.#takeAudio(Number.POSITIVE_INFINITY)
  }

  #takeAudio(beforeMs: number): EncodedEvent[] {
    const { quality } = this.#options
    const waiting = this.#audio.findIndex(({ atMs }) => atMs >= beforeMs)
    const due = this.#audio.splice(0, waiting < 0 ? this.#audio.length : waiting)
    return due.map(({ sample, atMs }) => ({ quality, audio: sample, atMs }))
  }
}
