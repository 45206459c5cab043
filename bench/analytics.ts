import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { connectionOptions } from '../server/lib/db.ts'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'
import { fillSessions, videoOf } from './sessions.ts'

const rounds = 5

/**
 * How long each read takes with a million events of a hundred thousand sessions in a month, as against counting these
 * sessions in SQL, which looks at each of them once.
 */
export async function analytics([sessions = '100000']: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const postgres = await openEmbeddedPostgres({
    folder: join(folder, 'postgres'),
    log: { info() {}, warn() {}, error() {} },
  })
  const { user, password, host, database } = postgres.connection
  const url = `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`
  const server = await startServer('server/main.ts', {
    KINORA_DATABASE_URL: url,
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_RATE_LIMITS: 'off',
    KINORA_ROLES: 'api',
    KINORA_LOG_LEVEL: 'warn',
  })
  const client = new pg.Client(connectionOptions(url))
  await client.connect()
  try {
    const began = performance.now()
    await fillSessions(client, { sessions: Number(sessions), days: 29, eventsEach: 10 })
    await insertVideo(client)
    console.log(`${sessions} sessions in ${((performance.now() - began) / 1000).toFixed(0)} s`)
    const count = () => client.query(`select count(*) from viewing_sessions where watch_seconds >= 0`)
    const bareMs = await measure(count)
    console.log(`${bareMs.toFixed(1).padStart(8)} ms         counting in SQL`)
    for (const path of paths()) {
      const tookMs = await measure(() => read(server.url + path))
      console.log(`${tookMs.toFixed(1).padStart(8)} ms ${(tookMs / bareMs).toFixed(1).padStart(6)}  ${path}`)
    }
  } finally {
    await client.end()
    await stopServer(server)
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function insertVideo(client: pg.Client): Promise<void> {
  await client.query(
    `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
                         tag_terms, metadata_terms, source_type, created_at, updated_at)
     values ($1, 'production', '', '', true, false, true, '{}', '[]', '{}', '{}', 'upload', now(), now())`,
    [videoOf(0)],
  )
  await client.query(
    `insert into encodings (video_id, environment, state, plan, created_at)
     values ($1, 'production', 'encoded', '{"frames": 15000, "rate": {"num": 25, "den": 1}}', now())`,
    [videoOf(0)],
  )
}

function paths(): string[] {
  const month = `from=${new Date(Date.now() - 29 * 24 * 60 * 60 * 1000).toISOString()}`
  return [
    '/data/metrics/play/count',
    `/data/metrics/play/count?${month}`,
    '/data/metrics/play/total',
    `/data/metrics/watch-time/average?${month}&filterBy[mediaId]=${videoOf(5)}`,
    `/data/metrics/view/count?${month}&unique=true`,
    `/data/metrics/ccv/peak?${month}`,
    `/data/metrics/ccv/peak?${month}&unique=true`,
    '/data/metrics/ccv/live',
    `/data/buckets/play/media-id?${month}`,
    `/data/buckets/play-rate/browser?${month}`,
    `/data/buckets/view/referrer?${month}&unique=true`,
    `/data/buckets/ccv-peak/country?${month}`,
    '/data/buckets/play-total/media-id',
    '/data/timeseries/play',
    `/data/timeseries/play?${month}`,
    `/data/timeseries/play?${month}&interval=hour`,
    `/data/timeseries/ccv-peak?${month}&interval=hour`,
    `/data/timeseries/ccv-average?${month}&unique=true`,
    '/analytics/metadata',
    '/analytics/metadata/user',
    `/analytics/metadata/class?sortBy=completion&videoId=${videoOf(0)}`,
    '/analytics/metadata/user?metadata[class]=class+7&sortBy=watchTime',
    '/analytics/metadata/class?value=class+7',
    '/analytics/metadata/user?value=user+17',
    `/analytics/videos/${videoOf(0)}/retention`,
    `/analytics/videos/${videoOf(0)}/retention?by=class`,
    `/analytics/videos/${videoOf(0)}/retention?by=user&metadata[class]=class+3`,
  ]
}

async function read(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization } })
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${url}: ${body}`)
}

/** The median of some, after one that is not counted. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  await work()
  const took: number[] = []
  for (let n = 0; n < rounds; n++) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  return median(took)
}
