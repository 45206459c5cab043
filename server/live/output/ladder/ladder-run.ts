import { readCpuMs } from '../../../lib/watch.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import type { H264Config } from '../../../media/h264.ts'
import type { Sample } from '../../media/flv.ts'
import { type FlvTag, flvTagType, writeFlvTag } from '../../media/flv-stream.ts'
import type { Tracks } from '../../media/fmp4.ts'
import { type LadderSettings, ladderArgs } from './arguments.ts'
import { type FlvProcess, startFlvProcess } from './flv-process.ts'
import { type EncodedEvent, RungOutput } from './rung-output.ts'

type RunOptions = LadderSettings & {
  tools: Pick<Tools, 'ffmpeg'>
  source: { video: H264Config; audio?: Tracks['audio'] }
  /** The time of the first key frame. */
  startMs: number
  onEvent(event: EncodedEvent): void
}

/** Leaves room below the first frame, for frames that are shown before they are decoded. */
const leadMs = 10_000
const maxQueuedBytes = 8 * 1024 * 1024
/** A decoder keeps up to 16 frames. At 1 frame per second, this is no sign of a slow machine. */
const maxPendingFrames = 24

/** One ffmpeg that encodes the qualities of a broadcast. It starts and ends at a key frame of the source. */
export class LadderRun {
  readonly startMs: number
  readonly #options: RunOptions
  readonly #process: FlvProcess
  readonly #outputs: RungOutput[]
  readonly #zeroMs: number
  /** The events before the turn of this run. Undefined during its turn. */
  #held: EncodedEvent[] | undefined = []
  #inputMs: number
  /** Whether frames are missing in what this run delivers. */
  isIncomplete = false
  isEnded = false
  /** The time of the broadcast when its input ended. */
  finishedMs: number | undefined
  readonly ended: Promise<Error | undefined>

  constructor(options: RunOptions) {
    const { tools, source, rungs, threads, startMs } = options
    this.#options = options
    this.startMs = startMs
    this.#inputMs = startMs
    this.#zeroMs = startMs - leadMs
    this.#outputs = rungs.map(
      ({ quality }) => new RungOutput({ quality, audio: source.audio, zeroMs: this.#zeroMs }),
    )
    this.#process = startFlvProcess({
      tools,
      input: 'h264',
      threads,
      outputs: rungs.length,
      outputArgs: ladderArgs(options),
      onTag: (output, tag) => this.#deliver(this.#outputs[output]!.tag(tag)),
    })
    this.#process.write(
      writeFlvTag(videoTag(leadMs, { isKeyFrame: true, isConfig: true, data: source.video.record })),
    )
    this.ended = this.#process.ended.then((error) => {
      this.isEnded = true
      if (error) this.isIncomplete = true
      else for (const output of this.#outputs) this.#deliver(output.end())
      return error
    })
  }

  video(sample: Sample, atMs: number): void {
    // A decoder cannot continue after a gap. The next key frame starts another run.
    if (this.#process.queuedBytes() > maxQueuedBytes) this.isIncomplete = true
    if (this.isIncomplete) return
    this.#inputMs = Math.max(this.#inputMs, atMs + sample.compositionOffset)
    for (const output of this.#outputs) output.expect(sample, atMs)
    this.#process.write(writeFlvTag(videoTag(atMs - this.#zeroMs, { ...sample, isConfig: false })))
  }

  audio(sample: Sample, atMs: number): void {
    for (const output of this.#outputs) this.#deliver(output.audio(sample, atMs))
  }

  /** How far the slowest quality is behind. 0 while it has only the frames that a decoder keeps. */
  get lagMs(): number {
    const isBusy = this.#outputs.some(({ pendingFrames }) => pendingFrames > maxPendingFrames)
    return isBusy ? this.#inputMs - this.#encodedMs : 0
  }

  /** The time that all qualities have been encoded. */
  get deliveredMs(): number {
    return this.#encodedMs - this.startMs
  }

  get #encodedMs(): number {
    return Math.max(this.startMs, Math.min(...this.#outputs.map(({ encodedMs }) => encodedMs)))
  }

  /** The cores that it takes. Undefined if that cannot be measured. */
  get cores(): number | undefined {
    const cpuMs = this.#process.pid === undefined ? undefined : readCpuMs(this.#process.pid)
    return cpuMs === undefined || this.deliveredMs <= 0 ? undefined : cpuMs / this.deliveredMs
  }

  /** All runs before this one have ended. */
  takeTurn(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const event of held) this.#options.onEvent(event)
  }

  /** Ends the input. */
  finish(atMs: number): void {
    this.finishedMs = atMs
    this.#process.finish()
  }

  kill(): void {
    this.isIncomplete = true
    this.#process.kill()
  }

  #deliver(events: EncodedEvent[]): void {
    if (this.#held) this.#held.push(...events)
    else for (const event of events) this.#options.onEvent(event)
  }
}

type VideoTag = { isKeyFrame: boolean; isConfig: boolean; compositionOffset?: number; data: Buffer }

function videoTag(
  timestamp: number,
  { isKeyFrame, isConfig, compositionOffset = 0, data }: VideoTag,
): FlvTag {
  const avc = 7
  const header = Buffer.from([((isKeyFrame ? 1 : 2) << 4) | avc, isConfig ? 0 : 1, 0, 0, 0])
  header.writeIntBE(compositionOffset, 2, 3)
  return { type: flvTagType.video, timestamp, payload: Buffer.concat([header, data]) }
}
