import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import * as chunks from '../../server/encoding/chunks/encode-chunk-store.ts'
import { chooseWork, listWork } from '../../server/encoding/chunks/schedule.ts'
import { insertEncoding } from '../../server/encoding/renditions/encoding-store.ts'
import type { EncodingPlan, PartialPlan } from '../../server/encoding/tables.ts'
import type { Tables } from '../../server/tables.ts'
import {
  call,
  createDatabase,
  kinora,
  productionKey,
  query,
  sandboxKey,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { ffmpeg } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { fakeProgram } from '../support/recovery.ts'
import { assertEncoded, eventsOf, uploadVideo } from '../support/videos.ts'

// A short video does not wait for a long one, and production does not wait for a flooded sandbox.

let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
})

/** Makes a video that is cheap to encode. */
async function makeTiny(seconds: number): Promise<string> {
  const path = join(folder, `${seconds}.mp4`)
  const sources = ['-f', 'lavfi', '-i', 'testsrc=s=64x48:r=5', '-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono']
  await ffmpeg(...sources, '-t', String(seconds), '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', path)
  return path
}

test('a short video is encoded while an earlier long video is still in progress', async (t) => {
  const gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  const env = { KINORA_ENCODE_SLOTS: '1', KINORA_ENCODE_STALL_SECONDS: '600', KINORA_FFMPEG: gated.path }
  const service = await kinora(t, env)
  const shortClip = await makeTiny(8)
  // The long video stops in its first minute until the short one is there, and again long before its end.
  await gated.encodeUntil(42)
  const long = await uploadVideo(service, await makeTiny(600))
  const encoded = async () =>
    (await query(service.database, `select from segments where video_id = $1 and rendition = '240p'`, [long]))
      .length
  await waitFor(async () => (await encoded()) >= 3)
  const [short, encodedBefore] = [await uploadVideo(service, shortClip), await encoded()]
  const planned = async () => (await query(service.database, 'select from encodings')).length
  await waitFor(async () => (await planned()) === 2)
  await gated.encodeUntil(200)
  await assertEncoded(service, short, ['hls 240p', 'mp4 240p'])
  const meanwhile = (await encoded()) - encodedBefore
  t.diagnostic(`${meanwhile} chunks of the long video were encoded meanwhile`)
  assert.deepEqual(await eventsOf(service.database, long), [])
  const [{ left }] = await query(
    service.database,
    `select sum(segments)::int as left from chunks where video_id = $1 and track = 'picture'`,
    [long],
  )
  assert.ok(left > 75, `${left} segments of the long video are left`)
  await call(`${service.url}/videos/${long}`, { method: 'DELETE' })
})

test('a production video does not wait for a flood of sandbox videos', async (t) => {
  // The encoder waits until all videos are uploaded, so that only its order of claims counts.
  const go = join(folder, 'go')
  const script = `case "$*" in *.mp4*|*.aac*) while ! [ -e '${go}' ]; do sleep 0.05; done;; esac`
  const program = await fakeProgram(folder, 'ffmpeg', script)
  const env = { KINORA_ENCODE_SLOTS: '1', KINORA_ENCODE_STALL_SECONDS: '600', KINORA_FFMPEG: program }
  const service = await kinora(t, env)
  const path = await makeTiny(5)
  const sandbox = { url: `${service.url}/sandbox`, key: sandboxKey }
  const flood = 12
  await Promise.all(Array.from({ length: flood }, () => uploadVideo(sandbox, path)))
  const production = await uploadVideo({ url: service.url, key: productionKey }, path)
  const planned = async () => (await query(service.database, 'select from encodings')).length
  await waitFor(async () => (await planned()) === flood + 1)
  await writeFile(go, '')
  await assertEncoded(service, production, ['hls 240p', 'mp4 240p'])
  const before = await query(
    service.database,
    `select from events where environment = 'sandbox' and payload ->> 'encoding' = 'hls'
       and position < (
         select max(position) from events where environment = 'production' and payload ->> 'encoding' = 'hls')`,
  )
  t.diagnostic(`${before.length} of ${flood} sandbox videos were encoded before`)
  assert.ok(before.length < flood / 2, `${before.length} of ${flood} sandbox videos were encoded before`)
  // The sandbox makes progress too.
  const encoded = `select from encodings where environment = 'sandbox' and state = 'encoded'`
  await waitFor(async () => (await query(service.database, encoded)).length > before.length)
})

