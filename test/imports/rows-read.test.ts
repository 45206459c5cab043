import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { claimItem } from '../../server/imports/work-store.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { createDatabase } from '../support/harness.ts'
import { countRowsRead } from '../support/rows-read.ts'

// What a worker reads to find its next object in a large import.

const items = 20_000
const ends: (() => unknown)[] = []
let db: Kysely<Tables>

before(async () => {
  const database = await createDatabase({ after: (end) => ends.push(end) })
  db = openDb<Tables>(openPool(database, () => {}))
  await sql`
    insert into import_runs (id, environment, service, account, options, state, is_preview, concurrency)
    values ('run', 'production', 'kinora', '', '{}', 'running', false, 3)`.execute(db)
  // The first half is done, and one has lost its worker.
  await sql`
    insert into import_items (run_id, kind, source_id, title, details, version, content_version, state, lease_until)
    select 'run', 'video', 'vi' || n, '', '{}', '', '',
      case when n < ${items / 2} then 'done' when n = ${items} then 'fetching' else 'waiting' end,
      case when n = ${items} then now() - interval '1 minute' end
    from generate_series(1, ${items}::int) as n`.execute(db)
  await sql`vacuum analyze import_items`.execute(db)
})
after(async () => {
  await db?.destroy()
  for (const end of ends) await end()
})

test('a worker finds the next object without reading the others, and first what a lost one has left', async () => {
  const claimed: string[] = []
  for (let n = 0; n < 4; n++) {
    const read = await countRowsRead(db, 'import_items', async (trx) => {
      const lease = await claimItem(trx, `owner ${n}`)
      if (lease) claimed.push(lease.item.source_id)
    })
    assert.ok(read <= 30, `${read} items were read`)
  }
  // Three at the same time.
  assert.deepEqual(claimed, [`vi${items}`, `vi${items / 2}`, `vi${items / 2 + 1}`])
})
