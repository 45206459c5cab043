import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Kinora, temporaryFolder } from '../harness.ts'
import { ffmpeg } from './media.ts'

/** A small video with sound for encoders: key frames every second, ten seconds long. */
export async function encoderSource(t: { after(end: () => unknown): void }): Promise<string> {
  const path = join(await temporaryFolder(t), 'source.flv')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10', '-f', 'lavfi', '-i', 'sine=r=44100', '-t', '10'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '10', '-c:a', 'aac', path],
  )
  return path
}

export type Encoder = {
  process: ChildProcess
  output(): string
  /** Resolves when it has ended, which it does when it is refused or disconnected. */
  ended: Promise<void>
  /** Ends the broadcast as a user does. */
  stop(): Promise<void>
}

const rtmpUrl = (service: Kinora) => /rtmp:\/\/\S+/.exec(service.output())![0]

/** Sends the source again and again, three times as fast as in reality. It is stopped after the test. */
export function startEncoder(
  t: { after(end: () => unknown): void },
  source: string,
  service: Kinora,
  streamKey: string,
): Encoder {
  const url = `${rtmpUrl(service)}/${streamKey}`
  const args = [
    '-v',
    'warning',
    '-readrate',
    '3',
    '-stream_loop',
    '-1',
    '-i',
    source,
    '-c',
    'copy',
    '-f',
    'flv',
    url,
  ]
  const child = spawn('ffmpeg', ['-hide_banner', '-nostdin', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const ended = once(child, 'exit').then(() => {})
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  t.after(() => end('SIGKILL'))
  return { process: child, output: () => output, ended, stop: () => end('SIGTERM') }
}
