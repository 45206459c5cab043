import { Bytes } from '../media/bytes.ts'
import type { Sample } from '../media/flv.ts'
import { codecsOf, type Tracks, writeInit } from '../media/fmp4.ts'
import type { BroadcastEvent } from '../state/live-broadcast.ts'
import { partMs } from '../state/rendition.ts'
import { Packager, type Part, type Segment } from './packager.ts'
import type { WriteQueue } from './write-queue.ts'

type Options = {
  quality: string
  fence: number
  show(event: BroadcastEvent): void
  writer: WriteQueue
  startsSegment(atMs: number, segmentStartMs: number): boolean
  /** The number of the segment that begins at this time. */
  numberOf(startMs: number): number
  now(): Date
}

/** Makes one quality of a broadcast from its samples: for viewers and for the file store. */
export class RenditionOutput {
  readonly #options: Options
  #packager: Packager | undefined
  #epoch = 0
  /** The segment that is being received. */
  #open: { sequence: number; receivedAt: number } | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** The next samples have these tracks. The first one of the video is a key frame. */
  start(epoch: number, tracks: Tracks): void {
    this.end()
    const { quality, show, writer, startsSegment } = this.#options
    this.#epoch = epoch
    const { width = null, height = null } = tracks.video ?? {}
    const init = { epoch, data: writeInit(tracks), codecs: codecsOf(tracks), width, height }
    show({ kind: 'init', quality, ...init })
    writer.init(quality, init)
    this.#packager = new Packager({
      ...{ tracks, partMs, startsSegment },
      onSegmentStart: (startMs) => this.#beginSegment(startMs),
      onPart: (part) => this.#addPart(part),
      onSegment: (segment) => this.#addSegment(segment),
    })
  }

  video(sample: Sample, atMs: number): void {
    this.#packager?.video(sample, atMs)
  }

  audio(sample: Sample, atMs: number): void {
    this.#packager?.audio(sample, atMs)
  }

  /** Writes what is left. */
  end(): void {
    this.#packager?.end()
    this.#packager = undefined
  }

  #beginSegment(startMs: number): void {
    const { now, numberOf } = this.#options
    this.#open = { sequence: numberOf(startMs), receivedAt: now().getTime() }
  }

  #addPart({ data, durationMs, isIndependent }: Part): void {
    const { quality, show } = this.#options
    const { sequence, receivedAt } = this.#open!
    const segment = { sequence, epoch: this.#epoch, receivedAt }
    show({ kind: 'part', quality, ...segment, durationMs, isIndependent, data })
  }

  #addSegment({ startMs, durationMs, parts }: Segment): void {
    const { quality, fence, show, writer } = this.#options
    const { sequence, receivedAt } = this.#open!
    const data = new Bytes(parts.flatMap((part) => part.data.buffers))
    const segment = { sequence, epoch: this.#epoch }
    show({
      ...{ kind: 'segment', quality, ...segment, receivedAt, durationMs },
      ...{ bytes: data.length, fence },
    })
    writer.segment({
      ...{ quality, ...segment, start_ms: startMs, duration_ms: durationMs },
      ...{ received_at: new Date(receivedAt), data },
    })
  }
}
