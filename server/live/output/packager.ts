import type { Bytes } from '../media/bytes.ts'
import type { AudioConfig, Sample } from '../media/flv.ts'
import { type FragmentSample, type FragmentTrack, type Tracks, writeFragment } from '../media/fmp4.ts'

/** A fragment of a few hundred milliseconds, the unit of low-latency HLS. */
export type Part = {
  data: Bytes
  startMs: number
  durationMs: number
  /** It begins with a key frame, or the stream has no video. */
  isIndependent: boolean
}

export type Segment = { startMs: number; durationMs: number; parts: Part[] }

type PackagerOptions = {
  tracks: Tracks
  partMs: number
  /** Whether a new segment begins with the key frame at this time. */
  startsSegment(atMs: number, segmentStartMs: number): boolean
}

/** What a sample completes, in this order: a part, with it a segment, and the beginning of the next segment. */
export type Packaged =
  | { kind: 'part'; part: Part }
  | { kind: 'segment'; segment: Segment }
  | { kind: 'begin'; startMs: number }

const maxSegmentMs = 10_000
const maxSegmentBytes = 32 * 1024 * 1024
/** A part of 0.5 s at 100 Mbit/s has 6 MB. */
const maxPartBytes = 8 * 1024 * 1024
/** The memory that a part keeps in use: a multiple of its size, and some blocks at its beginning and end. */
const maxHeldShare = 2
const maxHeldBytes = 256 * 1024
/** The memory of a sample besides its data. */
const sampleOverhead = 256
/** The video has stopped if the audio is ahead by this. The timeline allows for as much. */
const maxVideoDelayMs = 3_000

/** Most samples complete nothing. */
const nothing: readonly Packaged[] = []

type TimedSample = { sample: Sample; atMs: number }

/**
 * Makes parts and segments of one quality from its samples. A part ends as soon as the next frame would make it too long.
 * A part contains the audio that has arrived by then: waiting for the rest would delay the video.
 */
export class Packager {
  readonly #options: PackagerOptions
  #sequence = 0
  #video: TimedSample[] = []
  #audio: TimedSample[] = []
  #audioTime: number | undefined
  #partStartMs: number | undefined
  #lastFrameMs = 40
  /** Whether a segment has begun. */
  #isOpen = false
  #parts: Part[] = []
  /** Of the parts, and of the samples since the last one. */
  #bytes = 0
  #sampleBytes = 0
  #lastVideoMs = Number.NEGATIVE_INFINITY
  #packaged: Packaged[] = []

  constructor(options: PackagerOptions) {
    this.#options = options
  }

  /** The samples have times of the broadcast, in the order of decoding. */
  video(sample: Sample, givenMs: number): readonly Packaged[] {
    // The part before may have ended without the video. A part has a duration, even if this frame ends it.
    const atMs = Math.max(givenMs, (this.#partStartMs ?? givenMs - 1) + 1, this.#lastVideoMs + 1)
    const previous = this.#video.at(-1)
    if (previous) this.#lastFrameMs = Math.max(1, atMs - previous.atMs)
    this.#cutBefore(atMs, sample.isKeyFrame)
    this.#begin(atMs)
    this.#lastVideoMs = atMs
    this.#video.push({ sample, atMs })
    this.#sampleBytes += sample.data.length + sampleOverhead
    return this.#take()
  }

  audio(sample: Sample, atMs: number): readonly Packaged[] {
    const hasVideo = this.#options.tracks.video !== undefined
    if (!hasVideo || this.#isVideoStopped(atMs)) {
      const cutMs = Math.max(atMs, this.#lastVideoMs + 1, (this.#partStartMs ?? atMs) + 1)
      this.#cutBefore(cutMs, !hasVideo)
      this.#begin(cutMs)
    }
    this.#audio.push({ sample, atMs })
    this.#sampleBytes += sample.data.length + sampleOverhead
    return this.#take()
  }

  /** Writes what is left. */
  end(): readonly Packaged[] {
    const last = this.#video.at(-1) ?? this.#audio.at(-1)
    if (last) this.#endPart(Math.max(last.atMs + this.#lastFrameMs, (this.#partStartMs ?? last.atMs) + 1))
    this.#endSegment()
    return this.#take()
  }

  #take(): readonly Packaged[] {
    if (this.#packaged.length === 0) return nothing
    const packaged = this.#packaged
    this.#packaged = []
    return packaged
  }

  #isVideoStopped(atMs: number): boolean {
    return this.#isOpen && (atMs - this.#lastVideoMs > maxVideoDelayMs || this.#sampleBytes >= maxPartBytes)
  }

  #begin(atMs: number): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#partStartMs = atMs
    this.#packaged.push({ kind: 'begin', startMs: atMs })
  }

  #cutBefore(atMs: number, isKeyFrame: boolean): void {
    const { partMs, startsSegment } = this.#options
    const partStart = this.#partStartMs
    if (partStart === undefined) return
    const segmentStart = this.#parts[0]?.startMs ?? partStart
    // Without key frames, a segment ends somewhere, because it is in memory until then.
    const isTooLong = atMs - segmentStart >= maxSegmentMs || this.#bytes >= maxSegmentBytes
    const isSegmentOver = (isKeyFrame && startsSegment(atMs, segmentStart)) || isTooLong
    const isPartFull = atMs + this.#lastFrameMs - partStart > partMs || this.#sampleBytes >= maxPartBytes
    if (!isSegmentOver && !isPartFull) return
    this.#endPart(atMs)
    if (isSegmentOver) this.#endSegment()
  }

