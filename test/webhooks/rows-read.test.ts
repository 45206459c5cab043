import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Kysely, sql, type Transaction } from 'kysely'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { claimDeliveries } from '../../server/webhooks/delivery-store.ts'
import { recordEvent } from '../../server/webhooks/events.ts'
import { createDatabase } from '../support/harness.ts'
import { countRowsRead } from '../support/rows-read.ts'

// What is read if there are many webhooks and most of them have nothing to do with it.

const webhooks = 5_000
const subscribers = 3
const ends: (() => unknown)[] = []
let db: Kysely<Tables>

before(async () => {
  const database = await createDatabase({ after: (end) => ends.push(end) })
  db = openDb<Tables>(openPool(database, () => {}))
  await sql`
    insert into webhooks (id, environment, url, events, secret, created_at)
    select 'webhook_' || n, 'production', 'https://receiver.example/' || n,
      array[case when n <= ${subscribers} then 'video.encoding.completed' else 'video.source.recorded' end], '', now()
    from generate_series(1, ${webhooks}::int) as n`.execute(db)
  await sql`vacuum analyze webhooks`.execute(db)
})
after(async () => {
  await db?.destroy()
  for (const end of ends) await end()
})

const record = (trx: Transaction<Tables>) =>
  recordEvent(trx, 'production', 'video.encoding.completed', { videoId: 'vi1' }, new Date())

const claim = (trx: Transaction<Tables>) => {
  const limits = { running: new Map(), maxPerWebhook: 16, maxTotal: 256 }
  return claimDeliveries(trx, limits, { owner: 'owner', durationMs: 1_000 })
}

test('an event reads only the webhooks that subscribe to its type', async () => {
  assert.equal(await countRowsRead(db, 'webhooks', record), subscribers)
})

test('a claim reads only the webhooks that have deliveries to send', async () => {
  await db.deleteFrom('deliveries').execute()
  await db.transaction().execute(record)
  const read = await countRowsRead(db, 'webhooks', async (trx) =>
    assert.equal((await claim(trx)).length, subscribers),
  )
  // To find what may be sent, and to send it.
  assert.ok(read <= 3 * subscribers, `${read} webhooks were read`)
})
