import { isKeyName, keyNameRule } from '../accounts/key-name.ts'
import { createKey, KeyError, revokeKeyById } from '../accounts/keys.ts'
import { listKeys } from '../accounts/store.ts'
import type { ApiKeyRow } from '../accounts/tables.ts'
import type { Context } from '../context.ts'
import { invalidAttribute, notFound } from '../lib/errors.ts'
import { type App, text } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { environmentOf } from './environment.ts'

const url = '/dashboard/keys/:environment'
const params = Type.Object({ environment: Type.String() })

/** API keys. The key itself is shown only when it is created. */
export function keyRoutes(app: App, { db, now }: Pick<Context, 'db' | 'now'>): void {
  app.get(url, { schema: { hide: true, params } }, async (request) => {
    const keys = await listKeys(db, environmentOf(request.params))
    return { data: keys.filter(({ revoked_at }) => revoked_at === null).map(viewKey) }
  })

  app.post(
    url,
    { schema: { hide: true, params, body: Type.Object({ name: text(100) }) } },
    async (request, reply) => {
      const environment = environmentOf(request.params)
      const { name } = request.body
      if (!isKeyName(name)) throw invalidAttribute('name', `The name ${keyNameRule}.`)
      const created = await createKey(db, environment, name, now()).catch((error) => {
        throw error instanceof KeyError ? invalidAttribute('name', error.message) : error
      })
      const { id, key, createdAt } = created
      return reply.code(201).send({ keyId: id, name, createdAt, lastUsedAt: null, key })
    },
  )

  app.delete(
    `${url}/:keyId`,
    { schema: { hide: true, params: Type.Object({ environment: Type.String(), keyId: Type.String() }) } },
    async (request, reply) => {
      const environment = environmentOf(request.params)
      const revoked = await revokeKeyById(db, environment, request.params.keyId, now())
      if (!revoked) throw notFound('keyId')
      return reply.code(204).send()
    },
  )
}

const viewKey = ({ id, name, created_at, last_used_at }: ApiKeyRow) => ({
  keyId: id,
  name,
  createdAt: created_at,
  lastUsedAt: last_used_at,
})
