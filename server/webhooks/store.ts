import { sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { WebhookRow } from './tables.ts'

/** False when there are as many as there may be. */
export async function insertWebhook(
  trx: Transaction<Tables>,
  row: WebhookRow,
  limit: number,
): Promise<boolean> {
  // Two that count at once would both find the last place free.
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

/** The newest first. */
export async function listWebhooks(
  db: Db<Tables>,
  environment: Environment,
  event: string | undefined,
  page: Page,
): Promise<{ webhooks: WebhookRow[]; total: number }> {
  const found = db
    .selectFrom('webhooks')
    .where('environment', '=', environment)
    .$if(event !== undefined, (q) => q.where(sql<boolean>`${event}::text = any(events)`))
  const { rows: webhooks, total } = await listPage(
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

/** What was on its way to it is not sent any more: deliveries are claimed by their webhooks. */
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

/** In one statement: of two rotations at once, the secret of the first is the previous one of the second. */
export function rotateSecret(
  db: Db<Tables>,
  environment: Environment,
  webhookId: string,
  secret: string,
  previousUntil: Date,
): Promise<WebhookRow | undefined> {
  return db
    .updateTable('webhooks')
    .set((eb) => ({ secret, previous_secret: eb.ref('secret'), previous_until: previousUntil }))
    .where('id', '=', webhookId)
    .where('environment', '=', environment)
    .returningAll()
    .executeTakeFirst()
}
