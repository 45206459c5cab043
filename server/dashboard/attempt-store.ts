import { sql } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { after, latestEnd } from './lifetime.ts'

export type Attempts = { attempts: number; ends_at: Date }

/** Counts an attempt of the subject in its current window, or in a new one. */
export async function countAttempt(
  db: Db<Tables>,
  subject: string,
  now: Date,
  windowMs: number,
): Promise<Attempts> {
  const isCurrent = sql`a.ends_at > ${now} and a.ends_at <= ${latestEnd(now, windowMs)}`
  const { rows } = await sql<Attempts>`
    insert into login_attempts as a (subject, attempts, ends_at) values (${subject}, 1, ${after(now, windowMs)})
    on conflict (subject) do update set
      attempts = case when ${isCurrent} then a.attempts + 1 else 1 end,
      ends_at = case when ${isCurrent} then a.ends_at else excluded.ends_at end
    returning attempts, ends_at`.execute(db)
  return rows[0]!
}

/** The attempts in the current window, if there is one. */
export function findAttempts(
  db: Db<Tables>,
  subject: string,
  now: Date,
  windowMs: number,
): Promise<Attempts | undefined> {
  return db
    .selectFrom('login_attempts')
    .select(['attempts', 'ends_at'])
    .where('subject', '=', subject)
    .where('ends_at', '>', now)
    .where('ends_at', '<=', latestEnd(now, windowMs))
    .executeTakeFirst()
}

/** A successful attempt does not count. */
export async function uncountAttempt(db: Db<Tables>, subjects: string[]): Promise<void> {
  await db
    .updateTable('login_attempts')
    .set({ attempts: sql`greatest(attempts - 1, 0)` })
    .where('subject', 'in', subjects)
    .execute()
}

export async function deleteExpired(db: Db<Tables>, now: Date): Promise<void> {
  await db.deleteFrom('login_attempts').where('ends_at', '<=', now).execute()
}
