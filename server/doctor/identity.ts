import { createHmac, randomBytes } from 'node:crypto'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'

const noncePattern = '^[0-9a-f]{32}$'

/** A new one for each request, so that no cache and no other installation can answer. */
export const newNonce = () => randomBytes(16).toString('hex')

export const identityPath = (nonce: string) => `/healthz/${nonce}`

/** Only processes with the database of this installation know the secret. */
export const proofOf = (secret: Buffer, nonce: string) =>
  createHmac('sha256', secret).update(`identity ${nonce}`).digest('hex')

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
