import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { openDb, openPool } from '../server/lib/db.ts'
import type { Tables } from '../server/tables.ts'
import { recordEvent } from '../server/webhooks/events.ts'
import { authorization, median, percentile, Resources, startKinora, withTemporaryFolder } from './servers.ts'
import { atLeast, below, printTable } from './table.ts'

const type = 'video.encoding.quality.completed'

/** Responds 204 to every request, except that requests to /dead never get a response. */
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
    /** Resolves when this number of requests has arrived, not counting /dead. */
    waitFor(count: number): Promise<void> {
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

/** Replaces all webhooks with one for each URL. */
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
  // The first second is a warm-up.
  for (const [name, at] of [...committed].slice(perSecond)) tookMs.push(Math.max(0, arrivals.get(name)! - at))
  const row = (name: string, fraction: number, maxMs: number) => {
    const ms = percentile(tookMs, fraction)
    return { measured: name, kinora: `${ms.toFixed(1)} ms`, goal: below(maxMs, ms, ' ms') }
  }
  printTable(`Time from commit to receiver at ${perSecond} events/s`, [
    row('p50', 0.5, 50),
    row('p99', 0.99, 250),
  ])
}

/** Deliveries per second for a backlog of events, not counting the dead receiver. */
async function deliveriesPerSecond(
  bench: Bench,
  urls: string[],
  events: number,
  label: string,
): Promise<number> {
  await subscribe(bench, urls)
  const living = urls.filter((url) => !url.endsWith('/dead')).length
  const all = bench.receiver.waitFor(events * living)
  await record(
    bench,
    Array.from({ length: events }, (_, i) => `${label}-${i}`),
  )
  const start = performance.now()
  await all
  return (events * living * 1_000) / (performance.now() - start)
}

/** Posts the same bodies with fetch (undici), with the concurrency that the service allows for one webhook. */
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

type Rates = Record<'bare' | 'one' | 'many' | 'dead', number>

async function measureThroughput(bench: Bench): Promise<void> {
  const one = [`${bench.receiver.url}/one`]
  const many = Array.from({ length: 99 }, (_, i) => `${bench.receiver.url}/${i}`)
  const dead = [...many, `${bench.receiver.url}/dead`]
  await deliveriesPerSecond(bench, one, 1_000, 'warm')
  await barePerSecond(bench, 1_000)
  const rounds: Rates[] = []
  for (let i = 0; i < 6; i++) {
    const round = { bare: 0, one: 0, many: 0, dead: 0 }
    round.bare = await barePerSecond(bench, 5_000)
    round.one = await deliveriesPerSecond(bench, one, 3_000, `one-${i}`)
    // Alternates the order, so that pending work of the first one affects both.
    const pair = [
      { which: 'many', urls: many },
      { which: 'dead', urls: dead },
    ] as const
    for (const { which, urls } of i % 2 ? pair.toReversed() : pair)
      round[which] = await deliveriesPerSecond(bench, urls, 80, `${which}-${i}`)
    rounds.push(round)
  }
  printThroughput(rounds)
}

function printThroughput(rounds: Rates[]): void {
  const rate = (which: keyof Rates) => `${median(rounds.map((round) => round[which])).toFixed(0)}/s`
  const row = (measured: string, which: keyof Rates, reference: keyof Rates) => ({
    measured,
    kinora: rate(which),
    reference: rate(reference),
    ratio: median(rounds.map((round) => round[which] / round[reference])),
  })
  printTable('Deliveries per second, compared with a bare loop with fetch', [
    row('one receiver', 'one', 'bare'),
    row('99 receivers', 'many', 'bare'),
    row('99 receivers and a dead one', 'dead', 'bare'),
  ])
  const withDead = row('99 receivers and a dead one', 'dead', 'many')
  printTable('Deliveries per second with a dead receiver, compared with none', [
    { ...withDead, goal: atLeast(0.9, withDead.ratio) },
  ])
}

/** Parts: `latency`, `throughput`; without arguments, both. */
export async function webhooks(parts: string[]): Promise<void> {
  const isSelected = (part: string) => parts.length === 0 || parts.includes(part)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const kinora = await resources.server(
      startKinora(folder, { KINORA_DATABASE_URL: database, KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }),
    )
    const db = openDb<Tables>(openPool(database, () => {}))
    resources.add(() => db.destroy())
    const receiver = await startReceiver()
    resources.add(() => receiver.close())
    const bench = { db, api: kinora.url, receiver }
    if (isSelected('latency')) await measureLatency(bench, 100, 10)
    if (isSelected('throughput')) await measureThroughput(bench)
  })
}
