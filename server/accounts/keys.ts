import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Config } from '../config.ts'
import { type Environment, environments } from '../environments.ts'
import { newId, randomWord } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'
import * as store from './store.ts'
import type { ApiKeyRow } from './tables.ts'

/**
 * Keys and tokens have 256 random bits, so a plain hash cannot be reversed, and the timing of the index lookup reveals
 * nothing about the secret.
 */
export const hashSecret = (secret: string) => hash('sha256', secret, 'buffer')

/** 43 letters and digits are 256 bits. */
export const newSecret = () => randomWord(43)

/** A sentence about a key that cannot be created or used. */
export class KeyError extends Error {}

export type NewKey = { id: string; environment: Environment; name: string; key: string; createdAt: Date }

/** Returns the key itself, of which only the hash is stored. */
export async function createKey(
  db: Kysely<Tables>,
  environment: Environment,
  name: string,
  now: Date,
  key = newSecret(),
): Promise<NewKey> {
  const row: ApiKeyRow = {
    id: newId('key'),
    environment,
    name,
    hash: hashSecret(key),
    created_at: now,
    revoked_at: null,
    last_used_at: null,
  }
  if (!(await store.insertKey(db, row))) {
    throw new KeyError(
      `The ${environment} environment already has a key named "${name}": revoke it first, or choose another name.`,
    )
  }
  return { id: row.id, environment, name, key, createdAt: now }
}

export function revokeKey(db: Kysely<Tables>, environment: Environment, name: string, now: Date) {
  return db.transaction().execute((trx) => store.revokeKey(trx, { environment, name }, now))
}

export function revokeKeyById(db: Kysely<Tables>, environment: Environment, id: string, now: Date) {
  return db.transaction().execute((trx) => store.revokeKey(trx, { environment, id }, now))
}

/** Creates the keys of the settings. */
export async function provideSettingKeys(db: Kysely<Tables>, keys: Config['keys'], now: Date): Promise<void> {
  for (const environment of environments) {
    const key = keys[environment]
    if (key !== undefined) await provideSettingKey(db, environment, key, now)
  }
}

export type FirstKey = { environment: Environment; key: string }

export const newFirstKeys = (): FirstKey[] =>
  environments.map((environment) => ({ environment, key: newSecret() }))

/**
 * Creates those of the keys whose environment never had one. Returns the created keys, which are shown only once, also
 * when it is repeated with the same keys because the first response was lost.
 */
export async function provideFirstKeys(
  db: Kysely<Tables>,
  keys: readonly FirstKey[],
  now: Date,
): Promise<FirstKey[]> {
  const missing = await store.environmentsWithoutKeys(db, environments)
  const created: FirstKey[] = []
  for (const { environment, key } of keys) {
    if (missing.includes(environment)) {
      await createKey(db, environment, 'default', now, key).catch((error) => {
        // Another process that started at the same time created its own key, and shows it.
        if (!(error instanceof KeyError)) throw error
      })
    }
    if (await store.findKeyByHash(db, hashSecret(key))) created.push({ environment, key })
  }
  return created
}

/** The setting of an environment's key. */
export const settingOf = (environment: Environment) => `KINORA_${environment.toUpperCase()}_KEY`

async function provideSettingKey(db: Kysely<Tables>, environment: Environment, key: string, now: Date) {
  const setting = settingOf(environment)
  const hash = hashSecret(key)
  const known = await store.findKeyByHash(db, hash)
  if (!known) {
    // The hash makes the name unique for each value, and the same in processes that start at the same time.
    const name = `${setting} ${hash.toString('hex', 0, 4)}`
    await createKey(db, environment, name, now, key).catch((error) => {
      if (!(error instanceof KeyError)) throw error
    })
  } else if (known.revoked_at) {
    throw new KeyError(`The key in ${setting} was revoked: set another key.`)
  } else if (known.environment !== environment) {
    throw new KeyError(
      `The key in ${setting} is a key of the ${known.environment} environment: set another key.`,
    )
  }
}
