import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Db, listPage } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { WatermarkRow } from './tables.ts'

export type Watermark = Selectable<WatermarkRow>

export async function insertWatermark(db: Db<Tables>, row: Watermark): Promise<void> {
  await db.insertInto('watermarks').values(row).execute()
}

export async function listWatermarks(
  db: Db<Tables>,
  environment: Environment,
  order: 'asc' | 'desc',
  page: Page,
): Promise<{ rows: Watermark[]; total: number }> {
  const all = db.selectFrom('watermarks').where('environment', '=', environment)
  return listPage(db, all, (q) => q.selectAll().orderBy('created_at', order).orderBy('id', order), page)
}

export function findWatermark(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<Watermark | undefined> {
  return db
    .selectFrom('watermarks')
    .selectAll()
    .where('id', '=', id)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export async function deleteWatermark(
  trx: Transaction<Tables>,
  environment: Environment,
  id: string,
): Promise<boolean> {
  const deleted = await trx
    .deleteFrom('watermarks')
    .where('id', '=', id)
    .where('environment', '=', environment)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function filterExisting(db: Db<Tables>, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('watermarks')
    .select('id')
    .where('id', '=', sql<string>`any(${ids})`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}
