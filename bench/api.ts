import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import pg from 'pg'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'
import { fillVideos, sampleSearches } from './videos.ts'

type Load = { url: string; requests: autocannon.Request[] }

async function requestsPerSecond({ url, requests }: Load, seconds: number): Promise<number> {
  const result = await autocannon({
    url,
    requests,
    connections: 32,
    duration: seconds,
    headers: { authorization },
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx + result.errors} requests failed`)
  return result.requests.total / result.duration
}

/** Takes turns, so that whatever else the machine does meets both alike. */
async function compare(name: string, ours: Load, bare: Load, goal: number): Promise<void> {
  await requestsPerSecond(bare, 2)
  await requestsPerSecond(ours, 2)
  const rounds: { ours: number; bare: number }[] = []
  for (let i = 0; i < 5; i++) {
    rounds.push({ bare: await requestsPerSecond(bare, 3), ours: await requestsPerSecond(ours, 3) })
  }
  const ratio = median(rounds.map((round) => round.ours / round.bare))
  const rate = (which: 'ours' | 'bare') => Math.round(median(rounds.map((round) => round[which])))
  console.log(
    `${name.padEnd(28)} ${String(rate('ours')).padStart(7)}/s  bare ${String(rate('bare')).padStart(7)}/s  ratio ${ratio.toFixed(2)}  goal at least ${goal}  ${ratio >= goal ? 'reached' : 'MISSED'}`,
  )
}

/** The median time of a search, one at a time, each for something else. */
async function searchMs(url: string, paths: string[]): Promise<number> {
  const times: number[] = []
  for (const path of [...paths.slice(0, 20), ...paths]) {
    const start = performance.now()
    const response = await fetch(url + path, { headers: { authorization } })
    const { pagination } = (await response.json()) as { pagination: { itemsTotal: number } }
    times.push(performance.now() - start)
    if (pagination.itemsTotal === 0) throw new Error(`${path} found nothing`)
  }
  return median(times.slice(20))
}

/** Parts: `requests`, `search`; without any, both. */
export async function api(parts: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const log = { info() {}, warn: console.warn, error: console.error }
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log })
  const { user, password, host, database } = postgres.connection
  const databaseUrl = `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`
  const client = new pg.Client(databaseUrl)
  await client.connect()

  const kinora = await startServer('server/main.ts', {
    KINORA_DATABASE_URL: databaseUrl,
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_RATE_LIMITS: 'off',
    KINORA_LOG_LEVEL: 'warn',
  })
  await client.query(
    'create table bare (id text primary key, title text, description text, created_at timestamptz not null)',
  )
  const bare = await startServer('bench/bare.ts', { BARE_DATABASE: databaseUrl })

  try {
    const isAsked = (part: string) => parts.length === 0 || parts.includes(part)
    if (isAsked('requests')) await measureRequests(kinora.url, bare.url)
    if (isAsked('search')) await measureSearches(kinora.url, client)
  } finally {
    await client.end()
    await stopServer(kinora)
    await stopServer(bare)
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function searches(url: string, size: number): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  for (const [name, paths] of Object.entries(sampleSearches(size)))
    times.set(name, await searchMs(url, paths))
  return times
}

async function measureRequests(kinoraUrl: string, bareUrl: string): Promise<void> {
  const post = (url: string, body: object): Promise<{ id: string }> =>
    fetch(url, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then((response) => response.json() as Promise<{ id: string }>)
  const payload = {
    title: 'How to grow tomatoes on a balcony',
    tags: ['garden', 'tomato'],
    metadata: [{ key: 'author', value: 'Ada' }],
  }
  const video = await post(`${kinoraUrl}/videos`, payload)
  const row = await post(`${bareUrl}/bare`, payload)
  await compare(
    'GET /videos/{id}',
    { url: kinoraUrl, requests: [{ path: `/videos/${video.id}` }] },
    { url: bareUrl, requests: [{ path: `/bare/${row.id}` }] },
    0.5,
  )
  const posting = (path: string): autocannon.Request[] => [
    {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
    },
  ]
  await compare(
    'POST /videos',
    { url: kinoraUrl, requests: posting('/videos') },
    { url: bareUrl, requests: posting('/bare') },
    0.5,
  )
}

async function measureSearches(kinoraUrl: string, client: pg.Client): Promise<void> {
  await client.query('truncate videos, video_counts, video_count_changes')
  const small = 10_000
  const large = 1_000_000
  await fillVideos(client, 0, small)
  const before = await searches(kinoraUrl, small)
  console.log(`filling in ${large} videos…`)
  await fillVideos(client, small, large)
  const after = await searches(kinoraUrl, large)
  for (const [name, ms] of before) {
    const grown = after.get(name) ?? Number.NaN
    const ratio = grown / ms
    const goal = name.startsWith('not a goal') ? '' : `  goal at most 3  ${ratio <= 3 ? 'reached' : 'MISSED'}`
    console.log(
      `${name.padEnd(48)} ${ms.toFixed(1)} ms at ${small}, ${grown.toFixed(1)} ms at ${large}  ratio ${ratio.toFixed(2)}${goal}`,
    )
  }
}
