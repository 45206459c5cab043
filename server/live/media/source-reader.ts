import type { AmfObject } from '../rtmp/amf0.ts'
import type { Publisher } from '../rtmp/session.ts'
import { AudioReader, type Sample, VideoReader } from './flv.ts'
import type { Tracks } from './fmp4.ts'
import { Timeline } from './timeline.ts'

type Options = {
  /** Where the timeline of the broadcast continues. */
  startMs: number
  /** The tracks of all samples until the next call. The first video frame after it is a key frame. */
  onTracks(tracks: Tracks): void
  onVideo(sample: Sample, atMs: number): void
  onAudio(sample: Sample, atMs: number): void
}

type Timed = { isVideo: boolean; sample: Sample; atMs: number }

/** How long a stream waits for its second track. Encoders send the configurations first. */
const patienceMs = 1_000
const maxWaitingBytes = 16 * 1024 * 1024
/** The step at a jump of the encoder's clock. */
const stepMs = 33

/**
 * Turns the messages of an encoder into samples on the timeline of a broadcast. The stream begins with a key frame, once
 * its tracks are known. It begins anew when the configuration of a track changes.
 */
export class SourceReader implements Publisher {
  readonly #options: Options
  readonly #videoReader = new VideoReader()
  readonly #audioReader = new AudioReader()
  readonly #timeline: Timeline
  /** The tracks that the metadata announces. Undefined if there is no metadata. */
  #announced: { video: boolean; audio: boolean } | undefined
  #tracks: Tracks = {}
  #isStarted = false
  #waiting: Timed[] = []
  #waitingBytes = 0
  #lastVideoMs = Number.NEGATIVE_INFINITY
  metadataValues: AmfObject | undefined

  constructor(options: Options) {
    this.#options = options
    this.#timeline = new Timeline(options.startMs)
  }

  /** The number of jumps of the encoder's clock. */
  get jumps(): number {
    return this.#timeline.jumps
  }

  metadata(values: AmfObject): void {
    this.metadataValues = values
    this.#announced = { video: values.videocodecid !== undefined, audio: values.audiocodecid !== undefined }
  }

  video(timestamp: number, payload: Buffer): void {
    const event = this.#videoReader.read(timestamp, payload)
    if (!event) return
    if ('config' in event) {
      this.#configure({ video: event.config })
      return
    }
    const mapped = this.#timeline.map(timestamp, stepMs)
    // Decoders need increasing times.
    const atMs = Math.max(mapped, this.#lastVideoMs + 1)
    this.#lastVideoMs = atMs
    this.#receive({ isVideo: true, sample: event.sample, atMs })
  }

  audio(timestamp: number, payload: Buffer): void {
    for (const event of this.#audioReader.read(timestamp, payload)) {
      if (!event) continue
      if ('config' in event) this.#configure({ audio: event.config })
      else
        this.#receive({ isVideo: false, sample: event.sample, atMs: this.#timeline.map(timestamp, stepMs) })
    }
  }

  /** A changed or additional track needs a new beginning. */
  #configure(change: Tracks): void {
    this.#tracks = { ...this.#tracks, ...change }
    this.#isStarted = false
  }

  #receive(timed: Timed): void {
    if (this.#isStarted) {
      this.#emit(timed)
      return
    }
    this.#waiting.push(timed)
    this.#waitingBytes += timed.sample.data.length
    if (this.#waitingBytes > maxWaitingBytes) this.#discard()
    if (this.#isReady(timed.atMs)) this.#start()
  }

  #isReady(nowMs: number): boolean {
    const { video, audio } = this.#tracks
    const hasWaited = nowMs - (this.#waiting[0]?.atMs ?? nowMs) >= patienceMs
    const isAudioDue = this.#announced?.audio !== false && !hasWaited
    const isVideoDue = this.#announced?.video !== false && !hasWaited
    if (video) return this.#waiting.some(isKeyFrame) && (audio !== undefined || !isAudioDue)
    return audio !== undefined && !isVideoDue
  }

  #start(): void {
    const waiting = this.#waiting
    this.#discard()
    this.#isStarted = true
    this.#options.onTracks(this.#tracks)
    const first = this.#tracks.video ? waiting.findIndex(isKeyFrame) : 0
    const startMs = waiting[first]?.atMs ?? 0
    // Audio that was sent before the key frame belongs to frames that are left out.
    const kept = waiting.filter((timed, i) => i >= first || (!timed.isVideo && timed.atMs >= startMs))
    for (const timed of kept) this.#emit(timed)
  }

  #discard(): void {
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #emit({ isVideo, sample, atMs }: Timed): void {
    if (isVideo) this.#options.onVideo(sample, atMs)
    else this.#options.onAudio(sample, atMs)
  }
}

const isKeyFrame = ({ isVideo, sample }: Timed) => isVideo && sample.isKeyFrame
