import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { type FlvTag, flvTagType } from '../../media/flv-stream.ts'
import { type WebmTrack, webmFrame, webmHeader } from '../../media/webm.ts'
import { type FlvProcess, startFlvProcess } from '../../output/ladder/flv-process.ts'
import type { Publisher } from '../publisher.ts'

type Options = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  publisher: Pick<Publisher, 'audio' | 'video'>
  tracks: WebmTrack[]
  /** It cannot go on. The reason is a sentence for the owner of the stream. */
  onFailure(reason: string): void
}

/** Leaves room for the first frame of AAC, which begins before the first sample. */
const leadMs = 1_000
const maxQueuedBytes = 4 * 1024 * 1024
const maxFailures = 3
/** Of an audio payload of FLV. */
const configType = 0
/** FLV has timestamps of 31 bits. */
const maxRunMs = 2 ** 30

type Run = { process: FlvProcess; zeroMs: number; hasDelivered: boolean }

/** Converts what browsers send into what viewers can play: Opus to AAC, and VP8, VP9 and AV1 to H.264. One ffmpeg does both. */
export class Converter {
  readonly #options: Options
  #run: Run | undefined
  #failures = 0
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Starts ffmpeg with its first frame. */
  write(track: WebmTrack, atMs: number, isKeyFrame: boolean, data: Buffer): void {
    if (this.#isClosed) return
    if (this.#run && atMs - this.#run.zeroMs > maxRunMs) this.finish()
    this.#run ??= this.#start(atMs)
    const { process, zeroMs } = this.#run
    // The machine is too slow, or ffmpeg hangs.
    if (process.queuedBytes() > maxQueuedBytes) process.kill()
    else process.write(webmFrame(track.number, Math.max(0, atMs - zeroMs), isKeyFrame, data))
  }

  /** What was written is still delivered. The next frame starts another ffmpeg. */
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

  #start(atMs: number): Run {
    const { tools, tracks } = this.#options
    const process = startFlvProcess({
      tools,
      input: 'webm',
      outputs: 1,
      outputArgs: outputArgs(tracks),
      onTag: (_, tag) => this.#deliver(tag, run),
    })
    process.write(webmHeader(tracks))
    const run: Run = { process, zeroMs: atMs - leadMs, hasDelivered: false }
    void process.ended.then((error) => {
      if (this.#run === run) this.#onFailure(run, error)
    })
    return run
  }

  #deliver({ type, timestamp, payload }: FlvTag, run: Run): void {
    if (this.#isClosed) return
    run.hasDelivered = true
    const atMs = Math.max(0, run.zeroMs + timestamp)
    const { publisher } = this.#options
    // The configuration of the audio is known already.
    if (type === flvTagType.audio && payload[1] !== configType) publisher.audio(atMs, payload)
    else if (type === flvTagType.video) publisher.video(atMs, payload)
  }

  /** ffmpeg exited although its input has not ended. The next frame starts it again. */
  #onFailure({ hasDelivered }: Run, error: Error | undefined): void {
    this.#options.log.warn({ err: error }, 'converting a live broadcast failed')
    this.#run = undefined
    this.#failures = hasDelivered ? 1 : this.#failures + 1
    if (this.#failures >= maxFailures)
      this.#options.onFailure(
        'What the encoder sends cannot be converted. Set it to H.264 video and Opus audio.',
      )
  }
}

const audioBitRate = '128k'
/** Missing packets become silence, and corrections of the time become a few samples more or less. */
const audioFilter = 'aresample=async=1000'

function outputArgs(tracks: WebmTrack[]): string[] {
  const hasAudio = tracks.some(({ codec }) => codec === 'opus')
  const video = tracks.find(({ codec }) => codec !== 'opus')
  return [
    ...(hasAudio
      ? ['-map', '0:a', '-af', audioFilter, '-c:a', 'aac', '-b:a', audioBitRate, '-ar', '48000', '-ac', '2']
      : []),
    ...(video ? ['-map', '0:v', ...videoArgs(video)] : []),
    ...['-flush_packets', '1', '-flvflags', 'no_duration_filesize', '-f', 'flv', 'pipe:3'],
  ]
}

/** Like the ladder, with its own size and key frames every 2 s. */
function videoArgs({ width = 0, height = 0 }: WebmTrack): string[] {
  const even = (size: number) => size - (size % 2)
  return [
    ...['-vf', `scale=${even(width)}:${even(height)},format=yuv420p`, '-fps_mode', 'passthrough'],
    ...['-c:v', 'libx264', '-preset', 'superfast', '-tune', 'zerolatency', '-threads', '2'],
    ...['-crf', '21', '-maxrate', '6000k', '-bufsize', '6000k', '-sc_threshold', '0', '-g', '100000'],
    ...['-force_key_frames', 'expr:isnan(prev_forced_t)+gte(t-prev_forced_t,1.999)'],
  ]
}
