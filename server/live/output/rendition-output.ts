import { Bytes } from '../media/bytes.ts'
import type { Sample } from '../media/flv.ts'
import { codecsOf, type Tracks, writeInit } from '../media/fmp4.ts'
import type { NumberReservation } from '../state/number-reservation.ts'
import { partMs } from '../state/rendition.ts'
import { type Packaged, Packager, type Part, type Segment } from './packager.ts'
import type { WriteQueue } from './write-queue.ts'

/** Where the output of a broadcast goes. */
export type Destinations = { viewers: NumberReservation; writes: WriteQueue }

type Options = Destinations & {
  quality: string
  fence: number
  now(): Date
  /** Whether a new segment begins with the key frame at this time. */
  startsSegment(atMs: number, segmentStartMs: number): boolean
  /** The number of the segment that begins at this time. */
  numberOf(startMs: number): number
}

type Join = {
  tracks: Tracks
  /** The epoch, if the quality can begin with the key frame at this time. */
  epochAt(atMs: number): number | undefined
  onBegin(): void
}

/** Makes one quality of a broadcast from its samples: parts for viewers, and segments for the file store. */
export class RenditionOutput {
  readonly #options: Options
  #packager: Packager | undefined
  #epoch = 0
  /** The segment that is being received. */
  #open: { sequence: number; receivedAt: number } | undefined
  /** Until it begins, samples are left out. */
  #join: Join | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The next samples have these tracks. The first one of the video is a key frame. */
  start(epoch: number, tracks: Tracks): void {
    this.end()
    const { quality, viewers, writes, startsSegment } = this.#options
    this.#epoch = epoch
    const { width = null, height = null } = tracks.video ?? {}
    const init = { epoch, data: writeInit(tracks), codecs: codecsOf(tracks), width, height }
    viewers.show({ kind: 'init', quality, ...init })
    writes.init(quality, init)
    this.#packager = new Packager({ tracks, partMs, startsSegment })
  }

  /** The next samples have these tracks. The quality begins with a segment of the other qualities. */
  join(join: Join): void {
    this.#join = join
  }

  video(sample: Sample, atMs: number): void {
    if (this.#join) this.#begin(this.#join, sample, atMs)
    if (!this.#join && this.#packager) this.#publish(this.#packager.video(sample, atMs))
  }

  audio(sample: Sample, atMs: number): void {
    if (!this.#join && this.#packager) this.#publish(this.#packager.audio(sample, atMs))
  }

  /** Writes what is left. */
  end(): void {
    if (this.#packager) this.#publish(this.#packager.end())
    this.#packager = undefined
  }

  #begin({ tracks, epochAt, onBegin }: Join, { isKeyFrame }: Sample, atMs: number): void {
    const epoch = isKeyFrame ? epochAt(atMs) : undefined
    if (epoch === undefined) return
    this.#join = undefined
    this.start(epoch, tracks)
    onBegin()
  }

  #publish(packaged: readonly Packaged[]): void {
    for (const each of packaged) {
      if (each.kind === 'begin') this.#beginSegment(each.startMs)
      else if (each.kind === 'part') this.#addPart(each.part)
      else this.#addSegment(each.segment)
    }
  }

  #beginSegment(startMs: number): void {
    const { now, numberOf } = this.#options
    this.#open = { sequence: numberOf(startMs), receivedAt: now().getTime() }
  }

  #addPart({ data, durationMs, isIndependent }: Part): void {
    const { quality, viewers } = this.#options
    const { sequence, receivedAt } = this.#open!
    const segment = { sequence, epoch: this.#epoch, receivedAt }
    viewers.show({ kind: 'part', quality, ...segment, durationMs, isIndependent, data })
  }

  #addSegment({ startMs, durationMs, parts }: Segment): void {
    const { quality, fence, viewers, writes } = this.#options
    const { sequence, receivedAt } = this.#open!
    const data = new Bytes(parts.flatMap((part) => part.data.buffers))
    const segment = { quality, sequence, epoch: this.#epoch }
    viewers.show({ kind: 'segment', ...segment, receivedAt, durationMs, bytes: data.length, fence })
    writes.segment({
      ...segment,
      start_ms: startMs,
      duration_ms: durationMs,
      received_at: new Date(receivedAt),
      data,
    })
  }
}
