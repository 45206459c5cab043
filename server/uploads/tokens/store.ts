import { sql } from 'kysely'
import type { Environment } from '../../environments.ts'
import { type Db, listPage } from '../../lib/db.ts'
import type { Page } from '../../lib/paging.ts'
import type { Tables } from '../../tables.ts'
import type { UploadTokenRow } from '../tables.ts'

const isActive = (now: Date) => sql<boolean>`(expires_at is null or expires_at > ${now})`

export async function insertToken(db: Db<Tables>, row: UploadTokenRow): Promise<void> {
  await db.insertInto('upload_tokens').values(row).execute()
}

export function findToken(db: Db<Tables>, token: string, now: Date): Promise<UploadTokenRow | undefined> {
  return db
    .selectFrom('upload_tokens')
    .selectAll()
    .where('token', '=', token)
    .where(isActive(now))
    .executeTakeFirst()
}

export async function deleteToken(db: Db<Tables>, environment: Environment, token: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('upload_tokens')
    .where('environment', '=', environment)
    .where('token', '=', token)
    .returning('token')
    .executeTakeFirst()
  return deleted !== undefined
}

export async function listTokens(
  db: Db<Tables>,
  environment: Environment,
  { by, order }: { by: 'createdAt' | 'ttl'; order: 'asc' | 'desc' },
  page: Page,
  now: Date,
): Promise<{ tokens: UploadTokenRow[]; total: number }> {
  const active = db.selectFrom('upload_tokens').where('environment', '=', environment).where(isActive(now))
  const { rows: tokens, total } = await listPage(
    db,
    active,
    (q) =>
      q
        .selectAll()
        .orderBy(by === 'ttl' ? 'ttl' : 'created_at', order)
        .orderBy('token', order),
    page,
  )
  return { tokens, total }
}
