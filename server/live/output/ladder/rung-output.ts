import type { H264Config } from '../../../media/h264.ts'
import { type Sample, VideoReader } from '../../media/flv.ts'
import { type FlvTag, flvTagType } from '../../media/flv-stream.ts'
import { DecodeTimes } from './decode-times.ts'

type Options = {
  /** The time of the broadcast at timestamp 0 of the FLV stream. */
  zeroMs: number
  onConfig(config: H264Config): void
  onVideo(sample: Sample, atMs: number): void
  onAudio(sample: Sample, atMs: number): void
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
  audio(sample: Sample, atMs: number): void {
    this.#audio.push({ sample, atMs })
    if (this.#audio.length > maxWaitingAudio) this.#audio.shift()
    this.#emitAudio(this.#lastMs)
  }

  /** Throws if the encoder's output is no H.264. */
  tag({ type, timestamp, payload }: FlvTag): void {
    if (type !== flvTagType.video) return
    const event = this.#reader.read(timestamp, payload)
    if (event && 'config' in event) this.#options.onConfig(event.config)
    if (event && 'sample' in event) this.#onFrame(timestamp, event.sample)
  }

  #onFrame(timestamp: number, { compositionOffset, isKeyFrame, data }: Sample): void {
    const shownMs = this.#options.zeroMs + timestamp + compositionOffset
    const atMs = Math.max(this.#times.take(shownMs) ?? shownMs, this.#lastMs + 1)
    this.encodedMs = shownMs
    this.#emitAudio(atMs)
    this.#lastMs = atMs
    const sample = { decodeTime: atMs, compositionOffset: shownMs - atMs, isKeyFrame, data }
    this.#options.onVideo(sample, atMs)
  }

  /** The video has ended. */
  end(): void {
    this.#emitAudio(Number.POSITIVE_INFINITY)
  }

  #emitAudio(beforeMs: number): void {
    const waiting = this.#audio.findIndex(({ atMs }) => atMs >= beforeMs)
    const due = this.#audio.splice(0, waiting < 0 ? this.#audio.length : waiting)
    for (const { sample, atMs } of due) this.#options.onAudio(sample, atMs)
  }
}
