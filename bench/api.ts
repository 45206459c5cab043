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
import { atLeast, printTable, type Row } from './table.ts'

type Load = { url: string; requests: autocannon.Request[] }

const rounds = 5

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

export async function api(): Promise<void> {
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
    await measureRequests(kinora.url, bare.url)
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
