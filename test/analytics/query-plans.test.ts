import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kysely, type LogEvent, PostgresDialect } from 'kysely'
import pg from 'pg'
import { fillSessions, videoOf } from '../../bench/sessions.ts'
import * as data from '../../server/analytics/data-store.ts'
import * as metadata from '../../server/analytics/metadata-store.ts'
import { listViewerSessions } from '../../server/analytics/session-query-store.ts'
import { openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { createDatabase } from '../support/harness.ts'
import { ago, day, hour } from '../support/session-rows.ts'

// The query plans of the analytics reads, with a million events of ten thousand sessions in a month: a read scans the
// partitions of the requested days and never the events. `npm run bench -- analytics` measures how long the reads take.

const ends: (() => unknown)[] = []
let client: pg.Client
let db: Kysely<Tables>
let executedQueries: LogEvent['query'][] = []
const recordQuery = ({ query }: LogEvent) => {
  executedQueries.push(query)
}

before(async () => {
  const database = await createDatabase({ after: (end) => ends.push(end) })
  client = new pg.Client(database)
  await client.connect()
  await fillSessions(client, { sessions: 10_000, days: 30, videos: 100, eventsEach: 100, eventDays: 30 })
  const pool = openPool(database, () => {})
  db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), log: recordQuery })
})
after(async () => {
  await db?.destroy()
  await client?.end()
  for (const end of ends) await end()
})

type Plan = {
  'Relation Name'?: string
  'Recheck Cond'?: string
  'Actual Loops'?: number
  Plans?: Plan[]
}

/** The plan nodes that scan a table, from all queries of a read. */
async function scansOf(read: () => Promise<unknown>): Promise<Plan[]> {
  executedQueries = []
  await read()
  const scans: Plan[] = []
  const walk = (plan: Plan) => {
    if (plan['Relation Name'] && plan['Actual Loops'] !== 0) scans.push(plan)
    plan.Plans?.forEach(walk)
  }
  for (const { sql, parameters } of executedQueries) {
    const { rows } = await client.query(`explain (analyze, format json) ${sql}`, [...parameters])
    walk(rows[0]['QUERY PLAN'][0].Plan)
  }
  return scans
}

const tablesOf = (scans: Plan[]) => [...new Set(scans.map((scan) => scan['Relation Name']))].sort()
const partition = (date: Date) => `viewing_sessions_${date.toISOString().slice(0, 10).replaceAll('-', '')}`

// Noon, ten days ago. Concurrent viewers may have started on the day before.
const noon = new Date(Math.floor(ago(10 * day).getTime() / day) * day + 12 * hour)
const period = { from: noon, to: new Date(noon.getTime() + 6 * hour) }
const sessions = { environment: 'production', period, filterBy: {} } as const
const page = { currentPage: 1, pageSize: 25, offset: 0 }
const order = { by: 'value', order: 'desc' } as const
const byPlays = { by: 'plays', order: 'desc' } as const

const oneDayReads: Record<string, () => Promise<unknown>> = {
  'reading a metric': () => data.readMetric(db, sessions, { of: 'play', by: 'sum' }),
  'reading unique views': () => data.readMetric(db, sessions, { of: 'view', seconds: 5, isUnique: true }),
  'reading buckets': () =>
    data.readBuckets(db, sessions, { of: 'play', by: 'rate' }, { breakdown: 'browser', order, page }),
  'reading a time series': () =>
    data.readSeries(db, sessions, { of: 'end', by: 'sum' }, { interval: 'hour', order, page }),
  'listing the values of a key': () =>
    metadata.listValues(db, sessions, { key: 'user', order: byPlays, page }),
  'listing keys': () => metadata.listKeys(db, sessions, page),
  'reading retention': () => metadata.readRetention(db, { ...sessions, videoId: videoOf(0) }, 'class'),
}

const twoDayReads: Record<string, () => Promise<unknown>> = {
  'reading a peak': () => data.readMetric(db, sessions, { of: 'ccv', by: 'peak', isUnique: true }),
  'reading peaks by country': () =>
    data.readBuckets(
      db,
      sessions,
      { of: 'ccv', by: 'peak', isUnique: false },
      { breakdown: 'country', order, page },
    ),
  'reading peaks by hour': () =>
    data.readSeries(
      db,
      sessions,
      { of: 'ccv', by: 'peak', isUnique: false },
      { interval: 'hour', order, page },
    ),
  'reading averages': () => data.readMetric(db, sessions, { of: 'ccv', by: 'average', isUnique: false }),
}

describe('a query for one day', () => {
  for (const [name, read] of Object.entries(oneDayReads)) {
    test(`${name} scans only the partition of that day`, async () => {
      assert.deepEqual(tablesOf(await scansOf(read)), [partition(noon)])
    })
  }
  for (const [name, read] of Object.entries(twoDayReads)) {
    test(`${name} scans the partitions of that day and the day before`, async () => {
      const before = new Date(noon.getTime() - day)
      assert.deepEqual(tablesOf(await scansOf(read)), [partition(before), partition(noon)])
    })
  }
})

describe('a query for a month', () => {
  const month = { ...sessions, period: { from: ago(29 * day), to: new Date() } }

  test('scans each session once and no event', async () => {
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
      assert.equal(new Set(tablesOf(scans)).size, scans.length, 'a partition is scanned twice')
      assert.ok(scans.every((scan) => scan['Actual Loops'] === 1))
    }
  })

  test('finds the sessions of one viewer by an index', async () => {
    const viewer = { ...month, metadata: { user: 'user 17' } }
    const scans = await scansOf(() => listViewerSessions(db, viewer, page))
    // The partitions at both ends have few rows.
    const byIndex = scans.filter((scan) => /metadata @>/.test(scan['Recheck Cond'] ?? ''))
    assert.ok(byIndex.length >= 25, JSON.stringify(scans))
  })

  test('finds the sessions of one video by an index', async () => {
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
