import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openDb, openPool } from '../../server/lib/db.ts'
import { locksOf, migrateTo, migrationNames, requiredBy } from '../../server/migrations/migrate.ts'
import { createDatabase, query } from '../support/harness.ts'
import { findBreaks, readColumns } from '../support/schema-columns.ts'

// A process of the previous version continues to run while and after this version upgrades the database. previous.test.ts
// runs one. The rule of the migrations is in CONTRIBUTING.md.

/** The rule applies to those after it. */
const first = migrationNames.indexOf('0037_required_migrations')

test('an expansion keeps every table and column, and nothing new is necessary in a table that exists', async (t) => {
  const url = await createDatabase(t, { isEmpty: true })
  const pool = openPool(url, () => {}, { max: 1 })
  try {
    const db = openDb<object>(pool)
    await migrateTo(db, migrationNames[first]!)
    let before = await readColumns(url)
    for (const name of migrationNames.slice(first + 1)) {
      await migrateTo(db, name)
      const after = await readColumns(url)
      if (requiredBy(name) === undefined) assert.deepEqual(findBreaks(before, after), [], name)
      before = after
    }
  } finally {
    await pool.end()
  }
})

/** Locks that a writer waits for. */
const conflicting = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock']

test('a migration declares the tables that it locks', async (t) => {
  const pool = openPool(await createDatabase(t, { isEmpty: true }), () => {}, { max: 1 })
  try {
    const db = openDb<object>(pool)
    await migrateTo(db, migrationNames[first]!)
    for (const name of migrationNames.slice(first + 1)) {
      const { rows: before } = await sql<{ oid: number }>`select oid from pg_class`.execute(db)
      const { up } = await import(`../../server/migrations/${name}.ts`)
      const locked = await db.transaction().execute(async (trx) => {
        await up(trx)
        const { rows } = await sql<{ oid: number; name: string }>`
          select distinct c.oid, c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
          where l.pid = pg_backend_pid() and l.mode = any(${conflicting}::text[]) and c.relkind in ('r', 'v')
          order by name`.execute(trx)
        return rows.filter(({ oid }) => before.some((each) => each.oid === oid)).map(({ name }) => name)
      })
      await sql`insert into kysely_migration (name, timestamp) values (${name}, '')`.execute(db)
      assert.deepEqual(locksOf(name).toSorted(), locked, name)
    }
  } finally {
    await pool.end()
  }
})

test('a contraction requires a migration that exists', () => {
  for (const [i, name] of migrationNames.entries()) {
    const required = requiredBy(name)
    if (required === undefined) continue
    const at = migrationNames.indexOf(required)
    assert.ok(at >= first && at <= i, `${name} requires ${required}`)
  }
})

const statements: [string, string[]][] = [
  [
    'alter table webhooks rename url to target',
    ['webhooks.target is new and necessary', 'webhooks.url is gone'],
  ],
  ['drop table sweep_state', ['sweep_state.name is gone', 'sweep_state.value is gone']],
  ['alter table players add size integer not null', ['players.size is new and necessary']],
  ['alter table processes alter pid type bigint', ['processes.pid was integer and is bigint']],
  ['alter table processes alter pid drop not null', []],
  ['alter table players add size integer', []],
  ['alter table players add size integer not null default 1', []],
  ['create table sizes (size integer not null)', []],
]
for (const [statement, breaks] of statements)
  test(`${statement} is ${breaks.length === 0 ? 'an' : 'no'} expansion`, async (t) => {
    const url = await createDatabase(t)
    const before = await readColumns(url)
    await query(url, statement)
    assert.deepEqual(findBreaks(before, await readColumns(url)), breaks)
  })
