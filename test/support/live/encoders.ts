import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { FlvStream, type FlvTag, flvTagType } from '../../../server/live/media/flv-stream.ts'
import { RtmpClient } from '../../../server/live/rtmp/client.ts'
import { type Kinora, timeoutMs } from '../harness.ts'

// Two encoders that broadcast: `RtmpEncoder` sends prepared tags at once, and the test decides when; ffmpeg sends a file
// in real time, and is a program that can be killed.

type SourceOptions = {
  /** A source of ffmpeg, such as `color=red`. */
  picture?: string
  size?: string
  seconds?: number
  frameRate?: number
  /** Frames between key frames. */
  keyFrames?: number
  /** The times of additional key frames. */
  scenes?: string
  pixelFormat?: 'yuv420p' | 'yuv444p'
  video?: boolean
  audio?: 'aac' | 'mp3' | 'none'
}

/** What an encoder would send, made by ffmpeg at once. */
export function makeSource(options: SourceOptions = {}): FlvTag[] {
  const { size = '160x120', seconds = 6, frameRate = 25, video = true, audio = 'aac' } = options
  const { picture = 'testsrc2', keyFrames = 2 * frameRate, pixelFormat = 'yuv420p' } = options
  const inputs = [
    ...(video ? ['-f', 'lavfi', '-i', sourceOf(picture, `s=${size}:r=${frameRate}:d=${seconds}`)] : []),
    ...(audio === 'none' ? [] : ['-f', 'lavfi', '-i', `sine=d=${seconds}:r=44100`]),
  ]
  const codecs = [
    ...(video
      ? [
          '-c:v',
          'libx264',
          '-preset',
          'ultrafast',
          '-pix_fmt',
          pixelFormat,
          '-g',
          keyFrames,
          '-keyint_min',
          keyFrames,
          '-sc_threshold',
          0,
          ...(options.scenes ? ['-force_key_frames', options.scenes] : []),
        ]
      : []),
    ...(audio === 'none' ? [] : ['-c:a', audio === 'aac' ? 'aac' : 'libmp3lame']),
  ].map(String)
  const args = ['-v', 'error', '-threads', '1', ...inputs, ...codecs, '-f', 'flv', 'pipe:1']
  const bytes = execFileSync('ffmpeg', args, { maxBuffer: 64 * 1024 * 1024 })
  return new FlvStream().read(bytes).filter(({ type }) => type in kinds)
}

const sourceOf = (picture: string, options: string) =>
  `${picture}${picture.includes('=') ? ':' : '='}${options}`

const kinds: Record<number, 'audio' | 'video'> = { [flvTagType.audio]: 'audio', [flvTagType.video]: 'video' }

/** The URL for encoders that the service has printed. The stream key follows it. */
export function rtmpUrl({ output }: Pick<Kinora, 'output'>): string {
  const [url] = /rtmp:\/\/\S+/.exec(output()) ?? []
  assert.ok(url, 'the service prints the URL for encoders')
  return url
}

export const rtmpPort = (service: Pick<Kinora, 'output'>) => Number(new URL(rtmpUrl(service)).port)

type Waiting = { promise: Promise<void>; resolve(): void }

/** Sends tags over RTMP as fast as the service receives them. */
export class RtmpEncoder {
  readonly #client: RtmpClient
  readonly #drained: Waiting[]

  private constructor(client: RtmpClient, drained: Waiting[]) {
    this.#client = client
    this.#drained = drained
  }

  /** Rejects with the reason of the service if the stream key is refused. */
  static async connect(service: Pick<Kinora, 'output'>, streamKey: string): Promise<RtmpEncoder> {
    const port = rtmpPort(service)
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const drained: Waiting[] = []
    const client = await RtmpClient.publish(socket, {
      app: 's',
      tcUrl: `rtmp://127.0.0.1:${port}/s`,
      streamKey,
      answerTimeoutMs: timeoutMs,
      onDrain: () => {
        for (const each of drained.splice(0)) each.resolve()
      },
    })
    return new RtmpEncoder(client, drained)
  }

  get ended(): Promise<Error> {
    return this.#client.ended
  }

  /** `addMs` is added to all timestamps. */
  async send(tags: FlvTag[], addMs = 0): Promise<void> {
    for (const { type, timestamp, payload } of tags) {
      this.#client.send(kinds[type]!, timestamp + addMs, payload)
      if (!this.#client.isFull) continue
      const drained = Promise.withResolvers<void>()
      this.#drained.push(drained)
      await Promise.race([drained.promise, this.#client.ended])
    }
  }

  /** Ends the stream as encoders do. */
  close(): Promise<void> {
    return this.#client.close()
  }

  /** The connection is lost. */
  async abort(): Promise<void> {
    this.#client.abort('aborted by the test')
    await this.#client.ended
  }
}

/** Sends what changes nothing until the returned function is called: the service closes a silent connection. */
export function stayConnected(encoder: RtmpEncoder, source: FlvTag[]): () => void {
  const configuration = source.find(({ type }) => type === flvTagType.audio)!
  const timer = setInterval(() => encoder.send([configuration]).catch(() => {}), 1_000).unref()
  return () => clearInterval(timer)
}

export type FfmpegEncoder = {
  process: ChildProcess
  output(): string
  /** Resolves with the exit code. It also ends when it is refused or disconnected. */
  ended: Promise<number | null>
  /** Ends the broadcast as a user does. */
  stop(): Promise<void>
}

/** Sends a file with ffmpeg: `startFfmpegEncoder(t, service, key, '-re', '-i', path)`. It is stopped after the test. */
export function startFfmpegEncoder(
  t: { after(end: () => unknown): void },
  service: Pick<Kinora, 'output'>,
  streamKey: string,
  ...input: string[]
): FfmpegEncoder {
  const url = `${rtmpUrl(service)}/${streamKey}`
  const args = ['-hide_banner', '-nostdin', '-v', 'warning', ...input, '-c', 'copy', '-f', 'flv', url]
  const child = spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const ended = once(child, 'exit').then(() => child.exitCode)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  t.after(() => end('SIGKILL'))
  return { process: child, output: () => output, ended, stop: () => end('SIGTERM') }
}
