import type { Kysely } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Tables } from '../tables.ts'
import { isAdmitted } from './authenticate.ts'
import { invalidCredentials } from './errors.ts'
import { hashSecret, newSecret } from './keys.ts'
import * as store from './store.ts'

const accessSeconds = 3_600
const refreshSeconds = 30 * 24 * 3_600
/** A used refresh token stays valid for this long, because the response with the new token may have been lost. */
const graceSeconds = 60

const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1_000)

async function issue(db: Kysely<Tables>, keyId: string, now: Date) {
  const access = newSecret()
  const refresh = newSecret()
  await store.deleteExpiredTokens(db, keyId, now)
  await store.insertTokens(db, [
    { hash: hashSecret(access), kind: 'access', key_id: keyId, expires_at: after(now, accessSeconds) },
    { hash: hashSecret(refresh), kind: 'refresh', key_id: keyId, expires_at: after(now, refreshSeconds) },
  ])
  return { token_type: 'Bearer', expires_in: accessSeconds, access_token: access, refresh_token: refresh }
}

export async function exchangeKey(
  db: Kysely<Tables>,
  required: Environment | undefined,
  apiKey: string,
  now: Date,
) {
  const key = await store.findKeyByHash(db, hashSecret(apiKey))
  if (!key || key.revoked_at || !isAdmitted(key.environment, required)) throw invalidCredentials()
  return issue(db, key.id, now)
}

export async function exchangeRefreshToken(
  db: Kysely<Tables>,
  required: Environment | undefined,
  token: string,
  now: Date,
) {
  const keyId = await store.retireRefreshToken(db, hashSecret(token), required, now, after(now, graceSeconds))
  if (keyId === undefined) throw invalidCredentials()
  return issue(db, keyId, now)
}
