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

/** Whether the token is bound to the video, or has created it. */
export async function ownsVideo(db: Db<Tables>, token: string, videoId: string): Promise<boolean> {
  const found = await db
    .selectFrom('upload_tokens')
    .innerJoin('all_videos', (join) => join.on('all_videos.id', '=', videoId))
    .select('token')
    .where('upload_tokens.token', '=', token)
    .where((eb) =>
      eb.or([
        eb('upload_tokens.video_id', '=', eb.ref('all_videos.id')),
        eb('all_videos.upload_token', '=', eb.ref('upload_tokens.token')),
      ]),
    )
    .executeTakeFirst()
  return found !== undefined
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
