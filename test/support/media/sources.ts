import { execFile } from 'node:child_process'
import { readFile, truncate } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ffmpeg } from './media.ts'

const execute = promisify(execFile)
export const sampleRate = 48_000

/** Each frame shows its number in binary: twelve dark or bright columns above a plain gray area. */
const columns = 12
const bits = `if(lt(Y,4),if(mod(floor(N/pow(2,X)),2),215,40),128)`

/** Returns a lavfi graph whose frames show their number. */
export function numberedFrames({ size = '160x120', rate = '25', seconds = 3, filter = '' } = {}): string {
  const graph = [
    `color=gray:s=${columns}x6:r=${rate}:d=${seconds}`,
    `format=yuv444p,geq=lum='${bits}':cb=128:cr=128`,
    `scale=${size.replace('x', ':')}:flags=neighbor`,
    'setsar=1,format=yuv420p',
    ...(filter ? [filter] : []),
  ]
  return graph.join(',')
}

export const lavfi = (graph: string) => ['-f', 'lavfi', '-i', graph]
/** A tone in the middle of each second. Silence is encoded in a third of the time. */
const toneGraph = (frequency: number, seconds: number, rate: number) =>
  `sine=f=${frequency}:r=${rate}:d=${seconds},volume='between(mod(t,1),0.3,0.7)':eval=frame`
export const tone = (frequency = 440, seconds = 3, rate = 48_000) =>
  lavfi(toneGraph(frequency, seconds, rate))
export const toneInCenter = lavfi(`${toneGraph(440, 3, 48_000)},pan=5.1|FC=c0`)
export const splitArgs = (text: string) => text.split(' ').filter(Boolean)

export const x264 = splitArgs('-c:v libx264 -preset ultrafast -crf 18 -bf 2 -g 50 -pix_fmt yuv420p')

export const frames = (length: number, number = (frame: number) => frame) =>
  Array.from({ length }, (_, i) => number(i))
export const videoWithTone = (options: NonNullable<Parameters<typeof numberedFrames>[0]> = {}) => [
  ...lavfi(numberedFrames(options)),
  ...tone(440, options.seconds ?? 3),
]
export const aac = splitArgs('-c:a aac')
/** A lossless tone is made and encoded in half the time of a decoded AAC. */
export const alac = splitArgs('-c:a alac')
export const hevc = (params: string) =>
  splitArgs(`-c:v libx265 -preset superfast -x265-params log-level=none:open-gop=1:scenecut=0:${params}`)
// A positive speed lets the encoder use the time that is left until the next frame. Its threads wait for each other in
// loops, which takes CPU time on a busy machine.
export const vp8 = splitArgs('-c:v libvpx -deadline realtime -cpu-used -16 -b:v 1M -threads 1')
/** Four vertical stripes with these 10-bit luma levels, 160x120 at 5 fps. */
export const stripes = (levels: number[]) => {
  const [a, b, c, d] = levels
  const lum = `if(lt(X,40),${a},if(lt(X,80),${b},if(lt(X,120),${c},${d})))`
  return lavfi(`color=s=160x120:r=5:d=3,format=yuv420p10le,geq=lum='${lum}':cb=512:cr=512`)
}

/** Returns the raw frames or samples, and ffmpeg's warnings. */
async function decode(path: string, args: string[]): Promise<{ bytes: Buffer; warnings: string }> {
  const all = ['-v', 'warning', '-nostdin', '-i', path, ...args, '-']
  const limits = { encoding: 'buffer', maxBuffer: 512 * 1024 * 1024 } as const
  const { stdout, stderr } = await execute('ffmpeg', all, limits)
  return { bytes: stdout, warnings: stderr.toString() }
}

const numberRows = 6
const numberFilter = `scale=${columns}:${numberRows}:flags=area,format=gray`

function parseFrameNumbers(bytes: Buffer): number[] {
  const size = columns * numberRows
  return Array.from({ length: bytes.length / size }, (_, frame) => {
    const row = bytes.subarray(frame * size + columns, frame * size + 2 * columns)
    return row.reduce((sum, level, x) => sum + (level > 128 ? 2 ** x : 0), 0)
  })
}

/** Reads the number that each frame of a file shows. */
export async function readFrameNumbers(path: string): Promise<{ numbers: number[]; warnings: string }> {
  const args = splitArgs(`-map 0:v -fps_mode passthrough -vf ${numberFilter} -f rawvideo`)
  const { bytes, warnings } = await decode(path, args)
  return { numbers: parseFrameNumbers(bytes), warnings }
}

