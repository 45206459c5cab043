import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { SigningKeyRow } from '../access/tables.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField, timeField } from '../lib/fields.ts'
import { type App, nullable, oneOf, ref, text } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listOf, listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { clearKeyCache } from './signed-token.ts'
import * as store from './signing-key-store.ts'

const algorithm = 'ES256'

const properties = {
  id: idField('sk', 'The same as `signingKeyId`.'),
  signingKeyId: idField('sk', 'The `kid` in the header of the tokens.'),
  name: Type.String({ description: 'A name for your own use.', examples: ['Website'] }),
  algorithm: oneOf([algorithm], {
    description: 'The `alg` in the header of the tokens.',
    examples: [algorithm],
  }),
  createdAt: timeField('When the key was created.'),
}

export const SigningKey = Type.Object(properties, {
  $id: 'SigningKey',
  description: 'A key that signs playback tokens.',
})

export const NewSigningKey = Type.Object(
  {
    ...properties,
    privateKey: Type.String({
      description: 'PKCS #8 in PEM form. Returned only once: it is not stored.',
      examples: ['-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49...\n-----END PRIVATE KEY-----\n'],
    }),
  },
  { $id: 'NewSigningKey', description: 'A new signing key, with its private key.' },
)

export const SigningKeyList = listOf(ref(SigningKey), 'SigningKeyList')

const viewKey = ({ id, name, created_at: createdAt }: SigningKeyRow) => ({
  id,
  signingKeyId: id,
  name,
  algorithm: algorithm as typeof algorithm,
  createdAt: formatTime(createdAt),
})

const makeKeyPair = promisify(generateKeyPair)

const params = Type.Object({ signingKeyId: idField('sk', 'Id of the key.') })

export function signingKeyRoutes(app: App, context: Context): void {
  createSigningKey(app, context)
  listSigningKeys(app)
  showSigningKey(app, context)
  deleteSigningKey(app, context)
}

function createSigningKey(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'POST-signing-keys',
    tags: ['Signing keys'],
    summary: 'Create a key that signs playback tokens',
    description:
      'With the private key you sign tokens for private videos yourself, without an API call per viewer.',
    body: nullable(
      Type.Object(
        {
          name: Type.Optional(text(100, { description: 'A name for your own use.', examples: ['Website'] })),
        },
        { examples: [{ name: 'Website' }] },
      ),
    ),
    response: { 201: ref(NewSigningKey) },
  }
  app.post('/signing-keys', { schema }, async ({ body, scope }, reply) => {
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
  })
}

function listSigningKeys(app: App): void {
  const schema = {
    operationId: 'LIST-signing-keys',
    tags: ['Signing keys'],
    summary: 'List signing keys',
    description: 'Private keys are not stored, so they are not in the list.',
    querystring: Type.Object(pageQuery),
    response: { 200: ref(SigningKeyList) },
  }
  app.get('/signing-keys', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const { keys, total } = await read((db) => store.listSigningKeys(db, scope.environment, page))
    return listResponse('/signing-keys', query, page, keys.map(viewKey), total)
  })
}

function showSigningKey(app: App, { db }: Context): void {
  const schema = {
    operationId: 'GET-signing-key',
    tags: ['Signing keys'],
    summary: 'Show a signing key',
    description: 'The private key is not stored, so it is not in the response.',
    params,
    response: { 200: ref(SigningKey) },
  }
  app.get('/signing-keys/:signingKeyId', { schema }, async ({ params: { signingKeyId: id }, scope }) => {
    const row = isId('sk', id) && (await store.findSigningKey(db, scope.environment, id))
    if (!row) throw notFound('signingKeyId')
    return viewKey(row)
  })
}

function deleteSigningKey(app: App, { db }: Context): void {
  const schema = {
    operationId: 'DELETE-signing-key',
    tags: ['Signing keys'],
    summary: 'Delete a signing key',
    description: 'Tokens signed with it stop working immediately, even for current viewers.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/signing-keys/:signingKeyId', { schema }, async (request, reply) => {
    const { signingKeyId: id } = request.params
    const isDeleted = isId('sk', id) && (await store.deleteSigningKey(db, request.scope.environment, id))
    if (!isDeleted) throw notFound('signingKeyId')
    clearKeyCache()
    return reply.code(204).send(null)
  })
}
