import { once } from 'node:events'
import { openAsBlob } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { openDb, openPool } from '../server/lib/db.ts'
import type { Tables } from '../server/tables.ts'
import { recordEvent } from '../server/webhooks/events.ts'
import { cpuSecondsOfTree, parentPid } from './cpu.ts'
import { ffmpeg } from './ffmpeg.ts'
import { authorization, createVideo, Resources, startKinora, withTemporaryFolder } from './servers.ts'

// What the database does for each unit of work, without what an idle service does in the same time.

const idleSeconds = 10
const chunkBytes = 5 * 1024 * 1024
/** Statistics of Postgres arrive after at most this time. */
const statisticsMs = 1_500

type Costs = { transactions: number; walBytes: number; rows: number; cpuMs: number }
type Bench = { url: string; database: string; client: pg.Client; folder: string; postmaster: number }

async function readCosts({ client, postmaster }: Bench): Promise<Costs> {
  await delay(statisticsMs)
  const { rows } = await client.query<Record<'transactions' | 'walBytes' | 'rows', string>>(
    `select xact_commit as transactions, tup_inserted + tup_updated + tup_deleted as rows,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as "walBytes"
     from pg_stat_database where datname = current_database()`,
  )
  const { transactions, walBytes, rows: written } = rows[0]!
  const cpuMs = (await cpuSecondsOfTree(postmaster)) * 1_000
  return { transactions: Number(transactions), walBytes: Number(walBytes), rows: Number(written), cpuMs }
}

const combine = (one: Costs, other: Costs, by: (a: number, b: number) => number): Costs => ({
  transactions: by(one.transactions, other.transactions),
  walBytes: by(one.walBytes, other.walBytes),
  rows: by(one.rows, other.rows),
  cpuMs: by(one.cpuMs, other.cpuMs),
})

async function costsOf(bench: Bench, work: () => Promise<unknown>): Promise<Costs & { seconds: number }> {
  const before = await readCosts(bench)
  const start = performance.now()
  await work()
  const after = await readCosts(bench)
  const seconds = (performance.now() - start) / 1_000
  return { ...combine(after, before, (a, b) => a - b), seconds }
}

type Unit = { name: string; units: number; work: () => Promise<unknown> }

async function createVideos({ url }: Bench, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await createVideo(url, { title: `Video ${n}`, tags: ['a'], metadata: [{ key: 'lesson', value: `${n}` }] })
}

async function uploadChunks({ url }: Bench, count: number): Promise<void> {
  const videoId = await createVideo(url)
  const total = (count + 1) * chunkBytes
  for (let n = 0; n < count; n++) {
    const body = new FormData()
    body.append('file', new Blob([new Uint8Array(chunkBytes)]), 'film.mp4')
    const range = `bytes ${n * chunkBytes}-${(n + 1) * chunkBytes - 1}/${total}`
    const headers = { authorization, 'content-range': range }
    const response = await fetch(`${url}/videos/${videoId}/source`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(await response.text())
  }
}

/** Few frames per second, because the number of rows depends on the duration and the qualities only. */
async function makeFilm(folder: string, seconds: number): Promise<string> {
  const path = join(folder, 'film.mp4')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'color=s=1280x720:r=2', '-f', 'lavfi', '-i', 'anullsrc=r=48000'],
    ...['-t', String(seconds), '-pix_fmt', 'yuv420p', '-preset', 'ultrafast', '-crf', '40', path],
  )
  return path
}

async function encodeFilm({ url, client }: Bench, film: string): Promise<void> {
  const videoId = await createVideo(url)
  const body = new FormData()
  body.append('file', await openAsBlob(film), 'film.mp4')
  const source = { method: 'POST', headers: { authorization }, body }
  const response = await fetch(`${url}/videos/${videoId}/source`, source)
  if (!response.ok) throw new Error(await response.text())
  const query = 'select from encodings where video_id = $1 and is_end_reported'
  while ((await client.query(query, [videoId])).rowCount === 0) await delay(500)
}

