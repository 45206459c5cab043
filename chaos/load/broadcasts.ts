import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { FlvStream, type FlvTag } from '../../server/live/media/flv-stream.ts'
import { expectStatus, type LoadContext } from './load.ts'
import { Publisher, type SentFrames } from './publisher.ts'

const execute = promisify(execFile)

const frameRate = 10
export const frameMs = 1_000 / frameRate
/** The source begins again after this time. */
const sourceSeconds = 600
const minSeconds = 40
const maxSeconds = 120
const pauseMs = 3_000

/** What encoders send, and the number of each frame by its hash. */
export type Source = { tags: FlvTag[]; numbers: Map<string, number> }

/** What was sent to a live stream, for the audit of its recordings. */
export type Show = { liveStreamId: string; connections: SentFrames[] }

/** Makes what an encoder sends. No two frames are the same, so that the frames of a recording are known by their hashes. */
export async function makeBroadcastSource(folder: string): Promise<Source> {
  const path = join(folder, 'broadcast.flv')
  const picture = `testsrc2=s=128x96:r=${frameRate}`
  await execute('ffmpeg', [
    ...['-v', 'error', '-f', 'lavfi', '-i', picture, '-f', 'lavfi', '-i', 'anullsrc=r=44100'],
    ...['-t', String(sourceSeconds), '-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency'],
    ...[
      '-pix_fmt',
      'yuv420p',
      '-crf',
      '40',
      '-g',
      String(frameRate),
      '-c:a',
      'aac',
      '-b:a',
      '32k',
      '-y',
      path,
    ],
  ])
  const hashes = await hashFrames(path)
  const numbers = new Map(hashes.map((hash, number) => [hash, number]))
  if (numbers.size !== hashes.length) throw new Error('two frames of the source are the same')
  return { tags: new FlvStream().read(await readFile(path)), numbers }
}

/** The hash of each encoded frame of a file. */
export async function hashFrames(path: string): Promise<string[]> {
  const args = ['-v', 'error', '-i', path, '-map', '0:v', '-c', 'copy', '-f', 'framemd5', '-']
  const { stdout } = await execute('ffmpeg', args, { maxBuffer: 64 * 1024 * 1024 })
  const lines = stdout.split('\n').filter((line) => line && !line.startsWith('#'))
  return lines.map((line) => line.split(',').at(-1)!.trim())
}

/** Broadcasts to a live stream, again and again. The encoder reconnects to any machine, as encoders with two addresses do. */
export async function broadcastShows(context: LoadContext, { tags }: Source, show: Show): Promise<void> {
  const { client, ledger, random, installation, stopping } = context
  const detail = await client.send(`/live-streams/${show.liveStreamId}`)
  if (!expectStatus(ledger, 'GET /live-streams', detail, 200)) return
  const { streamKey } = JSON.parse(detail.text)
  const urls = installation.live.map(({ rtmpUrl }) => rtmpUrl)
  const sourceMs = sourceSeconds * 1_000
  // It continues the source from one broadcast to the next, so that each frame is sent once.
  const publisher = new Publisher({ tags, urls, streamKey, sourceMs })
  while (!stopping.aborted) {
    show.connections.push(...(await publisher.run(random.integer(minSeconds, maxSeconds) * 1_000, stopping)))
    // Longer than the reconnect time, so that the next one is another broadcast.
    await delay(pauseMs)
  }
}
