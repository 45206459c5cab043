import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** In seconds. The CPU time is that of all cores. */
export type Cost = { wall: number; cpu: number }

export type Source = {
  path: string
  width: number
  height: number
  rate: { num: number; den: number }
  seconds: number
  /** The indices of the streams in the file. */
  video: number
  audio: number | undefined
}

/** Runs a program and measures its elapsed time and its CPU time on all cores. */
export async function timed(
  command: string,
  args: string[],
): Promise<Cost & { stderr: string; stdout: string }> {
  const start = performance.now()
  // The shell's `times` is the only portable way to get the CPU time of one child process.
  const child = spawn('bash', ['-c', '"$@"; code=$?; times >&3; exit $code', 'bash', command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const outputs = ['', '', '']
  for (const [i, stream] of [child.stdout, child.stderr, child.stdio[3]].entries())
    (stream as Readable).on('data', (chunk) => {
      outputs[i] += chunk
    })
  const [code] = await once(child, 'close')
  const [stdout = '', stderr = '', times = ''] = outputs
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}: ${stderr.slice(-500)}`)
  const ofChildren = times.trim().split('\n')[1] ?? ''
  const cpu = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, m) => sum + Number(m[1]) * 60 + Number(m[2]),
    0,
  )
  return { wall: (performance.now() - start) / 1000, cpu, stdout, stderr }
}

export const ffmpeg = (...args: string[]) =>
  timed('ffmpeg', ['-hide_banner', '-nostdin', '-y', '-v', 'error', ...args])

type ProbedStream = { index: number; codec_type: string; duration?: string } & (
  | { codec_type: 'video'; width: number; height: number; r_frame_rate: string }
  | { codec_type: 'audio' }
)

export async function probe(path: string): Promise<Source> {
  const entries = 'stream=index,codec_type,width,height,r_frame_rate,duration:format=duration'
  const { stdout } = await timed('ffprobe', ['-v', 'error', '-of', 'json', '-show_entries', entries, path])
  const { streams, format } = JSON.parse(stdout) as {
    streams: ProbedStream[]
    format: { duration: string }
  }
  const video = streams.find((stream) => stream.codec_type === 'video')
  if (!video) throw new Error(`${path} has no video stream`)
  const [num = 0, den = 1] = video.r_frame_rate.split('/').map(Number)
  const { width, height, index, duration } = video
  return {
    path,
    width,
    height,
    rate: { num, den },
    seconds: Number(duration ?? format.duration),
    video: index,
    audio: streams.find((stream) => stream.codec_type === 'audio')?.index,
  }
}
