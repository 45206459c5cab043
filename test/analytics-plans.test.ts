import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kysely, type LogEvent, PostgresDialect } from 'kysely'
import pg from 'pg'
import { fillSessions, videoOf } from '../bench/sessions.ts'
import * as data from '../server/analytics/data-store.ts'
import * as metadata from '../server/analytics/metadata-store.ts'
import { openPool } from '../server/lib/db.ts'
import type { Tables } from '../server/tables.ts'
import { createDatabase } from './harness.ts'
import { ago, day, hour } from './session-rows.ts'

// What the database does for each read, with a million events of ten thousand sessions in a month: it looks at the
// days that are asked for and at no event. How long that takes is measured by `npm run bench -- analytics`.

const ends: (() => unknown)[] = []
let client: pg.Client
let db: Kysely<Tables>
let asked: LogEvent['query'][] = []
const gather = ({ query }: LogEvent) => {
  asked.push(query)
}

before(async () => {
  const database = await createDatabase({ after: (end) => ends.push(end) })
  client = new pg.Client(database)
  await client.connect()
  await fillSessions(client, { sessions: 10_000, days: 29, eventsEach: 100 })
  const pool = openPool(database, () => {})
  db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), log: gather })
})
after(async () => {
  await db?.destroy()
  await client?.end()
  for (const end of ends) await end()
})

type Plan = {
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops'?: number
  Plans?: Plan[]
}

/** The nodes of the plans by which a read was answered that look at a table. */
async function scansOf(read: () => Promise<unknown>): Promise<Plan[]> {
  asked = []
  await read()
  const scans: Plan[] = []
  const walk = (plan: Plan) => {
    if (plan['Relation Name'] && plan['Actual Loops'] !== 0) scans.push(plan)
    plan.Plans?.forEach(walk)
  }
  for (const { sql, parameters } of asked) {
    const { rows } = await client.query(`explain (analyze, format json) ${sql}`, [...parameters])
    walk(rows[0]['QUERY PLAN'][0].Plan)
  }
  return scans
}

const tablesOf = (scans: Plan[]) => [...new Set(scans.map((scan) => scan['Relation Name']))].sort()
const partition = (date: Date) => `viewing_sessions_${date.toISOString().slice(0, 10).replaceAll('-', '')}`

// The middle of a day, ten days ago: of the day before too, for who is watching already.
const noon = new Date(Math.floor(ago(10 * day).getTime() / day) * day + 12 * hour)
const period = { from: noon, to: new Date(noon.getTime() + 6 * hour) }
const sessions = { environment: 'production', period, filterBy: {} } as const
const page = { currentPage: 1, pageSize: 25, offset: 0 }
const order = { by: 'value', order: 'desc' } as const
const byPlays = { by: 'plays', order: 'desc' } as const

const ofOneDay: Record<string, () => Promise<unknown>> = {
  'a metric': () => data.readMetric(db, sessions, { of: 'play', by: 'sum' }),
  'unique views': () => data.readMetric(db, sessions, { of: 'view', seconds: 5, isUnique: true }),
  buckets: () =>
    data.readBuckets(db, sessions, { of: 'play', by: 'rate' }, { breakdown: 'browser', order, page }),
  'a series': () =>
    data.readSeries(db, sessions, { of: 'end', by: 'sum' }, { interval: 'hour', order, page }),
  'values of a key': () => metadata.listValues(db, sessions, { key: 'user', order: byPlays, page }),
  keys: () => metadata.listKeys(db, sessions, page),
  retention: () => metadata.readRetention(db, { ...sessions, videoId: videoOf(0) }, 'class'),
}

const withTheDayBefore: Record<string, () => Promise<unknown>> = {
  'a peak': () => data.readMetric(db, sessions, { of: 'ccv', by: 'peak', isUnique: true }),
  'peaks by country': () =>
    data.readBuckets(
      db,
      sessions,
      { of: 'ccv', by: 'peak', isUnique: false },
      { breakdown: 'country', order, page },
    ),
  'peaks by the hour': () =>
    data.readSeries(
      db,
      sessions,
      { of: 'ccv', by: 'peak', isUnique: false },
      { interval: 'hour', order, page },
    ),
  averages: () => data.readMetric(db, sessions, { of: 'ccv', by: 'average', isUnique: false }),
}

describe('a question about one day', () => {
  for (const [name, read] of Object.entries(ofOneDay)) {
    test(`${name}: looks at that day alone`, async () => {
      assert.deepEqual(tablesOf(await scansOf(read)), [partition(noon)])
    })
  }
  for (const [name, read] of Object.entries(withTheDayBefore)) {
    test(`${name}: looks at that day and the one before`, async () => {
      const before = new Date(noon.getTime() - day)
      assert.deepEqual(tablesOf(await scansOf(read)), [partition(before), partition(noon)])
    })
  }
})

describe('a question about a month', () => {
  const month = { ...sessions, period: { from: ago(29 * day), to: new Date() } }

  test('looks at each session once, and at no event', async () => {
    for (const read of [
      () => data.readMetric(db, month, { of: 'play', by: 'sum' }),
      () => data.readMetric(db, month, { of: 'ccv', by: 'peak', isUnique: false }),
      () => data.readBuckets(db, month, { of: 'play', by: 'sum' }, { breakdown: 'media-id', order, page }),
      () => data.readSeries(db, month, { of: 'play', by: 'sum' }, { interval: 'hour', order, page }),
      () => data.readTotals(db, 'production', {}, { order, page }),
      () => metadata.listValues(db, month, { key: 'user', order: byPlays, page }),
      () => metadata.readRetention(db, { ...month, videoId: videoOf(0) }, 'class'),
    ]) {
      const scans = await scansOf(read)
      assert.ok(tablesOf(scans).every((table) => table && /^(viewing_sessions_|past_plays$)/.test(table)))
      assert.equal(new Set(tablesOf(scans)).size, scans.length, 'a partition was looked at twice')
      assert.ok(scans.every((scan) => scan['Actual Loops'] === 1))
    }
  })

  test('about one video finds its sessions by an index', async () => {
    const rare = videoOf(97)
    for (const read of [
      () => data.readMetric(db, { ...month, filterBy: { mediaId: [rare] } }, { of: 'play', by: 'sum' }),
      () => data.readTotal(db, 'production', { mediaId: [rare] }),
      () => metadata.readRetention(db, { ...month, videoId: rare }, undefined),
    ]) {
      const indexes = JSON.stringify(await scansOf(read))
      assert.match(indexes, /media_id/, indexes)
    }
  })
})
