import { spawn } from 'node:child_process'
import { once } from 'node:events'

// A clock in the picture, which tells when the picture was taken. Each bit of the time is a black or a white bar, because
// bars survive compression and any size, and a script can read them.

const bits = 24
/** The share of the height that the bars take, at the top. */
const share = 0.15

export type ClockOptions = {
  size: string
  rate: number
  /** The time that the clock counts from, in milliseconds since 1970. */
  sinceMs: number
}

/** A filter graph that makes pictures in real time, each with its time in milliseconds since `sinceMs`. */
const clockFilter = ({ size, rate, sinceMs }: ClockOptions) =>
  withClock(`testsrc2=s=${size}:r=${rate},realtime`, {
    size,
    rate,
    // RTCTIME is in microseconds.
    setTime: `setpts=(RTCTIME/1000-${sinceMs})/1000/TB,`,
  })

type Picture = { size: string; rate: number; setTime?: string }

/** A filter graph that draws a clock into a picture. Without `setTime`, it shows the time since the first frame. */
export function withClock(picture: string, { size, rate, setTime = '' }: Picture): string {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const barHeight = Math.round((height * share) / 2) * 2
  return [
    `${picture},split[picture][copy]`,
    // The bits are drawn into a picture of one pixel for each.
    `[copy]scale=${bits}:1,format=gray,${setTime}` +
      `geq=lum='255*mod(floor(floor(T*1000+0.5)/pow(2,X)),2)'` +
      `,setpts=N/${rate}/TB,scale=${width}:${barHeight}:flags=neighbor[bars]`,
    '[picture][bars]overlay=0:0,format=yuv420p[v]',
  ].join(';')
}

export type Broadcast = {
  /** The errors that ffmpeg has printed. */
  errors(): string
  /** Disconnects. */
  stop(): Promise<void>
}

/** When the streams end. */
type Seconds = { audio: number; video: number }

/** Sends a picture with a clock and a tone to an RTMP server, as an encoder does: live, and with key frames every 2 s. */
export function broadcastClock(
  url: string,
  options: ClockOptions & { ffmpeg?: string; preset?: string; kbps?: number; seconds?: Seconds },
): Broadcast {
  const { rate, ffmpeg = 'ffmpeg', preset = 'ultrafast', kbps = 400, seconds } = options
  const child = spawn(
    ffmpeg,
    [
      ...[
        '-hide_banner',
        '-loglevel',
        'error',
        '-re',
        ...(seconds ? ['-t', String(seconds.audio)] : []),
        '-f',
        'lavfi',
        '-i',
        'sine=frequency=440:sample_rate=44100',
      ],
      ...['-filter_complex', clockFilter(options), '-map', '[v]', '-map', '0:a'],
      ...(seconds ? ['-t', String(seconds.video)] : []),
      ...[
        '-c:v',
        'libx264',
        '-preset',
        preset,
        '-tune',
        'zerolatency',
        '-g',
        String(2 * rate),
        '-threads',
        '1',
      ],
      ...['-b:v', `${kbps}k`, '-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`],
      ...['-c:a', 'aac', '-b:a', '64k', '-f', 'flv', url],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = once(child, 'exit')
  let printed = ''
  child.stderr.on('data', (chunk: Buffer) => {
    printed = (printed + chunk).slice(-10_000)
  })
  return {
    errors: () => printed,
    async stop() {
      child.kill()
      await exited
    },
  }
}

/** An expression for a page: the time that the picture of a video element shows, in milliseconds since `sinceMs`. */
export const pictureTime = (video: string) => `((source) => {
  const canvas = new OffscreenCanvas(${bits * 8}, 20)
  const context = canvas.getContext('2d', { willReadFrequently: true })
  context.drawImage(source, 0, 0, source.videoWidth, source.videoHeight * ${share}, 0, 0, canvas.width, canvas.height)
  const { data } = context.getImageData(0, canvas.height / 2, canvas.width, 1)
  let time = 0
  for (let bit = 0; bit < ${bits}; bit++) if (data[(bit * 8 + 4) * 4] > 128) time += 2 ** bit
  return time
})(${video})`

/** An expression for a page: a stream of 30 pictures per second with the clock and a noise, and a tone. */
export const clockStream = ({ size, sinceMs }: Pick<ClockOptions, 'size' | 'sinceMs'>) => `(() => {
  const [width, height] = ${JSON.stringify(size.split('x').map(Number))}
  const canvas = Object.assign(document.createElement('canvas'), { width, height })
  const context = canvas.getContext('2d')
  const bar = width / ${bits}
  let frame = 0
  setInterval(() => {
    const time = Date.now() - ${sinceMs}
    context.fillStyle = 'hsl(' + (frame++ % 360) + ' 60% 50%)'
    context.fillRect(0, 0, width, height)
    for (let i = 0; i < 200; i++) {
      context.fillStyle = 'hsl(' + Math.random() * 360 + ' 60% 50%)'
      context.fillRect(Math.random() * width, Math.random() * height, 40, 40)
    }
    for (let bit = 0; bit < ${bits}; bit++) {
      context.fillStyle = Math.floor(time / 2 ** bit) % 2 ? 'white' : 'black'
      context.fillRect(bit * bar, 0, bar + 1, height * ${share})
    }
  }, 1000 / 30)
  const audio = new AudioContext()
  const tone = new OscillatorNode(audio)
  const output = audio.createMediaStreamDestination()
  tone.connect(output)
  tone.start()
  return new MediaStream([...canvas.captureStream(30).getTracks(), ...output.stream.getTracks()])
})()`
