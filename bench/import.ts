import { randomBytes } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import ApiVideoClient from '@api.video/nodejs-client'
import { inParallel } from '../server/lib/parallel.ts'
import { authorization, Resources, type RunningServer, startKinora, withTemporaryFolder } from './servers.ts'
import { atMost, printTable } from './table.ts'

// Videos are uploaded to one service with the published client, and imported from there into another one. The time ends
// when all files have arrived. Neither service encodes them.

const settings = { KINORA_RATE_LIMITS: 'off', KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }
const uploadsAtOnce = 4
const key = 'bench-production-key'
const fileBytes = 200 * 1024
const maxRatio = 1.2
const maxGrowthMiB = 64

/** Nothing is encoded, because every file is rejected. */
const rejecting = `#!/bin/sh
case "$*" in *-version*) exec ffprobe "$@" ;; esac
echo 'Invalid data found when processing input' >&2
exit 1
`

export async function importVideos([number = '1000']: string[]): Promise<void> {
  const count = Number(number)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const ffprobe = join(folder, 'ffprobe')
    await writeFile(ffprobe, rejecting)
    // Another user runs it if root runs the benchmark.
    await chmod(folder, 0o755)
    await chmod(ffprobe, 0o755)
    const env = { ...settings, KINORA_FFPROBE: ffprobe }
    const source = await resources.server(startKinora(join(folder, 'source'), env))
    const target = await resources.server(startKinora(join(folder, 'target'), env))
    const path = join(folder, 'clip.mp4')
    await writeFile(path, randomBytes(fileBytes))
    const uploadMs = await upload(source, path, count)
    await delay(2_000)
    const { importMs, memory } = await importAll(source, target, count)
    const [early = 0, late = 0] = [memory[Math.floor(memory.length / 4)], memory.at(-1)]
    const ratio = importMs / uploadMs
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
    printTable(`${count} videos of ${fileBytes / 1024} KiB from another Kinora`, [
      {
        measured: 'import, compared with uploads, four at once',
        kinora: seconds(importMs),
        reference: seconds(uploadMs),
        ratio,
        goal: atMost(maxRatio, ratio),
      },
      {
        measured: 'memory at the end, compared with that after a quarter',
        kinora: `${late.toFixed(0)} MiB`,
        reference: `${early.toFixed(0)} MiB`,
        goal: atMost(maxGrowthMiB, late - early, ' MiB more'),
      },
    ])
  })
}

async function upload({ url }: RunningServer, path: string, count: number): Promise<number> {
  const client = new ApiVideoClient({ baseUri: url, apiKey: key })
  const start = performance.now()
  await inParallel(Array(count).keys(), uploadsAtOnce, async (n) => {
    const { videoId } = await client.videos.create({ title: `Video ${n}`, tags: ['all'] })
    await client.videos.upload(videoId, path)
  })
  return performance.now() - start
}

const pollMs = 100

async function importAll(source: RunningServer, target: RunningServer, count: number) {
  const start = performance.now()
  const headers = { authorization, 'content-type': 'application/json' }
  const body = JSON.stringify({ service: 'kinora', url: source.url, key })
  const response = await fetch(`${target.url}/imports`, { method: 'POST', headers, body })
  const { importId } = (await response.json()) as { importId: string }
  /** The totals of the import itself may be a second old. */
  const countItems = async (query: string): Promise<number> => {
    const shown = await fetch(`${target.url}/imports/${importId}/items?pageSize=1${query}`, { headers })
    return ((await shown.json()) as { pagination: { itemsTotal: number } }).pagination.itemsTotal
  }
  const memory: number[] = []
  let listed = 0
  let isWaiting = true
  for (;;) {
    await delay(pollMs)
    memory.push(await residentMiB(target))
    if (listed < count) listed = await countItems('')
    if (listed < count) continue
    // Nothing returns to an earlier state here.
    isWaiting &&= (await countItems('&state=waiting')) > 0
    if (!isWaiting && (await countItems('&state=fetching')) === 0) break
  }
  const importMs = performance.now() - start
  const skipped = await countItems('&state=skipped')
  if (skipped > 0) throw new Error(`${skipped} videos were skipped`)
  return { importMs, memory }
}

async function residentMiB({ child }: RunningServer): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
