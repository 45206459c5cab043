import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { dumpDatabase, openSnapshot } from '../../server/backups/database/dump.ts'
import { DumpReader } from '../../server/backups/database/dump-reader.ts'
import { loadDatabase } from '../../server/backups/database/load.ts'
import { findLastBackup, finishBackup, insertBackup } from '../../server/backups/store.ts'
import { type Database, openDatabase } from '../../server/database.ts'
import { createLog } from '../../server/lib/log.ts'
import { openQueue } from '../../server/lib/queue.ts'
import type { Jobs } from '../../server/queues.ts'
import { queues } from '../../server/slices.ts'
import { createDatabase, query, temporaryFolder } from '../support/harness.ts'

/** A migrated database with the tables of pg-boss. */
async function openEmpty(t: TestContext): Promise<Database & { url: string }> {
  const url = await createDatabase(t)
  const config = { databaseUrl: url, dataDir: await temporaryFolder(t) }
  const database = await openDatabase(config, createLog('silent', false))
  t.after(() => database.close())
  const queue = await openQueue<Jobs>({
    connection: database.pools.servers,
    queues,
    supervise: false,
    onError() {},
  })
  await queue.close()
  return { ...database, url }
}

async function dump({ pools: { all: pool } }: Database): Promise<string> {
  const snapshot = await openSnapshot(pool!)
  try {
    const parts: Buffer[] = []
    for await (const part of dumpDatabase(pool!, snapshot)) parts.push(part)
    return Buffer.concat(parts).toString()
  } finally {
    await snapshot.close()
  }
}