async function deliver({ url, database }: Bench, count: number): Promise<void> {
  let missing = count
  const all = Promise.withResolvers<void>()
  const receiver = createServer((_request, response) => {
    response.writeHead(204).end()
    if (--missing === 0) all.resolve()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const db = openDb<Tables>(openPool(database, () => {}))
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const body = JSON.stringify({ events: ['video.encoding.completed'], url: hook })
  const headers = { authorization, 'content-type': 'application/json' }
  const response = await fetch(`${url}/webhooks`, { method: 'POST', headers, body })
  const { webhookId } = (await response.json()) as { webhookId: string }
  try {
    for (let n = 0; n < count; n++) {
      const payload = { videoId: `vi${n}` }
      await db
        .transaction()
        .execute((trx) => recordEvent(trx, 'production', 'video.encoding.completed', payload, new Date()))
    }
    await all.promise
  } finally {
    await fetch(`${url}/webhooks/${webhookId}`, { method: 'DELETE', headers: { authorization } })
    receiver.close()
    receiver.closeAllConnections()
    await db.destroy()
  }
}

/** Each viewer reports every ten seconds, as the player does, and the viewers begin one after the other. */
async function watch({ url }: Bench, { viewers, reports }: { viewers: number; reports: number }) {
  const videoId = await createVideo(url, { metadata: [{ key: 'viewer', value: '__viewer__' }] })
  const begunAt = Date.now()
  await Promise.all(
    Array.from({ length: viewers }, async (_, viewer) => {
      let sessionId: string | undefined
      await delay((10_000 * viewer) / viewers)
      for (let n = 0; n < reports; n++) {
        const now = new Date().toISOString()
        const loadedAt = new Date(begunAt - viewer).toISOString()
        const session = { loaded_at: loadedAt, referrer: 'https://shop.example/', video_id: videoId }
        const body = JSON.stringify({
          emitted_at: now,
          session: {
            ...session,
            metadata: [{ viewer: `${viewer}` }],
            ...(sessionId && { session_id: sessionId }),
          },
          events: [{ type: n === 0 ? 'play' : 'progress', emitted_at: now, at: 10 * n }],
        })
        const response = await fetch(`${url}/collector/vod`, { method: 'POST', body })
        if (!response.ok) throw new Error(await response.text())
        sessionId = ((await response.json()) as { session: string }).session
        await delay(10_000)
      }
    }),
  )
}

function print(name: string, units: number, { transactions, walBytes, rows, cpuMs }: Costs): void {
  const each = (of: number, digits = 1) => (of / units).toFixed(digits)
  console.log(
    `  ${name}: ${each(transactions, 2)} transactions, ${each(rows, 2)} rows, ${each(walBytes / 1_000)} kB of WAL, ${each(cpuMs, 2)} ms of CPU time of Postgres`,
  )
}

export async function writes(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const { url } = await resources.server(
      startKinora(folder, {
        KINORA_DATABASE_URL: database,
        KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
        KINORA_RATE_LIMITS: 'off',
      }),
    )
    const client = new pg.Client(database)
    await client.connect()
    resources.add(() => client.end())
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const bench = { url, database, client, folder, postmaster: await parentPid(rows[0]!.pid) }
    await measure(bench, await makeFilm(folder, 60))
  })
}

async function measure(bench: Bench, film: string): Promise<void> {
  const units: Unit[] = [
    { name: 'POST /videos', units: 200, work: () => createVideos(bench, 200) },
    { name: 'chunk of an upload', units: 20, work: () => uploadChunks(bench, 20) },
    { name: 'minute of 720p, from its upload to the end', units: 2, work: () => encodeTwo(bench, film) },
    { name: 'event and its delivery', units: 1_000, work: () => deliver(bench, 1_000) },
    {
      name: 'viewer minute, 600 viewers',
      units: 600,
      work: () => watch(bench, { viewers: 600, reports: 6 }),
    },
  ]
  // Pages are written entirely when they change for the first time after a checkpoint.
  await createVideos(bench, 20)
  await encodeFilm(bench, film)
  // Thumbnails and previews come after the end of an encoding.
  await delay(idleSeconds * 1_000)
  const idle = await costsOf(bench, () => delay(idleSeconds * 1_000))
  const idleCosts = (seconds: number) => combine(idle, idle, (each) => (each * seconds) / idle.seconds)
  console.log('What the database does for each unit of work:')
  print('second of an idle service', idle.seconds, idle)
  for (const { name, units: count, work } of units) {
    const costs = await costsOf(bench, work)
    print(
      name,
      count,
      combine(costs, idleCosts(costs.seconds), (all, without) => all - without),
    )
  }
}

async function encodeTwo(bench: Bench, film: string): Promise<void> {
  await encodeFilm(bench, film)
  await encodeFilm(bench, film)
}
