import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds } from './cpu.ts'
import {
  createVideo,
  median,
  percentile,
  Resources,
  startKinora,
  startServer,
  withTemporaryFolder,
} from './servers.ts'
import { printTable, type Row } from './table.ts'

const viewers = 200
const steadyRate = 1_000

/** A browser tab that sends its position, again as soon as the previous report was accepted. */
type Viewer = { loadedAt: number; sessionId: string | undefined; position: number }

const agent = new Agent({ keepAlive: true, maxSockets: viewers })

function post(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'text/plain;charset=UTF-8', 'content-length': Buffer.byteLength(body) }
    const sent = request(`${url}/collector/vod`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
      )
    })
    sent.on('error', reject).end(body)
  })
}

async function report(url: string, videoId: string, viewer: Viewer): Promise<void> {
  const now = new Date().toISOString()
  viewer.position += 0.01
  const body = JSON.stringify({
    emitted_at: now,
    session: {
      loaded_at: new Date(viewer.loadedAt).toISOString(),
      referrer: 'https://shop.example/products/17',
      metadata: [{ viewer: `viewer ${viewer.loadedAt}` }],
      ...(viewer.sessionId && { session_id: viewer.sessionId }),
      video_id: videoId,
    },
    events: [{ type: 'progress', emitted_at: now, at: viewer.position }],
  })
  viewer.sessionId = JSON.parse(await post(url, body)).session
}

const newViewers = (): Viewer[] =>
  Array.from({ length: viewers }, (_, i) => ({ loadedAt: Date.now() - i, sessionId: undefined, position: 0 }))

type Target = { url: string; pid: number; videoId: string }

/** Reports per second of CPU time of the process, and per second of elapsed time. */
async function measureThroughput({ url, pid, videoId }: Target, seconds: number) {
  const end = performance.now() + seconds * 1_000
  let count = 0
  const before = await cpuSeconds([pid])
  await Promise.all(
    newViewers().map(async (viewer) => {
      for (; performance.now() < end; count++) await report(url, videoId, viewer)
    }),
  )
  return { perCore: count / ((await cpuSeconds([pid])) - before), perSecond: count / seconds }
}

/** The response time at a steady rate. The service responds when the report is on disk. */
async function measureLatency({ url, videoId }: Target, seconds: number): Promise<Row> {
  const tabs = newViewers()
  const tookMs: number[] = []
  const sent: Promise<void>[] = []
  const start = performance.now()
  for (let i = 0; i < steadyRate * seconds; i++) {
    const early = start + (i * 1_000) / steadyRate - performance.now()
    if (early > 1) await delay(early)
    const began = performance.now()
    sent.push(
      report(url, videoId, tabs[i % viewers]!).then(() => {
        // The first second is a warm-up.
        if (i >= steadyRate) tookMs.push(performance.now() - began)
      }),
    )
  }
  await Promise.all(sent)
  const at = (fraction: number) => percentile(tookMs, fraction).toFixed(1)
  return {
    measured: `response at ${steadyRate} reports/s, p50 and p99`,
    kinora: `${at(0.5)} ms, ${at(0.99)} ms`,
  }
}

/** Viewing reports with one event each: how many one core accepts, and how fast. */
export async function playbackSessions(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    resources.add(() => agent.destroy())
    const database = await resources.postgres(folder)
    const kinoraServer = await resources.server(
      startKinora(folder, { KINORA_DATABASE_URL: database, KINORA_RATE_LIMITS: 'off' }),
    )
    const bareServer = await resources.server(startServer('bench/bare-collector.ts', {}))
    const metadata = [{ key: 'viewer', value: '__viewer__' }]
    const videoId = await createVideo(kinoraServer.url, { metadata })
    const kinora = { url: kinoraServer.url, pid: kinoraServer.child.pid!, videoId }
    const bare = { url: bareServer.url, pid: bareServer.child.pid!, videoId }
    await measureThroughput(bare, 2)
    await measureThroughput(kinora, 2)
    const rounds: Record<'kinora' | 'bare', Awaited<ReturnType<typeof measureThroughput>>>[] = []
    for (let i = 0; i < 3; i++)
      rounds.push({ bare: await measureThroughput(bare, 3), kinora: await measureThroughput(kinora, 3) })
    const row = (measured: string, of: 'perCore' | 'perSecond'): Row => {
      const rate = (which: 'kinora' | 'bare') =>
        `${Math.round(median(rounds.map((each) => each[which][of])))}/s`
      const ratio = median(rounds.map((each) => each.kinora[of] / each.bare[of]))
      return { measured, kinora: rate('kinora'), reference: rate('bare'), ratio }
    }
    printTable('Viewing reports, compared with a bare Fastify route', [
      row('reports per second of CPU time', 'perCore'),
      row('reports per second, load on the same machine', 'perSecond'),
      await measureLatency(kinora, 5),
    ])
  })
}
