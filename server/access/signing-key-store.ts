import type { SigningKeyRow } from '../access/tables.ts'
import type { Environment } from '../environments.ts'
import { type Db, listPage, prepare } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'

export async function insertSigningKey(db: Db<Tables>, row: SigningKeyRow): Promise<void> {
  await db.insertInto('signing_keys').values(row).execute()
}

/** Newest first. */
export async function listSigningKeys(
  db: Db<Tables>,
  environment: Environment,
  page: Page,
): Promise<{ keys: SigningKeyRow[]; total: number }> {
  const found = db.selectFrom('signing_keys').where('environment', '=', environment)
  const { rows: keys, total } = await listPage(
    db,
    found,
    (q) => q.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc'),
    page,
  )
  return { keys, total }
}

export function findSigningKey(
  db: Db<Tables>,
  environment: Environment,
  keyId: string,
): Promise<SigningKeyRow | undefined> {
  return db
    .selectFrom('signing_keys')
    .selectAll()
    .where('id', '=', keyId)
    .where('environment', '=', environment)
    .executeTakeFirst()
}

export async function deleteSigningKey(
  db: Db<Tables>,
  environment: Environment,
  keyId: string,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('signing_keys')
    .where('id', '=', keyId)
    .where('environment', '=', environment)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

const findKey = prepare<{ public_key: string }>(
  'find-public-key',
  'select public_key from signing_keys where id = $1 and environment = $2',
)

export async function findPublicKey(
  db: Db<Tables>,
  environment: Environment,
  keyId: string,
): Promise<string | undefined> {
  const [row] = await findKey(db, [keyId, environment])
  return row?.public_key
}
