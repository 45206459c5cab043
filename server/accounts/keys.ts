import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Config } from '../config.ts'
import { type Environment, environments } from '../environments.ts'
import { newId, randomWord } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'
import * as store from './store.ts'
import type { ApiKeyRow } from './tables.ts'

/**
 * Keys and tokens hold 256 bits of chance, so a plain hash cannot be guessed back, and looking the hash up in an
 * index gives away nothing about the secret by its timing.
 */
export const hashSecret = (secret: string) => hash('sha256', secret, 'buffer')

/** 43 letters and digits hold 256 bits. */
export const newSecret = () => randomWord(43)

/** One helpful sentence about keys. */
export class KeyProblem extends Error {}

export type NewKey = { id: string; environment: Environment; name: string; key: string; createdAt: Date }

/** The only time the key itself is known. */
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
  }
  if (!(await store.insertKey(db, row))) {
    throw new KeyProblem(
      `The ${environment} environment has a key named "${name}" already: revoke it first, or choose another name.`,
    )
  }
  return { id: row.id, environment, name, key, createdAt: now }
}

export function revokeKey(db: Kysely<Tables>, environment: Environment, name: string, now: Date) {
  return db.transaction().execute((trx) => store.revokeKey(trx, environment, name, now))
}

/**
 * Makes sure that the keys of the settings exist and that each environment had a key once; returns those that were
 * made up, to be shown this one time.
 */
export async function provideKeys(db: Kysely<Tables>, keys: Config['keys'], now: Date): Promise<NewKey[]> {
  for (const environment of environments) {
    const key = keys[environment]
    if (key !== undefined) await provideSettingKey(db, environment, key, now)
  }
  const made: NewKey[] = []
  for (const environment of await store.environmentsWithoutKeys(db, environments)) {
    try {
      made.push(await createKey(db, environment, 'default', now))
    } catch (error) {
      // Another process that started at the same instant was first, and shows it.
      if (!(error instanceof KeyProblem)) throw error
    }
  }
  return made
}

async function provideSettingKey(db: Kysely<Tables>, environment: Environment, key: string, now: Date) {
  const setting = `KINORA_${environment.toUpperCase()}_KEY`
  const hash = hashSecret(key)
  const known = await store.findKeyByHash(db, hash)
  if (!known) {
    // The name tells keys of different values apart; processes that start at once agree on it.
    const name = `${setting} ${hash.toString('hex', 0, 4)}`
    await createKey(db, environment, name, now, key).catch((error) => {
      if (!(error instanceof KeyProblem)) throw error
    })
  } else if (known.revoked_at) {
    throw new KeyProblem(`The key in ${setting} was revoked: set another one.`)
  } else if (known.environment !== environment) {
    throw new KeyProblem(
      `The key in ${setting} is a key of the ${known.environment} environment: set another one.`,
    )
  }
}
