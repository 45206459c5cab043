import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { findSecret } from '../accounts/secret-store.ts'
import type { Context } from '../context.ts'
import type { Db } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { Tables } from '../tables.ts'
import { fetchHead } from './http.ts'

const noncePattern = '^[0-9a-f]{32}$'

/** A new one for each request, so that no cache and no other installation can answer. */
export const newNonce = () => randomBytes(16).toString('hex')

export const identityPath = (nonce: string) => `/healthz/${nonce}`

/** Only processes with the database of this installation know the secret. */
export const proofOf = (secret: Buffer, nonce: string) =>
  createHmac('sha256', secret).update(`identity ${nonce}`).digest('hex')

const timeoutMs = 5_000

/** Whether a process of the installation with this database answers at the URL. */
export function isThisInstallation(url: string, db: Db<Tables>): Promise<boolean> {
  const proven = requestProof(url, db).catch(() => false)
  return Promise.race([proven, delay(timeoutMs, false, { ref: false })])
}

async function requestProof(url: string, db: Db<Tables>): Promise<boolean> {
  const nonce = newNonce()
  const secret = await findSecret(db)
  const signal = AbortSignal.timeout(timeoutMs)
  // The certificate may not match the host.
  const { text } = await fetchHead(url + identityPath(nonce), signal, { rejectUnauthorized: false })
  return JSON.parse(text).proof === proofOf(secret, nonce)
}

/** Proves that a URL reaches this installation and not another one. */
export function identityRoutes(app: App, { secret }: Pick<Context, 'secret'>): void {
  app.get(
    '/healthz/:nonce',
    { schema: { hide: true, params: Type.Object({ nonce: Type.String() }) }, logLevel: 'silent' },
    async ({ params: { nonce } }, reply) => {
      if (!new RegExp(noncePattern).test(nonce)) throw notFound('nonce')
      return reply
        .header('cache-control', 'no-store')
        .send({ status: 'alive', proof: proofOf(secret, nonce) })
    },
  )
}
