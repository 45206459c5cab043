import { sql } from 'kysely'
import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { DashboardSessionRow } from './tables.ts'

/** The payload of a notification is the id of a session that has ended, or `*` for all but perhaps one. */
export const sessionsChannel = 'kinora_dashboard_sessions'

export type StoredSession = Pick<DashboardSessionRow, 'id' | 'created_at' | 'expires_at' | 'password_until'>

const find = prepare<StoredSession>(
  'find-dashboard-session',
  'select id, created_at, expires_at, password_until from dashboard_sessions where hash = $1 and expires_at > $2',
)

export async function findSession(
  db: Db<Tables>,
  hash: Buffer,
  now: Date,
): Promise<StoredSession | undefined> {
  const [row] = await find(db, [hash, now])
  return row
}

export async function insertSession(db: Db<Tables>, row: DashboardSessionRow): Promise<void> {
  await db.insertInto('dashboard_sessions').values(row).execute()
}

export async function extendSession(db: Db<Tables>, id: string, until: Date): Promise<void> {
  await db.updateTable('dashboard_sessions').set({ expires_at: until }).where('id', '=', id).execute()
}

/** The session needs the current password from now on. */
export async function requireCurrentPassword(db: Db<Tables>, id: string): Promise<void> {
  await db.updateTable('dashboard_sessions').set({ password_until: null }).where('id', '=', id).execute()
}

export async function endSession(db: Db<Tables>, id: string): Promise<void> {
  await db.deleteFrom('dashboard_sessions').where('id', '=', id).execute()
  await notifyEnd(db, id)
}

/** Ends all sessions, except one. */
export async function endSessions(db: Db<Tables>, exceptId?: string): Promise<void> {
  await db
    .deleteFrom('dashboard_sessions')
    .$if(exceptId !== undefined, (query) => query.where('id', '<>', exceptId!))
    .execute()
  await notifyEnd(db, '*')
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
