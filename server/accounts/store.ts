import { sql } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { ApiKeyRow, TokenRow } from './tables.ts'

/** A notification on this channel makes every process drop its cached keys. */
export const keysChannel = 'kinora_keys'

export type Credential = {
  keyId: string
  environment: Environment
  kind: 'key' | 'access'
  expiresAt: Date | null
}

/** Finds the key or access token with this hash, unless it is revoked. The caller checks the expiry. */
export async function findCredential(db: Db<Tables>, hash: Buffer): Promise<Credential | undefined> {
  const { rows } = await sql<Credential>`
    select id as "keyId", environment, 'key' as kind, null::timestamptz as "expiresAt"
    from api_keys where hash = ${hash} and revoked_at is null
    union all
    select k.id, k.environment, 'access', t.expires_at
    from tokens t join api_keys k on k.id = t.key_id
    where t.hash = ${hash} and t.kind = 'access' and k.revoked_at is null`.execute(db)
  return rows[0]
}

/** Notes when a key was last used. */
export async function noteKeyUse(db: Db<Tables>, id: string, at: Date): Promise<void> {
  await sql`
    update api_keys set last_used_at = ${at}
    where id = ${id} and (last_used_at is null or last_used_at < ${at})`.execute(db)
}

/** Returns false if the environment already has an active key of that name. */
export async function insertKey(db: Db<Tables>, row: ApiKeyRow): Promise<boolean> {
  const inserted = await db
    .insertInto('api_keys')
    .values(row)
    .onConflict((c) => c.doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

export function findKeyByHash(db: Db<Tables>, hash: Buffer): Promise<ApiKeyRow | undefined> {
  return db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export function listKeys(db: Db<Tables>, environment: Environment | undefined): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .$if(environment !== undefined, (q) => q.where('environment', '=', environment!))
    .orderBy('environment')
    .orderBy('created_at')
    .execute()
}

/** Returns the environments that never had a key. */
export async function environmentsWithoutKeys(
  db: Db<Tables>,
  all: readonly Environment[],
): Promise<Environment[]> {
  const rows = await db.selectFrom('api_keys').select('environment').distinct().execute()
  return all.filter((environment) => !rows.some((row) => row.environment === environment))
}

type KeySelector = Pick<ApiKeyRow, 'environment'> & Partial<Pick<ApiKeyRow, 'id' | 'name'>>

/** Revokes the active key of that name or id and notifies every process. Returns undefined if there is no such key. */
export async function revokeKey(db: Db<Tables>, key: KeySelector, at: Date): Promise<ApiKeyRow | undefined> {
  const revoked = await db
    .updateTable('api_keys')
    .set({ revoked_at: at })
    .where((eb) => eb.and(key))
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!revoked) return undefined
  await db.deleteFrom('tokens').where('key_id', '=', revoked.id).execute()
  await sql`select pg_notify(${keysChannel}, ${revoked.id})`.execute(db)
  return revoked
}

export async function insertTokens(db: Db<Tables>, rows: TokenRow[]): Promise<void> {
  await db.insertInto('tokens').values(rows).execute()
}

export async function deleteExpiredTokens(db: Db<Tables>, keyId: string, now: Date): Promise<void> {
  await db.deleteFrom('tokens').where('key_id', '=', keyId).where('expires_at', '<', now).execute()
}

/** Shortens the life of a refresh token to `until`. Returns the id of its key, or undefined if the token is invalid. */
export async function retireRefreshToken(
  db: Db<Tables>,
  hash: Buffer,
  required: Environment | undefined,
  now: Date,
  until: Date,
): Promise<string | undefined> {
  const { rows } = await sql<{ key_id: string }>`
    update tokens t set expires_at = least(t.expires_at, ${until})
    from api_keys k
    where t.hash = ${hash} and t.kind = 'refresh' and t.expires_at > ${now}
      and k.id = t.key_id and k.revoked_at is null and k.environment = coalesce(${required ?? null}, k.environment)
    returning t.key_id`.execute(db)
  return rows[0]?.key_id
}