/** A plan with four qualities and audio. */
const planOf = (seconds: number): EncodingPlan => ({
  key: 'x',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  frames: 25 * seconds,
  rungs: ['240p', '360p', '480p', '720p'].map((quality) => ({ quality, width: 2, height: 2, maxKbps: 1 })),
  hasSound: true,
  isWatermarked: false,
})

type Statement = { text: string; values: readonly unknown[] }

/** Opens a database as the encoder does, and records the statements that it runs. */
async function openStore(t: { after(end: () => unknown): void }) {
  const connection = await createDatabase(t)
  const statements: Statement[] = []
  const pool = new pg.Pool({ connectionString: connection, max: 2 })
  // Dropping the database terminates connections that are still being closed.
  pool.on('error', () => {})
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log({ query: { sql, parameters } }) {
      statements.push({ text: sql, values: parameters })
    },
  })
  let isOpen = true
  // Each test closes the connection itself, because the database is dropped before any later `after` callback runs.
  const close = async () => {
    if (isOpen) await db.destroy()
    isOpen = false
  }
  const addVideo = async (
    seconds: number,
    environment: 'production' | 'sandbox' = 'production',
    partial?: PartialPlan,
  ) => {
    const video_id = `vi${randomUUID()}`
    await query(
      connection,
      `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
         source_type, created_at, updated_at, tag_terms, metadata_terms)
       values ($1, $2, '', '', true, false, true, '{}', '[]', 'upload', now(), now(), '{}', '{}')`,
      [video_id, environment],
    )
    const plan = { ...planOf(seconds), ...(partial && { partial }) }
    await db.transaction().execute(async (trx) => {
      const row = { video_id, environment, state: 'encoding', failure: null, media: null, plan } as const
      await insertEncoding(trx, { ...row, created_at: new Date() })
      await chunks.insertChunks(trx, row, listWork(plan))
    })
    return video_id
  }
  /** As a worker with two slots that are as fast as the viewer. */
  const choose = ({ encoding: { plan }, ...work }: chunks.VideoWork) =>
    chooseWork({ plan, ...work, slots: 2, sourcePixels: 4, secondsPerWork: 1 })
  const claim = async () =>
    (await chunks.claimEncodeChunk(db, { leaseOwner: randomUUID(), leaseMs: 60_000, choose }))!
  /** Claims a chunk and completes it. */
  const completeNext = async () => {
    const chunk = await claim()
    await query(connection, 'delete from chunks where id = $1', [chunk.id])
    return chunk
  }
  return { db, connection, statements, addVideo, claim, completeNext, close }
}

test('chunks are claimed by their time in the video: first the audio, then the lowest quality, then the others', async (t) => {
  const { addVideo, completeNext, close } = await openStore(t)
  try {
    const long = await addVideo(36_000)
    const first = [await completeNext(), await completeNext()]
    assert.deepEqual(
      first.map(({ track, qualities, first_segment }) => [track, qualities.join('+'), first_segment]),
      [
        ['sound', '', 0],
        ['picture', '240p', 0],
      ],
    )
    const later: string[] = []
    for (let i = 0; i < 20; i++) {
      const { video_id, qualities } = await completeNext()
      assert.equal(video_id, long)
      later.push(qualities.toSorted().join('+'))
    }
    assert.ok(later.includes('360p+480p+720p') && later.includes('240p+360p+480p+720p'), later.join())
    // Two newer videos take turns until they reach the position of the long video.
    const [one, two] = [await addVideo(60), await addVideo(36_000)]
    const order: string[] = []
    for (let i = 0; i < 10; i++) order.push((await completeNext()).video_id)
    assert.ok(!order.includes(long), 'the long video continues before the newer ones have started')
    for (const id of [one, two]) assert.ok(order.slice(0, 6).includes(id), order.join())
  } finally {
    await close()
  }
})

