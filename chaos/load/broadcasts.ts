import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { FlvStream, type FlvTag } from '../../server/live/media/flv-stream.ts'
import { withClock } from '../../test/support/live/burnt-clock.ts'
import { expectStatus, type LoadContext } from './load.ts'
import { Publisher, type SentFrames } from './publisher.ts'

const execute = promisify(execFile)

const frameRate = 10
export const frameMs = 1_000 / frameRate
/** Each frame shows its time in the source. FLV adds some milliseconds to it, so that none is negative. */
export const frameNumber = (ms: number) => Math.floor(ms / frameMs)
/** The source begins again after this time. */
export const sourceSeconds = 600
const minSeconds = 40
const maxSeconds = 120
const pauseMs = 3_000

/** What was sent to a live stream, for the audit of its recordings. */
export type Show = { liveStreamId: string; connections: SentFrames[] }

/** Makes what an encoder sends. */
export async function makeBroadcastSource(folder: string): Promise<FlvTag[]> {
  const path = join(folder, 'broadcast.flv')
  const size = '160x120'
  const picture = withClock(`testsrc2=s=${size}:r=${frameRate}:d=${sourceSeconds}`, { size, rate: frameRate })
  await execute('ffmpeg', [
    ...[
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      `anullsrc=r=44100:d=${sourceSeconds}`,
      '-filter_complex',
      picture,
    ],
    ...['-map', '[v]', '-map', '0:a', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency'],
    ...['-g', String(frameRate), '-c:a', 'aac', '-b:a', '32k', '-y', path],
  ])
  return new FlvStream().read(await readFile(path))
}

/** Broadcasts to a live stream, again and again. The encoder reconnects to any machine, as encoders with two addresses do. */
export async function broadcastShows(context: LoadContext, tags: FlvTag[], show: Show): Promise<void> {
  const { client, ledger, random, installation, stopping } = context
  const detail = await client.send(`/live-streams/${show.liveStreamId}`)
  if (!expectStatus(ledger, 'GET /live-streams', detail, 200)) return
  const { streamKey } = JSON.parse(detail.text)
  const urls = installation.live.map(({ rtmpUrl }) => rtmpUrl)
  while (!stopping.aborted) {
    const sourceMs = sourceSeconds * 1_000
    const publisher = new Publisher({ tags, urls, streamKey, sourceMs, numberOf: frameNumber })
    show.connections.push(...(await publisher.run(random.integer(minSeconds, maxSeconds) * 1_000, stopping)))
    // Longer than the reconnect time, so that the next one is another broadcast.
    await delay(pauseMs)
  }
}