export type DecodedMedia = {
  numbers: number[]
  /** The size, pixel aspect ratio, pixel format and frame rate: `320x240 1/1 yuv420p 25/1`. */
  format: string
  /** Color range, matrix, transfer and primaries. */
  colors: string
  samples: Float32Array
  warnings: string
}

/** Decodes a video file and an audio file in one run of ffmpeg, because its start takes longer than the decoding. */
export async function decodeMedia(video: string, audio?: string): Promise<DecodedMedia> {
  const samplesPath = `${video}.f32`
  const { stdout, stderr } = await execute(
    'ffmpeg',
    [
      ...splitArgs('-hide_banner -nostdin -nostats -y -loglevel level+info'),
      ...['-i', video, ...(audio ? ['-i', audio] : [])],
      ...splitArgs(`-map 0:v -fps_mode passthrough -vf showinfo=checksum=0,${numberFilter} -f rawvideo -`),
      ...(audio ? [...splitArgs(`-map 1:a -ac 1 -ar ${sampleRate} -f f32le`), samplesPath] : []),
    ],
    { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
  )
  const lines = stderr.toString().split('\n')
  const find = (pattern: RegExp) => pattern.exec(stderr.toString())?.slice(1).join(' ') ?? ''
  const samples = audio ? new Uint8Array(await readFile(samplesPath)).buffer : new ArrayBuffer(0)
  return {
    numbers: parseFrameNumbers(stdout),
    format: [find(/ s:(\S+)/), find(/ sar:(\S+)/), find(/ fmt:(\S+)/), find(/frame_rate: (\S+)/)].join(' '),
    colors: find(/color_range:(\S+) color_space:(\S+) color_primaries:(\S+) color_trc:(\S+)/),
    samples: new Float32Array(samples),
    warnings: lines.filter((line) => /\[(warning|error|fatal|panic)\]/.test(line)).join('\n'),
  }
}

/** Scales each frame to `size` and returns its coded luma values: one list per frame. */
export async function readBrightness(path: string, size: string, args: string[] = []): Promise<number[][]> {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const filter = `scale=${width}:${height}:flags=area`
  const { bytes } = await decode(path, [
    ...args,
    ...splitArgs(`-map 0:v -fps_mode passthrough -vf ${filter} -pix_fmt yuv444p -f rawvideo`),
  ])
  const pixels = width * height
  return Array.from({ length: bytes.length / pixels / 3 }, (_, i) => [
    ...bytes.subarray(i * 3 * pixels, (i * 3 + 1) * pixels),
  ])
}

/** Measures the frequency and the level of the audio around a time. */
export function toneAt(samples: Float32Array, atSeconds: number) {
  const rate = sampleRate
  const part = samples.subarray(Math.round((atSeconds - 0.1) * rate), Math.round((atSeconds + 0.1) * rate))
  let crossings = 0
  let power = 0
  for (let i = 1; i < part.length; i++) {
    if (part[i - 1]! < 0 !== part[i]! < 0) crossings++
    power += part[i]! ** 2
  }
  return { hertz: crossings / 2 / (part.length / rate), level: Math.sqrt(power / part.length) }
}

/** Sets the display matrix of an MP4 or MOV to a rotation of 90° clockwise. */
export function rotateClockwise(bytes: Buffer): Buffer {
  const matrix = bytes.indexOf('tkhd') + 44
  for (const [i, value] of [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000].entries())
    bytes.writeInt32BE(value, matrix + 4 * i)
  return bytes
}

/** Keeps only the first part of a file. `fraction` is between 0 and 1. */
export async function truncateFile(path: string, fraction: number): Promise<void> {
  await truncate(path, Math.floor((await readFile(path)).length * fraction))
}

/** Makes a file in one or more ffmpeg runs. `{last}` stands for the output of the previous run. */
export async function makeSource(path: string, ...steps: string[][]): Promise<string> {
  let last = ''
  for (const [i, step] of steps.entries()) {
    const output = i === steps.length - 1 ? path : `${path}.${i}.${step.at(-1)}`
    const args = i === steps.length - 1 ? step : step.slice(0, -1)
    await ffmpeg(...args.map((arg) => arg.replace('{last}', last)), output)
    last = output
  }
  return path
}