test('the environment with fewer chunks in progress is served first', async (t) => {
  const { addVideo, claim, close } = await openStore(t)
  try {
    for (let i = 0; i < 5; i++) await addVideo(600, 'sandbox')
    assert.equal((await claim()).environment, 'sandbox')
    await addVideo(600, 'production')
    const next = [await claim(), await claim(), await claim()].map(({ environment }) => environment)
    assert.equal(next[0], 'production')
    // With equal numbers in progress, each environment gets one of the next two.
    assert.deepEqual(next.slice(1).sort(), ['production', 'sandbox'])
  } finally {
    await close()
  }
})

test('videos whose source is complete come before those whose source still arrives, in all environments', async (t) => {
  const { db, addVideo, claim, close } = await openStore(t)
  try {
    const known = { bytes: null, totalSeconds: null, share: 1 }
    const partial = { isPlayable: true, handle: 'x', ranges: [], isRead: true, ...known }
    const arriving = await addVideo(8, 'production', partial)
    await addVideo(8, 'sandbox', partial)
    const complete = [await addVideo(60), await addVideo(60)]
    const claimed: string[] = []
    for (let i = 0; i < 4; i++) claimed.push((await claim()).video_id)
    assert.deepEqual([...new Set(claimed)].toSorted(), complete.toSorted())
    // The rest of one of them arrives.
    await db.transaction().execute((trx) => chunks.raisePriority(trx, arriving))
    const next = [await claim(), await claim(), await claim()]
    assert.ok(next.some(({ video_id }) => video_id === arriving))
  } finally {
    await close()
  }
})

test('claiming a chunk reads only a few rows, regardless of the number of waiting chunks', async (t) => {
  const { db, connection, statements, addVideo, claim, close } = await openStore(t)
  try {
    for (let i = 0; i < 50; i++) await addVideo(36_000, i % 2 === 0 ? 'production' : 'sandbox')
    // Videos with chunks that earlier versions have planned, and which are further from the start.
    const old = [await addVideo(36_000), await addVideo(36_000, 'sandbox')]
    await query(
      connection,
      `insert into chunks (video_id, environment, track, qualities, first_segment, segments, priority, not_before)
       select video_id, environment, track, qualities, n, 1, 10000 + n, now()
       from chunks, generate_series(1, 2001) n where video_id = any($1)`,
      [old],
    )
    const [{ waiting }] = await query(connection, 'select count(*)::int as waiting from chunks')
    assert.ok(waiting > 20_000, `${waiting} chunks`)
    // The chunks that would be next belong to a discarded video.
    const paused = await addVideo(36_000)
    await query(connection, 'update chunks set is_paused = true, priority = 0 where video_id = $1', [paused])
    // Some chunks are in progress, and some wait for a retry.
    for (let i = 0; i < 20; i++) await claim()
    for (let i = 0; i < 20; i++)
      await chunks.releaseChunk(db, await claim(), { afterMs: 60_000, failures: 0 })
    await query(connection, 'analyze chunks')
    statements.length = 0
    await chunks.releaseExpiredLeases(db)
    await claim()
    assert.ok(statements.length >= 3)
    const isTransaction = ({ text }: Statement) => /^(begin|commit)/.test(text)
    for (const { text, values } of statements.filter((each) => !isTransaction(each))) {
      const read = await rowsRead(db, text, values)
      assert.ok(read < 200, `this statement reads ${read} rows: ${text}`)
    }
  } finally {
    await close()
  }
})

type Node = {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** Counts the rows that a statement reads. */
async function rowsRead(db: Kysely<Tables>, text: string, values: readonly unknown[]): Promise<number> {
  const sum = (node: Node): number =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
    (node.Plans ?? []).reduce((total, each) => total + sum(each), 0)
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...values]),
  )
  return sum(rows[0]!['QUERY PLAN'][0].Plan)
}