async function load({ pools: { all: pool } }: Database, text: string): Promise<void> {
  const client = await pool!.connect()
  let isDone = false
  try {
    await client.query('begin')
    await loadDatabase(client, inChunks(Buffer.from(text), 1_000))
    await client.query('commit')
    isDone = true
  } finally {
    client.release(!isDone)
  }
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Values that need escaping, an old partition, rows that refer to each other, jobs in several states, sequences. */
const rows = `
  insert into players (id, environment, name, style, created_at, updated_at)
    values ('pt1', 'production', 'player', '{}', now(), now());
  insert into all_videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
      source_type, created_at, updated_at, tag_terms, metadata_terms, player_id)
    values ('vi1', 'production', E'tab\\t line\\n \\\\. back\\\\slash "quote" é', '', true, false, true, '{a,"b c"}', '[]',
        'upload', now(), now(), '{}', '{}', 'pt1'),
      ('vi2', 'production', E'\\\\.', '', true, false, true, '{}', '[]', 'upload', now(), now(), '{}', '{}', null);
  insert into sweep_state values ('store', '{"id": "one"}');
  select make_viewing_partitions('2020-02-03');
  insert into viewing_events (session_id, emitted_at, type) values ('ps1', '2020-02-03 10:00Z', 'play');
  insert into pgboss.job (name, data, state, heartbeat_on) values
    ('remove-files', '{"videoId": "vi8"}', 'created', null), ('remove-files', '{"videoId": "vi9"}', 'active', now()),
    ('remove-files', '{"videoId": "done"}', 'completed', null);
  select setval('viewing_events_position', 1234)`

test('a dump of the database loads into an empty one, with jobs, partitions and sequences', async (t) => {
  const [from, to] = [await openEmpty(t), await openEmpty(t)]
  await query(from.url, rows)
  const text = await dump(from)
  await load(to, text)
  const sorted = (text: string) =>
    text
      .split('\n')
      .filter((line) => !/^[0-9a-f-]{36}\tremove-files/.test(line))
      .sort()
  assert.deepEqual(sorted(await dump(to)), sorted(text))
  const jobs = await query(to.url, `select data->>'videoId' as id, state from pgboss.job order by 1`)
  assert.deepEqual(jobs, [
    { id: 'vi8', state: 'created' },
    { id: 'vi9', state: 'retry' },
  ])
  const [disabled] = await query(to.url, `select count(*)::int from pg_trigger where tgenabled = 'D'`)
  assert.equal(disabled.count, 0)
})

test('a dump shows one moment, and does not block changes to the schema of what is already copied', async (t) => {
  const from = await openEmpty(t)
  await query(from.url, rows)
  const pool = from.pools.all
  const snapshot = await openSnapshot(pool!)
  try {
    let text = ''
    for await (const part of dumpDatabase(pool!, snapshot)) {
      if (text === '') {
        await query(from.url, `update all_videos set title = 'later'; delete from sweep_state`)
        await query(from.url, `drop table viewing_events_20200203`)
      }
      text += part
      if (/^copy "public"."webhooks"/m.test(text)) {
        await query(from.url, `begin; lock table all_videos in access exclusive mode nowait; commit`)
      }
    }
    assert.match(text, /"store"|\{"id": "one"\}/)
    assert.doesNotMatch(text, /later/)
  } finally {
    await snapshot.close()
  }
})

test('tables that are not part of Kinora are left out', async (t) => {
  const [from, to] = [await openEmpty(t), await openEmpty(t)]
  await query(from.url, rows)
  await query(from.url, `create table reports (text text); insert into reports values ('one')`)
  await load(to, await dump(from))
  assert.equal((await query(to.url, 'select from all_videos')).length, 2)
  assert.deepEqual(await query(to.url, `select to_regclass('reports') as reports`), [{ reports: null }])
})

test('a dump fails if the schema is upgraded meanwhile', async (t) => {
  const from = await openEmpty(t)
  await query(from.url, rows)
  const pool = from.pools.all
  const snapshot = await openSnapshot(pool!)
  // Rewrites the table. The snapshot sees no rows in it from now on.
  await query(from.url, `alter table sweep_state alter column name type varchar(100)`)
  await query(from.url, `insert into kysely_migration values ('9999_later', '')`)
  const dumped = async () => {
    for await (const _ of dumpDatabase(pool!, snapshot));
  }
  try {
    await assert.rejects(dumped(), /The service was upgraded during the backup/)
  } finally {
    await snapshot.close()
  }
})

test('a dump with any other statement is refused', async (t) => {
  const to = await openEmpty(t)
  for (const line of [
    'drop table all_videos;',
    `copy "public"."webhooks" ("id") from program 'id';`,
    `copy "pg_catalog"."pg_authid" ("rolname") from stdin;`,
  ])
    await assert.rejects(load(to, `${line}\n\\.\n`), /unknown statement/)
  await assert.rejects(load(to, 'copy "public"."sweep_state" ("name") from stdin;\na\n'), /ends within/)
})

test('rows end at their last line, wherever the dump is split', async () => {
  const text = 'copy;\n\\\\.\nb\\.\n\\.\nnext\n\\.\nlast\n'
  for (let size = 1; size <= text.length; size++) {
    const reader = new DumpReader(inChunks(Buffer.from(text), size))
    const found: string[] = []
    const readRows = async () => {
      let rows = ''
      for await (const part of reader.readRows()) rows += part
      return rows
    }
    found.push((await reader.readLine())!, await readRows(), (await reader.readLine())!, await readRows())
    found.push((await reader.readLine())!)
    assert.deepEqual(found, ['copy;', '\\\\.\nb\\.\n', 'next', '', 'last'])
    assert.equal(await reader.readLine(), undefined)
  }
})

test('the last backup is the last one that succeeded', async (t) => {
  const { db } = await openEmpty(t)
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
  assert.equal(await findLastBackup(db), undefined)
  await insertBackup(db, { id: 'one', destination: '/backups', now: at(0) })
  await finishBackup(db, 'one', { files: 3, bytes: 30, copied_files: 2, copied_bytes: 20 }, at(1))
  await insertBackup(db, { id: 'killed', destination: '/backups', now: at(2) })
  await insertBackup(db, { id: 'running', destination: '/backups', now: at(3) })
  const last = await findLastBackup(db)
  assert.deepEqual([last?.id, last?.files, last?.finished_at], ['one', 3, at(1)])
  const failed = await findLastBackup(db, { isFailed: true })
  assert.deepEqual([failed?.id, failed?.error], ['killed', 'The backup was interrupted.'])
})
