import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { fillVideos } from '../../bench/videos.ts'
import type { Context } from '../../server/context.ts'
import * as chunks from '../../server/encoding/chunks/encode-chunk-store.ts'
import { pauseOrResume } from '../../server/encoding/pause.ts'
import { insertEncoding } from '../../server/encoding/renditions/encoding-store.ts'
import { openPool } from '../../server/lib/db.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { newId } from '../../server/lib/ids.ts'
import { findVideoStates } from '../../server/playback/store.ts'
import type { Tables } from '../../server/tables.ts'
import { discardFiles, removeIfDeleted } from '../../server/videos/delete.ts'
import * as store from '../../server/videos/discarded-store.ts'
import { listVideos } from '../../server/videos/search-store.ts'
import { findVideo, hasVideo, updateVideo } from '../../server/videos/store.ts'
import { createDatabase, query, waitFor } from '../support/harness.ts'
import { smallPlan } from '../support/stored-video.ts'

// Transactions of different processes that discard, restore, delete or change the same video, in a fixed order. Also the
// query plans of the statements that are affected by discarded videos.

const ends: (() => unknown)[] = []
let database: string
let db: Kysely<Tables>
let statements: { sql: string; parameters: readonly unknown[] }[] = []

before(async () => {
  database = await createDatabase({ after: (end) => ends.push(end) })
  db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: openPool(database, () => {}) }),
    log({ query }) {
      statements.push(query)
    },
  })
})
after(async () => {
  await db?.destroy()
  for (const end of ends) await end()
})

const now = new Date()
const later = new Date(now.getTime() + 60_000)
const times = { now, deletesAt: new Date(now.getTime() + 30_000), maxAgeHours: undefined }

async function insertVideo({ isDiscarded = false, tag = 'tag' } = {}): Promise<string> {
  const id = newId('vi')
  await query(
    database,
    `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
       source_type, created_at, updated_at, tag_terms, metadata_terms)
     values ($1, 'production', '', '', true, false, true, $2, '[]', 'upload', now(), now(), '{}', '{}')`,
    [id, [tag]],
  )
  if (isDiscarded) await discard(id)
  return id
}

const discard = (id: string) =>
  db.transaction().execute((trx) => store.discardVideo(trx, 'production', id, times))
const restore = (id: string, at = now) =>
  db.transaction().execute((trx) => store.restoreVideo(trx, 'production', id, at))
const deleteExpired = (id: string) => db.transaction().execute((trx) => store.deleteExpired(trx, id, later))

