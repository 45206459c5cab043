import { sql, type Transaction } from 'kysely'
import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { latestEnd } from './lifetime.ts'
import { endLinks } from './link-store.ts'
import type { DashboardSessionRow } from './tables.ts'

/** The payload of a notification is the id of a session that has ended, or `*` for all but perhaps one. */
export const sessionsChannel = 'kinora_dashboard_sessions'

export type StoredSession = Pick<DashboardSessionRow, 'id' | 'created_at' | 'expires_at' | 'password_until'>

const find = prepare<StoredSession>(
  'find-dashboard-session',
  'select id, created_at, expires_at, password_until from dashboard_sessions where hash = $1 and expires_at > $2 and expires_at <= $3',
)

export async function findSession(
  db: Db<Tables>,
  hash: Buffer,
  now: Date,
  lifetimeMs: number,
): Promise<StoredSession | undefined> {
  const [row] = await find(db, [hash, now, latestEnd(now, lifetimeMs)])
  return row
}

export async function insertSession(db: Db<Tables>, row: DashboardSessionRow): Promise<void> {
  await db.insertInto('dashboard_sessions').values(row).execute()
}

export async function extendSession(db: Db<Tables>, id: string, until: Date): Promise<void> {
  await db.updateTable('dashboard_sessions').set({ expires_at: until }).where('id', '=', id).execute()
}

/** The session needs the current password from now on. Returns false if it has ended. */
export async function requireCurrentPassword(db: Db<Tables>, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('dashboard_sessions')
    .set({ password_until: null })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function endSession(db: Db<Tables>, id: string): Promise<void> {
  await db.deleteFrom('dashboard_sessions').where('id', '=', id).execute()
  await notifyEnd(db, id)
}

/** Ends all sessions, except one, and all links. The links first: a login by link inserts its session after using it. */
export async function endSessions(trx: Transaction<Tables>, now: Date, exceptId?: string): Promise<void> {
  await endLinks(trx, now)
  await trx
    .deleteFrom('dashboard_sessions')
    .$if(exceptId !== undefined, (query) => query.where('id', '<>', exceptId!))
    .execute()
  await notifyEnd(trx, '*')
}

const notifyEnd = (db: Db<Tables>, id: string) => sql`select pg_notify(${sessionsChannel}, ${id})`.execute(db)

/** Returns those of the sessions that have not ended. */
export async function findActiveIds(db: Db<Tables>, ids: string[], now: Date): Promise<Set<string>> {
  const rows = await db
    .selectFrom('dashboard_sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('expires_at', '>', now)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export async function deleteExpired(db: Db<Tables>, now: Date): Promise<void> {
  await db.deleteFrom('dashboard_sessions').where('expires_at', '<=', now).execute()
}
