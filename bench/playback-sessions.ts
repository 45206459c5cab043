import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'
import { cpuSeconds } from './cpu.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

const viewers = 200
const perSecond = 1_000

/** One tab: it reports where it is, again and again, as fast as it is answered. */
type Viewer = { loadedAt: number; sessionId: string | undefined; at: number }

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
  viewer.at += 0.01
  const body = JSON.stringify({
    emitted_at: now,
    session: {
      loaded_at: new Date(viewer.loadedAt).toISOString(),
      referrer: 'https://shop.example/products/17',
      metadata: [{ viewer: `viewer ${viewer.loadedAt}` }],
      ...(viewer.sessionId && { session_id: viewer.sessionId }),
      video_id: videoId,
    },
    events: [{ type: 'progress', emitted_at: now, at: viewer.at }],
  })
  viewer.sessionId = JSON.parse(await post(url, body)).session
}

const newViewers = (): Viewer[] =>
  Array.from({ length: viewers }, (_, i) => ({ loadedAt: Date.now() - i, sessionId: undefined, at: 0 }))

type Target = { url: string; pid: number; videoId: string }

/** Reports a second of the process' own time, and of the clock. */
async function flood({ url, pid, videoId }: Target, seconds: number) {
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

/** How long an answer takes, which comes when the report is on disk, at a steady rate. */
async function measureLatency({ url, videoId }: Target, seconds: number): Promise<void> {
  const tabs = newViewers()
  const tookMs: number[] = []
  const sent: Promise<void>[] = []
  const start = performance.now()
  for (let i = 0; i < perSecond * seconds; i++) {
    const early = start + (i * 1_000) / perSecond - performance.now()
    if (early > 1) await delay(early)
    const began = performance.now()
    sent.push(
      report(url, videoId, tabs[i % viewers]!).then(() => {
        // The first second warms up.
        if (i >= perSecond) tookMs.push(performance.now() - began)
      }),
    )
  }
  await Promise.all(sent)
  tookMs.sort((a, b) => a - b)
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)]!.toFixed(1)
  console.log(`  answered at ${perSecond} reports/s     p50 ${at(0.5)} ms  p99 ${at(0.99)} ms`)
}

/** Viewing sessions: reports of one event each that are accepted in a second of one core, and how soon. */
export async function playbackSessions(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const log = { info() {}, warn: console.warn, error: console.error }
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log })
  const { user, password, host, database } = postgres.connection
  const kinora = await startServer('server/main.ts', {
    KINORA_DATABASE_URL: `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`,
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_RATE_LIMITS: 'off',
    KINORA_LOG_LEVEL: 'warn',
  })
  const bare = await startServer('bench/bare-collector.ts', {})
  try {
    const created = await fetch(`${kinora.url}/videos`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: [{ key: 'viewer', value: '__viewer__' }] }),
    })
    const { videoId } = (await created.json()) as { videoId: string }
    const ours = { url: kinora.url, pid: kinora.child.pid!, videoId }
    const theirs = { url: bare.url, pid: bare.child.pid!, videoId }
    await flood(theirs, 2)
    await flood(ours, 2)
    const rounds: { ours: Awaited<ReturnType<typeof flood>>; bare: Awaited<ReturnType<typeof flood>> }[] = []
    for (let i = 0; i < 3; i++) rounds.push({ bare: await flood(theirs, 3), ours: await flood(ours, 3) })
    const rate = (which: 'ours' | 'bare', of: 'perCore' | 'perSecond') =>
      Math.round(median(rounds.map((round) => round[which][of])))
    const ratio = median(rounds.map((round) => round.ours.perCore / round.bare.perCore))
    console.log('session events (one in each report):')
    console.log(
      `  accepted on one core             ${rate('ours', 'perCore')}/s  bare ${rate('bare', 'perCore')}/s  ratio ${ratio.toFixed(2)}`,
    )
    console.log(`  by the clock, load on this machine ${rate('ours', 'perSecond')}/s`)
    await measureLatency(ours, 5)
  } finally {
    agent.destroy()
    await stopServer(bare)
    await stopServer(kinora)
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}
