import { join } from 'node:path'
import { cpuSeconds } from './cpu.ts'
import { makeClip } from './live/clip.ts'
import { playlistUrl, startLive } from './live/service.ts'
import type { Reload } from './live/viewer-load.ts'
import { startLoad } from './live/viewers.ts'
import { type Load, startCache } from './nginx.ts'
import { percentile, Resources, withTemporaryFolder } from './servers.ts'
import { atMost, printTable, type Row } from './table.ts'

const seconds = 30
const settleMs = 10_000
/** They watch without the cache. */
const directViewers = 20
/** The viewers share the cores with the servers. */
const kbps = 300

/** Many viewers of one low-latency broadcast behind nginx with deploy/nginx-cache.conf, and a few without it. */
export async function edge([viewers = '2000']: string[]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const clip = await makeClip(folder, '240p', kbps)
    const service = await startLive(resources, folder)
    const cache = await startCache(join(folder, 'cache'), service.url)
    if (!cache) return void console.log('nginx is not installed')
    resources.add(cache.close)
    const [stream] = await service.createStreams(1)
    const encoders = await service.broadcast([stream!], clip)
    const playlist = await playlistUrl(service.url, stream!)
    const loadOf = (url: string, count: number) =>
      startLoad({ playlist: url, viewers: count, settleMs, seconds })
    const [cached, direct] = await Promise.all([
      loadOf(playlist.replace(service.url, cache.url), Number(viewers)),
      loadOf(playlist, directViewers),
    ])
    const [from, workers] = [Date.now(), await cache.workers()]
    const cpuBefore = await cpuSeconds(workers)
    const reloads = await Promise.all([cached.finished, direct.finished])
    const cpu = (await cpuSeconds(workers)) - cpuBefore
    const loads = (await cache.loads()).filter(({ at }) => at >= from && at < from + seconds * 1000)
    const sentAt = await encoders.stop()
    printTable(`${viewers} viewers behind nginx, one broadcast, low latency`, [
      ...loadRows(loads),
      ...delayRows(reloads, sentAt),
      missedRow(reloads[0], Number(viewers)),
      {
        measured: 'CPU time of nginx per viewer and second',
        kinora: `${((cpu * 1000) / Number(viewers) / seconds).toFixed(2)} ms`,
      },
    ])
  })
}

/** How often nginx asked Kinora for each playlist and each part. */
function loadRows(loads: Load[]): Row[] {
  const partPattern = /\.\d+\.m4s$/
  const [parts, others] = [
    loads.filter(({ path }) => partPattern.test(path)),
    loads.filter(({ path }) => !partPattern.test(path)),
  ]
  const distinct = new Set(parts.map(({ path }) => path)).size
  const row = (measured: string, count: number): Row => ({ measured, kinora: (count / distinct).toFixed(2) })
  return [
    {
      ...row('requests to Kinora per part', loads.length),
      goal: atMost(2, Number((loads.length / distinct).toFixed(2))),
    },
    row('of these, for the part', parts.length),
    row('of these, for the playlist', others.length),
  ]
}

/** The time from the frame that completed a part, or from the request, to the playlist that has the part. */
function delayRows([cached, direct]: Reload[][], sentAt: number[]): Row[] {
  const delays = (reloads: Reload[] = []) =>
    reloads.map(
      ([endFrame, requestedAt, receivedAt]) => receivedAt - Math.max(sentAt[endFrame]!, requestedAt),
    )
  const [behind, without] = [delays(cached), delays(direct)]
  return ([0.5, 0.9, 0.99] as const).map((fraction) => ({
    measured: `a blocking reload beyond its part, p${fraction * 100}`,
    kinora: `${percentile(behind, fraction)} ms`,
    reference: `${percentile(without, fraction)} ms`,
  }))
}

/** A viewer who was too late for a part has received it in a later playlist. */
const missedRow = (reloads: Reload[] = [], viewers: number): Row => ({
  measured: 'playlists that viewers received, of two per second',
  kinora: `${Math.min(100, (reloads.length / viewers / seconds / 2) * 100).toFixed(0)} %`,
})
