import autocannon from 'autocannon'
import pg from 'pg'
import {
  authorization,
  createVideo,
  median,
  Resources,
  startKinora,
  startServer,
  withTemporaryFolder,
} from './servers.ts'
import { atLeast, atMost, printTable, type Row } from './table.ts'
import { fillVideos, sampleSearches } from './videos.ts'

type Load = { url: string; requests: autocannon.Request[] }

const rounds = 5
const smallTable = 10_000
const largeTable = 1_000_000
const warmUpSearches = 20

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

/** Alternates between both servers, so that other load on the machine affects both. */
async function compareRates(measured: string, kinora: Load, bare: Load): Promise<Row> {
  await requestsPerSecond(bare, 2)
  await requestsPerSecond(kinora, 2)
  const rates: { kinora: number; bare: number }[] = []
  for (let i = 0; i < rounds; i++) {
    rates.push({ bare: await requestsPerSecond(bare, 3), kinora: await requestsPerSecond(kinora, 3) })
  }
  const ratio = median(rates.map((round) => round.kinora / round.bare))
  const rate = (which: 'kinora' | 'bare') => `${Math.round(median(rates.map((round) => round[which])))}/s`
  return { measured, kinora: rate('kinora'), reference: rate('bare'), ratio, goal: atLeast(0.5, ratio) }
}

/** The median time of sequential searches, each with different values. */
async function searchMs(url: string, paths: string[]): Promise<number> {
  const times: number[] = []
  for (const path of [...paths.slice(0, warmUpSearches), ...paths]) {
    const start = performance.now()
    const response = await fetch(url + path, { headers: { authorization } })
    const { pagination } = (await response.json()) as { pagination: { itemsTotal: number } }
    times.push(performance.now() - start)
    if (pagination.itemsTotal === 0) throw new Error(`${path} found nothing`)
  }
  return median(times.slice(warmUpSearches))
}

/** Parts: `requests`, `search`; without arguments, both. */
export async function api(parts: string[]): Promise<void> {
  const isSelected = (part: string) => parts.length === 0 || parts.includes(part)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const kinora = await resources.server(
      startKinora(folder, { KINORA_DATABASE_URL: database, KINORA_RATE_LIMITS: 'off' }),
    )
    const client = new pg.Client(database)
    await client.connect()
    resources.add(() => client.end())
    await client.query(
      'create table bare (id text primary key, title text, description text, created_at timestamptz not null)',
    )
    const bare = await resources.server(startServer('bench/bare-api.ts', { BARE_DATABASE: database }))
    if (isSelected('requests')) await measureRequests(kinora.url, bare.url)
    if (isSelected('search')) await measureSearches(kinora.url, client)
  })
}

async function measureRequests(kinoraUrl: string, bareUrl: string): Promise<void> {
  const payload = {
    title: 'How to grow tomatoes on a balcony',
    tags: ['garden', 'tomato'],
    metadata: [{ key: 'author', value: 'Ada' }],
  }
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(payload)
  const videoId = await createVideo(kinoraUrl, payload)
  const inserted = await fetch(`${bareUrl}/bare`, { method: 'POST', headers, body })
  const { id } = (await inserted.json()) as { id: string }
  const get = (url: string, path: string): Load => ({ url, requests: [{ path }] })
  const post = (url: string, path: string): Load => ({
    url,
    requests: [{ method: 'POST', path, headers, body }],
  })
  printTable('API requests, compared with a bare Fastify server', [
    await compareRates(
      'GET /videos/{videoId}',
      get(kinoraUrl, `/videos/${videoId}`),
      get(bareUrl, `/bare/${id}`),
    ),
    await compareRates('POST /videos', post(kinoraUrl, '/videos'), post(bareUrl, '/bare')),
  ])
}

async function searchTimes(url: string, tableSize: number): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  for (const { name, paths } of sampleSearches(tableSize)) times.set(name, await searchMs(url, paths))
  return times
}

async function measureSearches(kinoraUrl: string, client: pg.Client): Promise<void> {
  await client.query('truncate all_videos, video_counts, video_count_changes cascade')
  await fillVideos(client, 0, smallTable)
  const small = await searchTimes(kinoraUrl, smallTable)
  console.log(`Inserting ${largeTable} videos…`)
  await fillVideos(client, smallTable, largeTable)
  const large = await searchTimes(kinoraUrl, largeTable)
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const rows = sampleSearches(largeTable).map(({ name, hasGoal }): Row => {
    const [before, after] = [small.get(name)!, large.get(name)!]
    const ratio = after / before
    const row = { measured: name, kinora: ms(after), reference: ms(before), ratio }
    return hasGoal ? { ...row, goal: atMost(3, ratio) } : row
  })
  printTable(`Search in ${largeTable} videos, compared with ${smallTable} videos`, rows)
}
