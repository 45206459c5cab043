import { AudioReader, type Sample, type TimedSample, VideoReader } from '../media/flv.ts'
import type { Tracks } from '../media/fmp4.ts'
import { Timeline } from '../media/timeline.ts'
import type { AmfObject } from '../rtmp/amf0.ts'

export type SourceEvent =
  /** The tracks of the samples that follow. The first one of the video is a key frame. */
  { kind: 'tracks'; tracks: Tracks } | TimedSample

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
export class SourceReader {
  readonly #videoReader = new VideoReader()
  readonly #audioReader = new AudioReader()
  readonly #timeline: Timeline
  /** The tracks that the metadata announces. Undefined if there is no metadata. */
  #announced: { video: boolean; audio: boolean } | undefined
  #tracks: Tracks = {}
  #isStarted = false
  #waiting: TimedSample[] = []
  #waitingBytes = 0
  #hasKeyFrame = false
  readonly #videoTimes = new IncreasingTimes()
  readonly #audioTimes = new IncreasingTimes()

  /** The timeline of the broadcast continues at this time. */
  constructor(startMs: number) {
    this.#timeline = new Timeline(startMs)
  }

  /** The number of jumps of the encoder's clock. */
  get jumps(): number {
    return this.#timeline.jumps
  }

  metadata(values: AmfObject): void {
    this.#announced = { video: values.videocodecid !== undefined, audio: values.audiocodecid !== undefined }
  }

  video(timestamp: number, payload: Buffer): SourceEvent[] {
    const event = this.#videoReader.read(timestamp, payload)
    if (!event) return []
    if ('config' in event) return this.#configure({ video: event.config })
    const mapped = this.#timeline.map(timestamp, stepMs, this.#videoTimes.mappedMs)
    const atMs = this.#videoTimes.next(mapped, stepMs)
    return this.#receive({ kind: 'video', sample: event.sample, atMs })
  }

  audio(timestamp: number, payload: Buffer): SourceEvent[] {
    return this.#audioReader.read(timestamp, payload).flatMap((event) => {
      if (!event) return []
      if ('config' in event) return this.#configure({ audio: event.config })
      return this.#audioSample(timestamp, event.sample)
    })
  }

  /** Why nothing can be shown yet. */
  get missing(): string | undefined {
    const isWaiting = !this.#isStarted && this.#tracks.video && this.#waiting.length > 0
    return isWaiting && !this.#hasKeyFrame ? 'The encoder has not sent a key frame yet.' : undefined
  }

  #audioSample(timestamp: number, sample: Sample): SourceEvent[] {
    const mapped = this.#timeline.map(timestamp, stepMs, this.#audioTimes.mappedMs)
    const { frameLength = 0, sampleRate = 1 } = this.#tracks.audio ?? {}
    const frameMs = Math.max(1, Math.floor((1000 * frameLength) / sampleRate))
    return this.#receive({ kind: 'audio', sample, atMs: this.#audioTimes.next(mapped, frameMs) })
  }

  /** A changed or additional track needs a new beginning. */
  #configure(change: Tracks): SourceEvent[] {
    this.#tracks = { ...this.#tracks, ...change }
    this.#isStarted = false
    return []
  }

  #receive(timed: TimedSample): SourceEvent[] {
    if (this.#isStarted) return [timed]
    this.#waiting.push(timed)
    this.#hasKeyFrame ||= isKeyFrame(timed)
    this.#waitingBytes += timed.sample.data.length + sampleOverhead
    if (this.#waitingBytes > maxWaitingBytes) this.#discard()
    return this.#isReady(timed.atMs) ? this.#start() : []
  }

  #isReady(nowMs: number): boolean {
    const { video, audio } = this.#tracks
    const hasWaited = nowMs - (this.#waiting[0]?.atMs ?? nowMs) >= secondTrackTimeoutMs
    const isAudioDue = this.#announced?.audio !== false && !hasWaited
    const isVideoDue = this.#announced?.video !== false && !hasWaited
    if (video) return this.#hasKeyFrame && (audio !== undefined || !isAudioDue)
    return audio !== undefined && !isVideoDue
  }

  #start(): SourceEvent[] {
    const waiting = this.#waiting
    this.#discard()
    this.#isStarted = true
    const first = this.#tracks.video ? waiting.findIndex(isKeyFrame) : 0
    const startMs = waiting[first]?.atMs ?? 0
    // Audio that was sent before the key frame belongs to frames that are left out.
    const kept = waiting.filter(({ kind, atMs }, i) => i >= first || (kind === 'audio' && atMs >= startMs))
    return [{ kind: 'tracks', tracks: this.#tracks }, ...kept]
  }

  #discard(): void {
    this.#waiting = []
    this.#waitingBytes = 0
    this.#hasKeyFrame = false
  }
}

/** A track whose clock stops for this many samples goes on by the duration of a frame. */
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

const isKeyFrame = ({ kind, sample }: TimedSample) => kind === 'video' && sample.isKeyFrame
