import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { SigningKeyRow } from '../access/tables.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { type App, nullable, oneOf, ref, text } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, Pagination, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { forgetKeys } from './signed-token.ts'
import * as store from './signing-key-store.ts'

const algorithm = 'ES256'

const properties = {
  id: Type.String({ description: 'The same as `signingKeyId`.' }),
  signingKeyId: Type.String({ description: 'The `kid` in the header of the tokens.' }),
  name: Type.String(),
  algorithm: oneOf([algorithm], { description: 'The `alg` in the header of the tokens.' }),
  createdAt: Type.String({ format: 'date-time' }),
}

export const SigningKey = Type.Object(properties, { $id: 'SigningKey' })

export const NewSigningKey = Type.Object(
  {
    ...properties,
    privateKey: Type.String({ description: 'PKCS #8 in PEM form. Shown this once; it is kept nowhere.' }),
  },
  { $id: 'NewSigningKey' },
)

export const SigningKeyList = Type.Object(
  { data: Type.Array(ref(SigningKey)), pagination: ref(Pagination) },
  { $id: 'SigningKeyList' },
)

const viewKey = ({ id, name, created_at: createdAt }: SigningKeyRow) => ({
  id,
  signingKeyId: id,
  name,
  algorithm: algorithm as typeof algorithm,
  createdAt: atom(createdAt),
})

const makeKeyPair = promisify(generateKeyPair)

const params = Type.Object({ signingKeyId: Type.String({ description: 'Id of the key.' }) })

export function signingKeyRoutes(app: App, context: Context): void {
  const { db, now } = context

  app.post(
    '/signing-keys',
    {
      schema: {
        operationId: 'POST-signing-keys',
        tags: ['Signing keys'],
        summary: 'Create a key that signs playback tokens',
        description:
          'With its private half you make tokens for private videos yourself, without a call for each viewer.',
        body: nullable(
          Type.Object({ name: Type.Optional(text(100, { description: 'For you to know it again.' })) }),
        ),
        response: { 201: ref(NewSigningKey) },
      },
    },
    async ({ body, scope }, reply) => {
      const { privateKey, publicKey } = await makeKeyPair('ec', {
        namedCurve: 'P-256',
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
        publicKeyEncoding: { type: 'spki', format: 'pem' },
      })
      const row: SigningKeyRow = {
        id: newId('sk'),
        environment: scope.environment,
        name: body?.name ?? '',
        public_key: publicKey,
        created_at: now(),
      }
      await store.insertSigningKey(db, row)
      return reply.code(201).send({ ...viewKey(row), privateKey })
    },
  )

  app.get(
    '/signing-keys',
    {
      schema: {
        operationId: 'LIST-signing-keys',
        tags: ['Signing keys'],
        summary: 'List signing keys',
        querystring: Type.Object(pageQuery),
        response: { 200: ref(SigningKeyList) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const { keys, total } = await store.listSigningKeys(db, scope.environment, page)
      return listResponse('/signing-keys', query, page, keys.map(viewKey), total)
    },
  )

  app.get(
    '/signing-keys/:signingKeyId',
    {
      schema: {
        operationId: 'GET-signing-key',
        tags: ['Signing keys'],
        summary: 'Show a signing key',
        params,
        response: { 200: ref(SigningKey) },
      },
    },
    async ({ params: { signingKeyId: id }, scope }) => {
      const row = isId('sk', id) && (await store.findSigningKey(db, scope.environment, id))
      if (!row) throw notFound('signingKeyId')
      return viewKey(row)
    },
  )

  app.delete(
    '/signing-keys/:signingKeyId',
    {
      schema: {
        operationId: 'DELETE-signing-key',
        tags: ['Signing keys'],
        summary: 'Delete a signing key',
        description: 'The tokens that it has signed stop working, also for those who are watching.',
        params,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async ({ params: { signingKeyId: id }, scope }, reply) => {
      const isDeleted = isId('sk', id) && (await store.deleteSigningKey(db, scope.environment, id))
      if (!isDeleted) throw notFound('signingKeyId')
      forgetKeys()
      return reply.code(204).send(null)
    },
  )
}
