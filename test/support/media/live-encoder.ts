import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { FlvStream, type FlvTag, flvTagType } from '../../../server/live/media/flv-stream.ts'
import { RtmpClient } from '../../../server/live/rtmp/client.ts'
import { type Kinora, timeoutMs } from '../harness.ts'

type SourceOptions = {
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
  const { keyFrames = 2 * frameRate, pixelFormat = 'yuv420p' } = options
  const inputs = [
    ...(video ? ['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${frameRate}:d=${seconds}`] : []),
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

const kinds: Record<number, 'audio' | 'video'> = { [flvTagType.audio]: 'audio', [flvTagType.video]: 'video' }

export const rtmpPort = ({ output }: Pick<Kinora, 'output'>) =>
  Number(/rtmp:\/\/[^:\s]+:(\d+)\/s/.exec(output())?.[1])

type Waiting = { promise: Promise<void>; resolve(): void }

/** Sends tags over RTMP as fast as the service receives them. */
export class Encoder {
  readonly #client: RtmpClient
  readonly #drained: Waiting[]

  private constructor(client: RtmpClient, drained: Waiting[]) {
    this.#client = client
    this.#drained = drained
  }

  /** Rejects with the reason of the service if the stream key is refused. */
  static async connect(service: Pick<Kinora, 'output'>, streamKey: string): Promise<Encoder> {
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
    return new Encoder(client, drained)
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
