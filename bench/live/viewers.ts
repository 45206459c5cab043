import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSecondsOfTree } from '../cpu.ts'
import { percentile, Resources, withTemporaryFolder } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { makeClip } from './clip.ts'
import { playlistUrl, startLive } from './service.ts'
import type { LoadOptions, Reload } from './viewer-load.ts'

const count = 500
const seconds = 20

/** Many viewers of one broadcast. */
export async function viewers(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const clip = await makeClip(folder, '240p')
    const service = await startLive(resources, folder)
    const streams = await service.createStreams(1)
    const encoders = await service.broadcast(streams, clip)
    const pid = service.child.pid!
    const alone = await cpuDuring(pid, () => delay(seconds * 1000))
    const load = await startLoad({
      playlist: await playlistUrl(service.url, streams[0]!),
      viewers: count,
      settleMs: 5_000,
      seconds,
    })
    let reloads: Reload[] = []
    const watched = await cpuDuring(pid, async () => {
      reloads = await load.finished
    })
    rows.push(...rowsOf(reloads, await encoders.stop(), (watched - alone) / count / seconds))
  })
  return rows
}

async function cpuDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = await cpuSecondsOfTree(pid)
  await work()
  return (await cpuSecondsOfTree(pid)) - before
}

/** Resolves when the viewers have settled. */
export async function startLoad(options: LoadOptions): Promise<{ finished: Promise<Reload[]> }> {
  const file = new URL('viewer-load.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  child.stdin.end(JSON.stringify(options))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the viewers ended early')
    return value
  }
  await read()
  const finished = async () => {
    const reloads = JSON.parse(await read())
    await exited
    return reloads
  }
  return { finished: finished() }
}

/** A part is available when the encoder has sent the first frame of the next one. */
function rowsOf(reloads: Reload[], sentAt: number[], cpuPerViewer: number): Row[] {
  const beyond = reloads.map(
    ([endFrame, requestedAt, receivedAt]) => receivedAt - Math.max(sentAt[endFrame]!, requestedAt),
  )
  const missed = count * seconds * 2 * 0.9 - reloads.length
  if (missed > 0)
    console.log(`  the viewers received ${reloads.length} playlists, fewer than there were parts`)
  const ms = (fraction: number) => percentile(beyond, fraction)
  return [
    {
      measured: `${count} viewers of one broadcast, CPU time per viewer and second`,
      kinora: `${(cpuPerViewer * 1000).toFixed(2)} ms`,
    },
    {
      measured: 'a blocking reload beyond its part, p50 and p99',
      kinora: `${ms(0.5)} ms, ${ms(0.99)} ms`,
      goal: atMost(100, ms(0.99), ' ms'),
    },
  ]
}
