import type { Log } from '../../lib/log.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { flvTagType } from '../media/flv-stream.ts'
import { type WebmCodec, webmFrame, webmHeader } from '../media/webm.ts'
import { type FlvProcess, startFlvProcess } from '../output/ladder/flv-process.ts'

type Options = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  codec: WebmCodec
  /** The payload of an FLV tag. */
  onTag(atMs: number, payload: Buffer): void
  /** It cannot go on. The reason is a sentence for the owner of the stream. */
  onFailure(reason: string): void
}

/** Leaves room for the first frame of AAC, which begins before the first sample. */
const leadMs = 1_000
const maxQueuedBytes = 4 * 1024 * 1024
const maxFailures = 3
/** Cameras change their size a few times. An encoder could do so, or let its clock jump, with every frame. */
const maxStarts = 5
const startsMs = 10_000
/** FLV has timestamps of 31 bits. */
const maxRunMs = 2 ** 30

type Run = { process: FlvProcess; zeroMs: number; hasDelivered: boolean }

/** Converts a track that viewers cannot play: Opus to AAC, and VP8, VP9, AV1 and HEVC to H.264. */
export class Converter {
  readonly #options: Options
  #run: Run | undefined
  #failures = 0
  /** When ffmpeg was started the last few times. */
  #startedMs: number[] = []
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Starts ffmpeg with its first frame. */
  write(atMs: number, isKeyFrame: boolean, data: Buffer): void {
    if (this.#isClosed) return
    if (this.#run && atMs - this.#run.zeroMs > maxRunMs) this.finish()
    // A decoder begins with a key frame.
    if (!this.#run && !isKeyFrame) return
    if (!this.#run && !this.#mayStart) return
    this.#run ??= this.#start(atMs)
    const { process, zeroMs } = this.#run
    // The machine is too slow, or ffmpeg hangs.
    if (process.queuedBytes() > maxQueuedBytes) process.kill()
    else process.write(webmFrame(Math.max(0, atMs - zeroMs), isKeyFrame, data))
  }

  /** What was written is still delivered. The next key frame starts another ffmpeg. */
  finish(): void {
    this.#run?.process.finish()
    this.#run = undefined
  }

  close(): void {
    this.#isClosed = true
    const process = this.#run?.process
    this.#run = undefined
    process?.kill()
  }

  get #mayStart(): boolean {
    const oldest = this.#startedMs.at(-maxStarts)
    return oldest === undefined || performance.now() - oldest >= startsMs
  }

  #start(atMs: number): Run {
    this.#startedMs = [...this.#startedMs, performance.now()].slice(-maxStarts)
    const { tools, codec } = this.#options
    const process = startFlvProcess({
      tools,
      input: 'webm',
      outputs: 1,
      outputArgs: [
        ...(codec === 'opus' ? audioArgs : videoArgs),
        ...['-flush_packets', '1', '-flvflags', 'no_duration_filesize', '-f', 'flv', 'pipe:3'],
      ],
      // The others have metadata.
      onTag: (_, { type, timestamp, payload }) => {
        if (type === flvTagType.audio || type === flvTagType.video) this.#deliver(run, timestamp, payload)
      },
    })
    process.write(webmHeader(codec))
    const run: Run = { process, zeroMs: atMs - leadMs, hasDelivered: false }
    void process.ended.then((error) => {
      if (this.#run === run) this.#onFailure(run, error)
    })
    return run
  }

  #deliver(run: Run, timestamp: number, payload: Buffer): void {
    // What a later run has delivered must not be followed by what an earlier one delivers.
    const isLate = run !== this.#run && this.#run?.hasDelivered === true
    if (this.#isClosed || isLate) return
    run.hasDelivered = true
    this.#options.onTag(Math.max(0, run.zeroMs + timestamp), payload)
  }

  /** ffmpeg exited although its input has not ended. The next key frame starts it again. */
  #onFailure({ hasDelivered }: Run, error: Error | undefined): void {
    this.#options.log.warn({ err: error }, 'converting a live broadcast failed')
    this.#run = undefined
    this.#failures = hasDelivered ? 1 : this.#failures + 1
    if (this.#failures >= maxFailures)
      this.#options.onFailure('What the encoder sends cannot be converted. Set it to H.264 video.')
  }
}

/** Missing packets become silence, and corrections of the time become a few samples more or less. */
const audioArgs = [
  ...['-map', '0:a', '-af', 'aresample=async=1000', '-c:a', 'aac', '-b:a', '128k'],
  ...['-ar', '48000', '-ac', '2'],
]

/** Like the ladder, in the size of the source, with key frames every 2 s. Sizes have to be even. */
const videoArgs = [
  ...['-map', '0:v', '-vf', 'scale=trunc(iw/2)*2:trunc(ih/2)*2,format=yuv420p', '-fps_mode', 'passthrough'],
  ...['-c:v', 'libx264', '-enc_time_base', '-1', '-preset', 'superfast', '-tune', 'zerolatency'],
  // The times decide. x264 chooses the level by this rate.
  ...['-x264-params', 'fps=30:force-cfr=0'],
  ...['-threads', '2', '-crf', '21', '-maxrate', '6000k', '-bufsize', '6000k', '-sc_threshold', '0'],
  ...['-g', '100000', '-force_key_frames', 'expr:isnan(prev_forced_t)+gte(t-prev_forced_t,1.999)'],
]
