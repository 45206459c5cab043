import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { type AudioConfig, AudioReader, type Sample } from '../../media/flv.ts'
import { type FlvTag, flvTagType, writeFlvTag } from '../../media/flv-stream.ts'
import { type FlvProcess, startFlvProcess } from './flv-process.ts'

type Options = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  /** The configuration of the samples that follow. */
  onConfig(config: AudioConfig): void
  onAudio(sample: Sample, atMs: number): void
  /** There is no audio until the next call of `configure`. The reason is a sentence for the owner of the stream. */
  onFailure(reason: string): void
}

type Conversion = {
  process: FlvProcess
  /** The time of the broadcast at timestamp 0 of the FLV streams. */
  zeroMs: number
  hasDelivered: boolean
}

/** Leaves room for the first frame of AAC, which begins before the first sample. */
const leadMs = 1_000
const maxQueuedBytes = 1024 * 1024
/** FLV has timestamps of 31 bits. */
const maxRunMs = 2 ** 30
const maxFailures = 3
/** The current one, and those that convert their last samples. */
const maxRunning = 4
const closeMs = 10_000

/** Converts the MP3 audio of a source to AAC, because browsers do not reliably play MP3 in HLS. */
export class AacConverter {
  readonly #options: Options
  #source: AudioConfig | undefined
  #current: Conversion | undefined
  #record: Buffer | undefined
  #failures = 0
  readonly #running = new Set<FlvProcess>()

  constructor(options: Options) {
    this.#options = options
  }

  /** The configuration of the MP3 samples that follow. */
  configure(config: AudioConfig): void {
    this.finish()
    this.#source = config
    this.#failures = 0
  }

  audio({ data }: Sample, atMs: number): void {
    if (!this.#source) return
    if (this.#current && atMs - this.#current.zeroMs > maxRunMs) this.#retire()
    // The source changes faster than ffmpeg ends.
    if (!this.#current && this.#running.size >= maxRunning) return
    this.#current ??= this.#start(this.#source, atMs)
    const { process, zeroMs } = this.#current
    if (process.queuedBytes() > maxQueuedBytes) process.kill()
    else process.write(writeFlvTag(mp3Tag(Math.max(0, atMs - zeroMs), this.#source, data)))
  }

  /** The source has ended, or is disconnected: the last samples are converted. */
  finish(): void {
    this.#source = undefined
    this.#retire()
  }

  /** Waits until the last samples have been delivered, or until the signal. */
  async close(signal = AbortSignal.timeout(closeMs)): Promise<void> {
    this.finish()
    const kill = () => {
      for (const process of this.#running) process.kill()
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill, { once: true })
    await Promise.all([...this.#running].map(({ ended }) => ended))
    signal.removeEventListener('abort', kill)
  }

  #retire(): void {
    this.#current?.process.finish()
    this.#current = undefined
  }

  #start({ channels }: AudioConfig, atMs: number): Conversion {
    const reader = new AudioReader()
    const zeroMs = atMs - leadMs
    const process = startFlvProcess({
      tools: this.#options.tools,
      input: 'mp3',
      outputs: 1,
      outputArgs: [
        ...['-map', '0:a', '-c:a', 'aac', '-b:a', `${64 * channels}k`, '-flush_packets', '1'],
        ...['-flvflags', 'no_duration_filesize', '-f', 'flv', 'pipe:3'],
      ],
      onTag: (_, tag) => this.#onTag(tag, conversion, reader),
    })
    const conversion: Conversion = { process, zeroMs, hasDelivered: false }
    this.#running.add(process)
    void process.ended.then((error) => {
      this.#running.delete(process)
      if (this.#current === conversion) this.#onFailure(conversion, error)
    })
    return conversion
  }

  #onTag({ type, timestamp, payload }: FlvTag, conversion: Conversion, reader: AudioReader): void {
    if (type !== flvTagType.audio) return
    // The samples of a later conversion must not be followed by those of an earlier one.
    if (this.#current && this.#current !== conversion && this.#current.hasDelivered) return
    for (const event of reader.read(timestamp, payload)) {
      if (event && 'config' in event) this.#onConfig(event.config)
      if (!event || !('sample' in event)) continue
      conversion.hasDelivered = true
      const atMs = Math.max(0, conversion.zeroMs + timestamp)
      this.#options.onAudio({ ...event.sample, decodeTime: atMs }, atMs)
    }
  }

  #onConfig(config: AudioConfig): void {
    if (this.#record?.equals(config.record)) return
    this.#record = config.record
    this.#options.onConfig(config)
  }

  /** ffmpeg exited although its input has not ended. The next sample starts it again. */
  #onFailure({ hasDelivered }: Conversion, error: Error | undefined): void {
    this.#options.log.warn({ err: error }, 'converting the audio of a live broadcast failed')
    this.#current = undefined
    this.#failures = hasDelivered ? 1 : this.#failures + 1
    if (this.#failures < maxFailures) return
    this.#source = undefined
    this.#options.onFailure('The MP3 audio cannot be converted to AAC. Set the encoder to AAC.')
  }
}

/** ffmpeg reads the sample rate from the frames. The header cannot express all rates. */
function mp3Tag(timestamp: number, { channels }: AudioConfig, data: Buffer): FlvTag {
  const [mp3, rate44100, size16] = [2 << 4, 3 << 2, 1 << 1]
  const header = Buffer.from([mp3 | rate44100 | size16 | (channels > 1 ? 1 : 0)])
  return { type: flvTagType.audio, timestamp, payload: Buffer.concat([header, data]) }
}
