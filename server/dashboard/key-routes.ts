import { isKeyName, keyNameRule } from '../accounts/key-name.ts'
import { createKey, hashSecret, KeyError, revokeKeyById, settingOf } from '../accounts/keys.ts'
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
export function keyRoutes(app: App, { config, db, now }: Pick<Context, 'config' | 'db' | 'now'>): void {
  app.get(url, { schema: { hide: true, params } }, async (request) => {
    const environment = environmentOf(request.params)
    const keys = (await listKeys(db, environment)).filter(({ revoked_at }) => revoked_at === null)
    const configured = config.keys[environment]
    const hash = configured === undefined ? undefined : hashSecret(configured)
    // The service does not start with a revoked key in its settings, so whoever revokes it has to know.
    const setting = settingOf(environment)
    return {
      data: keys.map((key) => ({ ...viewKey(key), setting: hash?.equals(key.hash) ? setting : null })),
    }
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
      return reply.code(201).send({ keyId: id, name, createdAt, lastUsedAt: null, setting: null, key })
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
