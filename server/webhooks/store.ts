import { sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { WebhookRow } from './tables.ts'

/** Returns false when the limit is reached. */
export async function insertWebhook(
  trx: Transaction<Tables>,
  row: WebhookRow,
  limit: number,
): Promise<boolean> {
  // Without the lock, two concurrent transactions could both count one free place.
  await sql`select pg_advisory_xact_lock(hashtext(${`webhooks of ${row.environment}`}))`.execute(trx)
  const { total } = await trx
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('environment', '=', row.environment)
    .executeTakeFirstOrThrow()
  if (Number(total) >= limit) return false
  await trx.insertInto('webhooks').values(row).execute()
  return true
}

/** Newest first. */
export async function listWebhooks(
  db: Db<Tables>,
  environment: Environment,
  event: string | undefined,
  page: Page,
): Promise<{ webhooks: WebhookRow[]; total: number }> {
  const found = db
    .selectFrom('webhooks')
    .where('environment', '=', environment)
    .$if(event !== undefined, (q) => q.where(sql<boolean>`events @> array[${event}::text]`))
  const { rows: webhooks, total } = await listPage(
    db,
    found,
    (q) => q.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc'),
    page,
  )
  return { webhooks, total }
}

export function findWebhook(
  db: Db<Tables>,
  environment: Environment,
  webhookId: string,
): Promise<WebhookRow | undefined> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', webhookId)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

/** Pending deliveries are not sent, because they are claimed through their webhook. */
export async function deleteWebhook(
  db: Db<Tables>,
  environment: Environment,
  webhookId: string,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('webhooks')
    .where('id', '=', webhookId)
    .where('environment', '=', environment)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

/** Undefined when there is no such webhook. */
export async function updateWebhook(
  db: Db<Tables>,
  environment: Environment,
  webhookId: string,
  change: Partial<Pick<WebhookRow, 'events' | 'url'>>,
): Promise<WebhookRow | undefined> {
  if (Object.keys(change).length === 0) return findWebhook(db, environment, webhookId)
  return db
    .updateTable('webhooks')
    .set(change)
    .where('id', '=', webhookId)
    .where('environment', '=', environment)
    .returningAll()
    .executeTakeFirst()
}

/** One statement, so that of two concurrent rotations the second keeps the first's secret as the previous one. */
export function rotateSecret(
  db: Db<Tables>,
  environment: Environment,
  webhookId: string,
  { secret, previousUntil }: { secret: string; previousUntil: Date },
): Promise<WebhookRow | undefined> {
  return db
    .updateTable('webhooks')
    .set((eb) => ({ secret, previous_secret: eb.ref('secret'), previous_until: previousUntil }))
    .where('id', '=', webhookId)
    .where('environment', '=', environment)
    .returningAll()
    .executeTakeFirst()
}
