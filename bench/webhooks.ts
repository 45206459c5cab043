import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { openDb, openPool } from '../server/lib/db.ts'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'
import type { Tables } from '../server/tables.ts'
import { recordEvent } from '../server/webhooks/events.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

const type = 'video.encoding.quality.completed'

/** Takes what is sent to it; what is sent to /dead it never answers. */
async function startReceiver() {
  let arrived = (_path: string, _body: string) => {}
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    if (path !== '/dead') response.writeHead(204).end()
    arrived(path, body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onArrival(next: typeof arrived) {
      arrived = next
    },
    /** Resolves when so many have come to living receivers. */
    expect(count: number): Promise<void> {
      return new Promise((resolve) => {
        this.onArrival((path) => {
          if (path !== '/dead' && --count === 0) resolve()
        })
      })
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>
type Bench = { db: Kysely<Tables>; api: string; receiver: Receiver }

const payloadOf = (name: string) => ({ videoId: name, encoding: 'hls', quality: '720p' }) as const

const record = ({ db }: Bench, names: string[]) =>
  db.transaction().execute(async (trx) => {
    for (const name of names) await recordEvent(trx, 'production', type, payloadOf(name), new Date())
  })

/** Each bench has its own webhooks: one for each address. */
async function subscribe({ db, api }: Bench, urls: string[]): Promise<void> {
  await db.deleteFrom('webhooks').execute()
  await db.deleteFrom('deliveries').execute()
  for (const url of urls) {
    const response = await fetch(`${api}/webhooks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ events: [type], url }),
    })
    if (response.status !== 201) throw new Error(await response.text())
  }
}

async function measureLatency(bench: Bench, perSecond: number, seconds: number): Promise<void> {
  await subscribe(bench, [`${bench.receiver.url}/one`])
  const committed = new Map<string, number>()
  const tookMs: number[] = []
  const arrivals = new Map<string, number>()
  bench.receiver.onArrival((_path, body) => arrivals.set(JSON.parse(body).videoId, performance.now()))
  const send = async (name: string) => {
    await record(bench, [name])
    committed.set(name, performance.now())
  }
  const start = performance.now()
  const sent: Promise<void>[] = []
  for (let i = 0; i < perSecond * seconds; i++) {
    const early = start + (i * 1_000) / perSecond - performance.now()
    if (early > 1) await delay(early)
    sent.push(send(`latency-${i}`))
  }
  await Promise.all(sent)
  while (arrivals.size < sent.length) await delay(10)
  // The first second warms up.
  for (const [name, at] of [...committed].slice(perSecond)) tookMs.push(Math.max(0, arrivals.get(name)! - at))
  tookMs.sort((a, b) => a - b)
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)]!
  console.log(`from commit to the receiver, ${perSecond} events/s:`)
  for (const [name, share, goal] of [
    ['p50', 0.5, 50],
    ['p99', 0.99, 250],
  ] as const)
    console.log(
      `  ${name} ${at(share).toFixed(1)} ms  goal below ${goal} ms  ${at(share) < goal ? 'reached' : 'MISSED'}`,
    )
}

/** Deliveries a second that living receivers get, of events that are all there at once. */
async function perSecond(bench: Bench, urls: string[], events: number, label: string): Promise<number> {
  await subscribe(bench, urls)
  const living = urls.filter((url) => !url.endsWith('/dead')).length
  const all = bench.receiver.expect(events * living)
  await record(
    bench,
    Array.from({ length: events }, (_, i) => `${label}-${i}`),
  )
  const start = performance.now()
  await all
  return (events * living * 1_000) / (performance.now() - start)
}

/** The same bodies by Node's own client (undici), as many at once as one webhook may have. */
async function barePerSecond({ receiver }: Bench, count: number): Promise<number> {
  const body = JSON.stringify({ type, emittedAt: new Date().toISOString(), ...payloadOf('bare') })
  receiver.onArrival(() => {})
  let left = count
  const start = performance.now()
  const headers = { 'content-type': 'application/json' }
  const loop = async () => {
    while (left-- > 0)
      await (await fetch(`${receiver.url}/bare`, { method: 'POST', headers, body })).arrayBuffer()
  }
  await Promise.all(Array.from({ length: 16 }, loop))
  return (count * 1_000) / (performance.now() - start)
}

async function measureThroughput(bench: Bench): Promise<void> {
  const one = [`${bench.receiver.url}/one`]
  const many = Array.from({ length: 99 }, (_, i) => `${bench.receiver.url}/${i}`)
  const dead = [...many, `${bench.receiver.url}/dead`]
  await perSecond(bench, one, 1_000, 'warm')
  await barePerSecond(bench, 1_000)
  const rounds: Record<'bare' | 'one' | 'many' | 'dead', number>[] = []
  for (let i = 0; i < 6; i++) {
    const round = { bare: 0, one: 0, many: 0, dead: 0 }
    round.bare = await barePerSecond(bench, 5_000)
    round.one = await perSecond(bench, one, 3_000, `one-${i}`)
    // In turns, so that whatever the first of two leaves behind meets both alike.
    const pair = [
      { which: 'many', urls: many },
      { which: 'dead', urls: dead },
    ] as const
    for (const { which, urls } of i % 2 ? pair.toReversed() : pair)
      round[which] = await perSecond(bench, urls, 80, `${which}-${i}`)
    rounds.push(round)
  }
  const rate = (which: 'bare' | 'one' | 'many' | 'dead') => median(rounds.map((round) => round[which]))
  const show = (name: string, value: number) =>
    console.log(
      `  ${name.padEnd(34)} ${value.toFixed(0).padStart(6)}/s  ${(value / rate('bare')).toFixed(2)} of bare`,
    )
  console.log('deliveries a second:')
  show('bare loop with fetch (undici)', rate('bare'))
  show('one receiver', rate('one'))
  show('99 receivers', rate('many'))
  show('99 receivers and one that is dead', rate('dead'))
  const ratio = median(rounds.map((round) => round.dead / round.many))
  console.log(
    `  with to without the dead one: ${ratio.toFixed(2)}  goal at least 0.9  ${ratio >= 0.9 ? 'reached' : 'MISSED'}`,
  )
}

/** Parts: `latency`, `throughput`; without any, both. */
export async function webhooks(parts: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const log = { info() {}, warn: console.warn, error: console.error }
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log })
  const { user, password, host, database } = postgres.connection
  const databaseUrl = `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`
  const kinora = await startServer('server/main.ts', {
    KINORA_DATABASE_URL: databaseUrl,
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
    KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
  })
  const receiver = await startReceiver()
  const bench = { db: openDb<Tables>(openPool(databaseUrl, () => {})), api: kinora.url, receiver }
  try {
    if (parts.length === 0 || parts.includes('latency')) await measureLatency(bench, 100, 10)
    if (parts.length === 0 || parts.includes('throughput')) await measureThroughput(bench)
  } finally {
    receiver.close()
    await bench.db.destroy()
    await stopServer(kinora)
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}