  #endPart(endMs: number): void {
    const startMs = this.#partStartMs
    if (startMs === undefined) return
    const video = this.#video.length > 0 ? videoTrack(this.#video, endMs) : undefined
    const audio = this.#takeAudio()
    const data = writeFragment(++this.#sequence, { video, audio })
    // Otherwise an encoder that mixes tiny frames with invalid ones would fill the memory.
    if (data.heldBytes > maxHeldShare * data.length + maxHeldBytes) data.join()
    const part: Part = {
      data,
      startMs,
      durationMs: endMs - startMs,
      isIndependent: this.#options.tracks.video === undefined || this.#video[0]?.sample.isKeyFrame === true,
    }
    this.#video = []
    this.#sampleBytes = 0
    this.#partStartMs = endMs
    this.#parts.push(part)
    this.#bytes += part.data.length
    this.#packaged.push({ kind: 'part', part })
  }

  #endSegment(): void {
    const parts = this.#parts
    const [first, last] = [parts[0], parts.at(-1)]
    if (!first || !last) return
    this.#parts = []
    this.#bytes = 0
    this.#isOpen = false
    const durationMs = last.startMs + last.durationMs - first.startMs
    this.#packaged.push({ kind: 'segment', segment: { startMs: first.startMs, durationMs, parts } })
  }

  /** Audio frames have a fixed length, so their times are counted in samples. The timestamps only show gaps. */
  #takeAudio(): FragmentTrack | undefined {
    const config = this.#options.tracks.audio
    const [first] = this.#audio
    if (!config || !first) return undefined
    const { frameLength } = config
    const expected = toAudioTime(first.atMs, config)
    const isContinuous =
      this.#audioTime !== undefined &&
      Math.abs(expected - this.#audioTime) < toAudioTime(maxAudioGapMs, config)
    const decodeTime = isContinuous ? this.#audioTime! : Math.max(expected, this.#audioTime ?? 0)
    const samples = this.#audio.map(({ sample: { data } }): FragmentSample => {
      return { duration: frameLength, compositionOffset: 0, isKeyFrame: true, data }
    })
    this.#audio = []
    this.#audioTime = decodeTime + frameLength * samples.length
    return { decodeTime, samples }
  }
}

/** RTMP rounds to milliseconds, and encoders may be off by a frame or two. */
const maxAudioGapMs = 100

const toAudioTime = (ms: number, { sampleRate }: AudioConfig) => Math.round((ms * sampleRate) / 1000)

function videoTrack(samples: TimedSample[], endMs: number): FragmentTrack {
  return {
    decodeTime: samples[0]!.atMs,
    samples: samples.map(({ sample: { compositionOffset, isKeyFrame, data }, atMs }, i) => {
      const duration = (samples[i + 1]?.atMs ?? endMs) - atMs
      return { duration, compositionOffset, isKeyFrame, data }
    }),
  }
}
