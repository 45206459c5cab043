import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import * as chunks from '../server/encoding/chunk-store.ts'
import { insertEncoding } from '../server/encoding/encoding-store.ts'
import { listWork } from '../server/encoding/plan.ts'
import type { EncodingPlan } from '../server/encoding/tables.ts'
import type { Tables } from '../server/tables.ts'
import {
  call,
  createDatabase,
  kinora,
  productionKey,
  query,
  sandboxKey,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { assertEncoded, eventsOf, ffmpeg, uploadVideo } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import { fakeProgram } from './recovery.ts'

// Nobody waits for the end of somebody else's long video, and production does not wait for a sandbox that is flooded.

let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
})

/** Small and cheap. */
async function makeTiny(seconds: number): Promise<string> {
  const path = join(folder, `${seconds}.mp4`)
  const sources = ['-f', 'lavfi', '-i', 'testsrc=s=64x48:r=5', '-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono']
  await ffmpeg(...sources, '-t', String(seconds), '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', path)
  return path
}

test('a short video is finished while a long one that came before it is encoded', async (t) => {
  const service = await kinora(t, { ...withoutThumbnails(), KINORA_ENCODE_SLOTS: '1' })
  const brief = await makeTiny(8)
  const long = await uploadVideo(service, await makeTiny(600))
  const encoded = async () =>
    (await query(service.database, `select from segments where video_id = $1 and rendition = '240p'`, [long]))
      .length
  await waitFor(async () => (await encoded()) >= 3)
  const [short, between] = [await uploadVideo(service, brief), await encoded()]
  await assertEncoded(service, short, ['hls 240p', 'mp4 240p'])
  const meanwhile = (await encoded()) - between
  t.diagnostic(`${meanwhile} chunks of the long one were encoded meanwhile`)
  assert.deepEqual(await eventsOf(service.database, long), [])
  const left = await query(service.database, 'select from chunks where video_id = $1', [long])
  assert.ok(left.length > 15, `${left.length} chunks are left of the long one`)
  await call(`${service.url}/videos/${long}`, { method: 'DELETE' })
})

test('a video of production does not wait for a flood of the sandbox', async (t) => {
  // Nothing is encoded before all have come: what counts is who is taken first.
  const go = join(folder, 'go')
  const script = `case "$*" in *.mp4*|*.aac*) while ! [ -e '${go}' ]; do sleep 0.05; done;; esac`
  const program = await fakeProgram(folder, 'ffmpeg', script)
  const env = { KINORA_ENCODE_SLOTS: '1', KINORA_ENCODE_STALL_SECONDS: '600', KINORA_FFMPEG: program }
  const service = await kinora(t, env)
  const path = await makeTiny(5)
  const sandbox = { url: `${service.url}/sandbox`, key: sandboxKey }
  const flood = 12
  await Promise.all(Array.from({ length: flood }, () => uploadVideo(sandbox, path)))
  const ours = await uploadVideo({ url: service.url, key: productionKey }, path)
  const planned = async () => (await query(service.database, 'select from encodings')).length
  await waitFor(async () => (await planned()) === flood + 1)
  await writeFile(go, '')
  await assertEncoded(service, ours, ['hls 240p', 'mp4 240p'])
  const before = await query(
    service.database,
    `select from events where environment = 'sandbox' and payload ->> 'encoding' = 'hls'
       and position < (select max(position) from events where environment = 'production')`,
  )
  t.diagnostic(`${before.length} of ${flood} videos of the sandbox were before`)
  assert.ok(before.length < flood / 2, `${before.length} of ${flood} videos of the sandbox were before`)
  // Nobody is left out either.
  const encoded = `select from encodings where environment = 'sandbox' and state = 'encoded'`
  await waitFor(async () => (await query(service.database, encoded)).length > before.length)
})

/** Four qualities and sound. */
const planOf = (seconds: number): EncodingPlan => ({
  ...{ key: 'x', offsetSeconds: 0, rate: { num: 25, den: 1 }, frames: 25 * seconds },
  rungs: ['240p', '360p', '480p', '720p'].map((quality) => ({ quality, width: 2, height: 2, maxKbps: 1 })),
  ...{ hasSound: true, isWatermarked: false },
})

type Statement = { text: string; values: readonly unknown[] }