/** Runs `second` while the transaction of `first` is open: it has to wait. Returns both results. */
async function during<A, B>(
  first: (trx: Transaction<Tables>) => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  let started: Promise<B> | undefined
  const result = await db.transaction().execute(async (trx) => {
    const done = await first(trx)
    started = second()
    await waitFor(
      async () =>
        (
          await query(
            database,
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).length === 1,
    )
    return done
  })
  return [result, await started!]
}

describe('at the same time', () => {
  test('a video that is being restored is not deleted, and one that is being deleted is not restored', async () => {
    const restored = await insertVideo({ isDiscarded: true })
    const [video, deleted] = await during(
      (trx) => store.restoreVideo(trx, 'production', restored, now),
      () => deleteExpired(restored),
    )
    assert.deepEqual([video?.id, deleted], [restored, undefined])
    assert.ok(await findVideo(db, 'production', restored))

    const expired = await insertVideo({ isDiscarded: true })
    const [handle, missing] = await during(
      (trx) => store.deleteExpired(trx, expired, later),
      () => restore(expired),
    )
    assert.deepEqual([handle, missing], [{ handle: null }, undefined])
    assert.equal(await hasVideo(db, expired), false)
  })

  test('a change that waits for the deletion of its video has no effect, and the counts stay right', async () => {
    const id = await insertVideo({ tag: 'counted' })
    const change = { tags: ['changed'], title: 'Changed' }
    const [isDiscarded, changed] = await during(
      (trx) => store.discardVideo(trx, 'production', id, times),
      () => db.transaction().execute((trx) => updateVideo(trx, 'production', id, change)),
    )
    assert.deepEqual([isDiscarded, changed], [true, undefined])
    const counts = () =>
      query(
        database,
        `select sum(change)::int as n from video_count_changes where tags && array['counted', 'changed']`,
      )
    assert.deepEqual(await counts(), [{ n: -1 }])
    assert.deepEqual((await restore(id))?.tags, ['counted'])
    assert.deepEqual(await counts(), [{ n: 0 }])
  })

  test('a job that finds its video discarded does not remove the files of the video', async () => {
    const removed: string[] = []
    const files = {
      async remove(key: string) {
        removed.push(key)
      },
    } as Files
    const id = await insertVideo({ isDiscarded: true })
    assert.equal(await removeIfDeleted({ db, files }, id), false)
    await discardFiles({ db, files }, id, [`videos/${id}/hls/unneeded`])
    assert.deepEqual(removed, [`videos/${id}/hls/unneeded`])
    await deleteExpired(id)
    assert.equal(await removeIfDeleted({ db, files }, id), true)
    assert.deepEqual(removed.slice(1), [`videos/${id}`])
  })

  test('of two deletions and of two restorations, one succeeds', async () => {
    const id = await insertVideo()
    assert.deepEqual(
      await during(
        (trx) => store.discardVideo(trx, 'production', id, times),
        () => discard(id),
      ),
      [true, false],
    )
    const [first, second] = await during(
      (trx) => store.restoreVideo(trx, 'production', id, now),
      () => restore(id),
    )
    assert.deepEqual([first?.id, second], [id, undefined])
  })
})

describe('chunks', () => {
  const plan = { ...smallPlan, hasSound: true }
  const chunk = { track: 'sound' as const, qualities: [], first_segment: 0, segments: 1, priority: 0 }

  async function insertChunk(trx: Transaction<Tables>, video_id: string): Promise<void> {
    const is_paused = (await store.lockDiscardState(trx, video_id))?.isDiscarded ?? false
    const row = {
      video_id,
      environment: 'production',
      state: 'encoding',
      failure: null,
      media: null,
    } as const
    await insertEncoding(trx, { ...row, plan, created_at: now })
    await chunks.insertChunks(trx, row, [{ ...chunk, is_paused }])
  }

  /** Nothing has ended, so there is no job to send. */
  const queue = { send: () => Promise.reject(new Error('a job was sent')) } as unknown as Context['queue']

  const claim = () =>
    chunks.claimEncodeChunk(db, {
      leaseOwner: randomUUID(),
      leaseMs: 60_000,
      choose: ({ waiting: [first] }) => ({
        from: [first!],
        firstSegment: first!.first_segment,
        segments: first!.segments,
        decoding: 'full',
      }),
    })

  test('are paused if their encoding is planned while the video is discarded', async () => {
    const id = await insertVideo()
    await during(
      (trx) => insertChunk(trx, id),
      () => discard(id),
    )
    await pauseOrResume({ db, queue }, { videoId: id })
    assert.equal(await claim(), undefined)
    await restore(id)
    await pauseOrResume({ db, queue }, { videoId: id })
    const claimed = await claim()
    assert.equal(claimed?.video_id, id)

    // A worker that encodes a chunk of a discarded video loses it.
    await discard(id)
    await pauseOrResume({ db, queue }, { videoId: id })
    assert.equal(await chunks.renewLease(db, claimed!, 60_000), false)
    assert.equal(await db.transaction().execute((trx) => chunks.lockChunk(trx, claimed!)), undefined)

    const planned = await insertVideo({ isDiscarded: true })
    await db.transaction().execute((trx) => insertChunk(trx, planned))
    assert.equal(await claim(), undefined)
  })

  test('stay claimable if the job that pauses them runs after the video is restored', async () => {
    const id = await insertVideo()
    await db.transaction().execute((trx) => insertChunk(trx, id))
    await discard(id)
    await restore(id)
    await pauseOrResume({ db, queue }, { videoId: id })
    assert.equal((await claim())?.video_id, id)
  })
})

describe('with 500 discarded videos among 5,000', () => {
  type Plan = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: Plan[] }
  let client: pg.Client

  before(async () => {
    client = new pg.Client(database)
    await client.connect()
    await client.query('truncate all_videos cascade')
    await fillVideos(client, 0, 5_000)
    await client.query(
      `update all_videos set discarded_at = $1, deletes_at = $2
       where id in (select id from videos order by id desc limit 500)`,
      [now, later],
    )
    await client.query('vacuum analyze all_videos')
  })
  after(() => client.end())

  /**
   * The indexes that the statements of a function read, with "alone" if they do not read the table as well, or the table
   * if one is read without an index.
   */
  async function indexesOf(read: () => Promise<unknown>): Promise<string[]> {
    statements = []
    await read()
    const found = new Set<string>()
    const walk = (plan: Plan) => {
      const [table, index] = [plan['Relation Name'], plan['Index Name']]
      if (index) found.add(plan['Node Type'] === 'Index Only Scan' ? `${index} alone` : index)
      else if (table === 'all_videos' && !plan.Plans) found.add(table)
      plan.Plans?.forEach(walk)
    }
    for (const { sql, parameters } of statements.slice()) {
      const { rows } = await client.query(`explain (format json) ${sql}`, [...parameters])
      walk(rows[0]['QUERY PLAN'][0].Plan)
    }
    return [...found].filter((name) => /^(all_)?videos/.test(name))
  }

  const page = { currentPage: 1, pageSize: 25, offset: 0 }
  const newest = { by: 'createdAt', order: 'desc' } as const
  const id = `vi${'5'.padStart(22, '0')}`

  test('videos are found and listed by the same indexes as without', async () => {
    assert.deepEqual(await indexesOf(() => findVideo(db, 'production', id)), ['videos_pkey'])
    assert.deepEqual(await indexesOf(() => findVideoStates(db, [id])), ['videos_pkey'])
    const list = (order: Parameters<typeof listVideos>[3]) => listVideos(db, 'production', {}, order, page)
    // The first index skips to the page, and the second one finds its videos.
    for (const [by, index] of [
      ['createdAt', 'videos_created'],
      ['updatedAt', 'videos_updated'],
      ['title', 'videos_title'],
    ] as const)
      assert.deepEqual(await indexesOf(() => list({ by, order: 'asc' })), [`${index} alone`, 'videos_pkey'])
    const search = () => listVideos(db, 'production', { metadata: { customer: 'customer-7' } }, newest, page)
    assert.deepEqual(await indexesOf(search), ['videos_search', 'videos_pkey'])
  })

  test('discarded videos are listed and deleted by an index that contains no others', async () => {
    const scope = { environment: 'production', now } as const
    const list = () => store.listDiscarded(db, scope, {}, newest, page)
    assert.deepEqual(await indexesOf(list), ['videos_discarded', 'videos_pkey'])
    assert.equal((await list()).total, 500)
    assert.deepEqual(await indexesOf(() => store.listExpired(db, now, 1_000)), ['videos_discarded'])
  })
})
