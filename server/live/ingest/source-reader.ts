import { AudioReader, type Sample, VideoReader } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import { Timeline } from '../media/timeline.ts'
import type { AmfObject } from '../rtmp/amf0.ts'
import type { Publisher } from './rtmp/session.ts'

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
const secondTrackTimeoutMs = 1_000
const maxWaitingBytes = 16 * 1024 * 1024
/** The memory of a sample besides its data. */
const sampleOverhead = 256
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
  #hasKeyFrame = false
  readonly #videoTimes = new IncreasingTimes()
  readonly #audioTimes = new IncreasingTimes()
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
    const mapped = this.#timeline.map(timestamp, stepMs, this.#videoTimes.mappedMs)
    this.#receive({ isVideo: true, sample: event.sample, atMs: this.#videoTimes.next(mapped, stepMs) })
  }

  audio(timestamp: number, payload: Buffer): void {
    for (const event of this.#audioReader.read(timestamp, payload)) {
      if (!event) continue
      if ('config' in event) this.#configure({ audio: event.config })
      else this.#audioSample(timestamp, event.sample)
    }
  }

  /** Why nothing can be shown yet. */
  get missing(): string | undefined {
    const isWaiting = !this.#isStarted && this.#tracks.video && this.#waiting.length > 0
    return isWaiting && !this.#hasKeyFrame ? 'The encoder has not sent a key frame yet.' : undefined
  }

  #audioSample(timestamp: number, sample: Sample): void {
    const mapped = this.#timeline.map(timestamp, stepMs, this.#audioTimes.mappedMs)
    const { frameLength = 0, sampleRate = 1 } = this.#tracks.audio ?? {}
    const frameMs = Math.max(1, Math.floor((1000 * frameLength) / sampleRate))
    this.#receive({ isVideo: false, sample, atMs: this.#audioTimes.next(mapped, frameMs) })
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
    this.#hasKeyFrame ||= isKeyFrame(timed)
    this.#waitingBytes += timed.sample.data.length + sampleOverhead
    if (this.#waitingBytes > maxWaitingBytes) this.#discard()
    if (this.#isReady(timed.atMs)) this.#start()
  }

  #isReady(nowMs: number): boolean {
    const { video, audio } = this.#tracks
    const hasWaited = nowMs - (this.#waiting[0]?.atMs ?? nowMs) >= secondTrackTimeoutMs
    const isAudioDue = this.#announced?.audio !== false && !hasWaited
    const isVideoDue = this.#announced?.video !== false && !hasWaited
    if (video) return this.#hasKeyFrame && (audio !== undefined || !isAudioDue)
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
    this.#hasKeyFrame = false
  }

  #emit({ isVideo, sample, atMs }: Timed): void {
    if (isVideo) this.#options.onVideo(sample, atMs)
    else this.#options.onAudio(sample, atMs)
  }
}

/** A track whose clock stands still for so many samples goes on by the duration of a frame. */
const maxStalled = 10

/** The times of a track. Decoders need increasing ones, whatever the clock of the encoder does. */
class IncreasingTimes {
  #lastMs = Number.NEGATIVE_INFINITY
  #stalled = 0
  /** The time of the last sample by the clock of the encoder. Undefined before the first one. */
  mappedMs: number | undefined

  next(mappedMs: number, frameMs: number): number {
    this.mappedMs = mappedMs
    this.#stalled = mappedMs > this.#lastMs ? 0 : this.#stalled + 1
    const stepMs = this.#stalled > maxStalled ? frameMs : 1
    this.#lastMs = Math.max(mappedMs, this.#lastMs + stepMs)
    return this.#lastMs
  }
}

const isKeyFrame = ({ isVideo, sample }: Timed) => isVideo && sample.isKeyFrame