/** The database as the encoder sees it, and what it is asked. */
async function openStore(t: { after(end: () => unknown): void }) {
  const connection = await createDatabase(t)
  const statements: Statement[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: connection, max: 2 }) }),
    log({ query: { sql, parameters } }) {
      statements.push({ text: sql, values: parameters })
    },
  })
  let isOpen = true
  // Before the database goes, which is told to end first.
  const close = async () => {
    if (isOpen) await db.destroy()
    isOpen = false
  }
  const addVideo = async (seconds: number, environment: 'production' | 'sandbox' = 'production') => {
    const video_id = `vi${randomUUID()}`
    await query(
      connection,
      `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
         source_type, created_at, updated_at, tag_terms, metadata_terms)
       values ($1, $2, '', '', true, false, true, '{}', '[]', 'upload', now(), now(), '{}', '{}')`,
      [video_id, environment],
    )
    const plan = planOf(seconds)
    await db.transaction().execute(async (trx) => {
      const row = { video_id, environment, state: 'encoding', failure: null, media: null, plan } as const
      await insertEncoding(trx, { ...row, created_at: new Date() })
      await chunks.insertChunks(trx, row, listWork(plan))
    })
    return video_id
  }
  const claim = async () => (await chunks.claimChunk(db, randomUUID(), 60_000))!
  /** Claims and finishes. */
  const work = async () => {
    const chunk = await claim()
    await query(connection, 'delete from chunks where id = $1', [chunk.id])
    return chunk
  }
  return { db, connection, statements, addVideo, claim, work, close }
}

test('chunks are taken by their time in the video: the first seconds of the lowest quality, of the sound, of the rest', async (t) => {
  const { addVideo, work, close } = await openStore(t)
  try {
    const long = await addVideo(36_000)
    const begun = [await work(), await work(), await work(), await work()]
    assert.deepEqual(
      begun.map(({ track, qualities, first_segment }) => [track, qualities.join('+'), first_segment]),
      [
        ['picture', '240p', 0],
        ['sound', '', 0],
        ['picture', '360p+480p+720p', 0],
        ['picture', '240p+360p+480p+720p', 1],
      ],
    )
    for (let i = 0; i < 50; i++) assert.equal((await work()).video_id, long)
    // Now there are two that came later: both come first, side by side, up to where the long one is.
    const [one, two] = [await addVideo(60), await addVideo(36_000)]
    const order: string[] = []
    for (let i = 0; i < 24; i++) order.push((await work()).video_id)
    assert.ok(!order.includes(long), 'the long one goes on before the others have begun')
    const sixth = order.slice(0, 6)
    assert.deepEqual(
      [one, two].map((id) => sixth.filter((each) => each === id).length),
      [3, 3],
    )
    const ofOne = listWork(planOf(60)).length
    assert.ok(order.filter((id) => id === one).length >= Math.min(ofOne, 10), order.join())
  } finally {
    await close()
  }
})

test('the environment with less under way comes first', async (t) => {
  const { addVideo, claim, close } = await openStore(t)
  try {
    for (let i = 0; i < 5; i++) await addVideo(600, 'sandbox')
    assert.equal((await claim()).environment, 'sandbox')
    await addVideo(600, 'production')
    const next = [await claim(), await claim(), await claim()].map(({ environment }) => environment)
    assert.equal(next[0], 'production')
    // Where both have as much under way, either, and then the other.
    assert.deepEqual(next.slice(1).sort(), ['production', 'sandbox'])
  } finally {
    await close()
  }
})

test('to claim a chunk, no more than a few rows are read, however many wait', async (t) => {
  const { db, connection, statements, addVideo, claim, close } = await openStore(t)
  try {
    for (let i = 0; i < 11; i++) await addVideo(36_000, i % 2 === 0 ? 'production' : 'sandbox')
    const [{ waiting }] = await query(connection, 'select count(*)::int as waiting from chunks')
    assert.ok(waiting > 20_000, `${waiting} chunks`)
    // Some are under way, and some have to wait.
    for (let i = 0; i < 20; i++) await claim()
    for (let i = 0; i < 20; i++)
      await chunks.releaseChunk(db, await claim(), { afterMs: 60_000, failures: 0 })
    await query(connection, 'analyze chunks')
    statements.length = 0
    await chunks.releaseExpiredLeases(db)
    await claim()
    assert.ok(statements.length >= 3)
    for (const { text, values } of statements.slice()) {
      const read = await rowsRead(db, text, values)
      assert.ok(read < 200, `${read} rows are read by: ${text}`)
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

/** How many rows a statement looks at. */
async function rowsRead(db: Kysely<Tables>, text: string, values: readonly unknown[]): Promise<number> {
  const sum = (node: Node): number =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
    (node.Plans ?? []).reduce((total, each) => total + sum(each), 0)
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...values]),
  )
  return sum(rows[0]!['QUERY PLAN'][0].Plan)
}
