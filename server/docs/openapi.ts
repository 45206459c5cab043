import { accountsErrors } from '../accounts/errors.ts'
import { type ErrorKind, httpErrors } from '../lib/errors.ts'

type Json = Record<string, unknown>
type Parameter = { in: string; name: string; schema?: { type?: string }; style?: string; explode?: boolean }
type Operation = {
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: unknown
  responses: Json
  /** Errors of this route, beside the common ones. */
  'x-errors'?: ErrorKind[]
}
export type Document = {
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Operation & Json>>
  components: { schemas: Record<string, Json> }
} & Json

export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Kinora',
    version: '1',
    description:
      'Upload, manage and play videos. Authenticate with HTTP Basic (the API key as user name, no password) or with a Bearer token. Production and sandbox are separate environments with separate keys. The key decides the environment: sandbox keys and production keys work at the same URL. Below /sandbox, the same API accepts only sandbox keys.',
  },
  servers: [
    { url: '/', description: 'Production and sandbox (the key decides)' },
    { url: '/sandbox', description: 'Sandbox keys only' },
  ],
  tags: [
    { name: 'Videos' },
    { name: 'Uploads' },
    { name: 'tus' },
    { name: 'Upload tokens' },
    { name: 'Captions' },
    { name: 'Chapters' },
    { name: 'Tags' },
    { name: 'Summaries' },
    { name: 'Signing keys' },
    { name: 'Player themes' },
    { name: 'Watermarks' },
    { name: 'Webhooks' },
    { name: 'Events' },
    { name: 'Analytics' },
    { name: 'Authentication' },
  ],
  security: [{ apiKey: [] }, { bearerAuth: [] }],
  components: {
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'basic', description: 'The API key as user name, an empty password.' },
      bearerAuth: { type: 'http', scheme: 'bearer', description: 'An access token, or the API key itself.' },
      uploadToken: { type: 'apiKey', in: 'query', name: 'token', description: 'An upload token.' },
    },
  },
} as const

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status'],
  properties: {
    type: {
      type: 'string',
      format: 'uri',
      description: 'Link to the explanation. Its last segment identifies the kind of error.',
    },
    title: { type: 'string', description: 'A sentence that describes the problem.' },
    detail: { type: 'string', description: 'The same as `title`. Only below `/data`.' },
    name: { type: 'string', description: 'The invalid attribute or parameter.' },
    status: { type: 'integer' },
    range: { type: 'object', properties: { min: { type: 'integer' }, max: { type: 'integer' } } },
    problems: {
      type: 'array',
      description: 'Every problem. The first one is also at the top level.',
      items: {
        type: 'object',
        properties: { type: { type: 'string' }, title: { type: 'string' }, name: { type: 'string' } },
      },
    },
  },
}

const rateHeaders = {
  'X-RateLimit-Limit': 'Maximum number of requests of this class per minute for the key or token.',
  'X-RateLimit-Remaining': 'Remaining requests of this minute.',
  'X-RateLimit-Retry-After': 'Seconds until the limit resets.',
}

/** Adds the common errors and response headers to every route. */
export function completeDocument(document: Document): Document {
  document.components.schemas.Problem = problemSchema
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) completeOperation(operation)
  }
  return document
}

function completeOperation(operation: Operation): void {
  for (const parameter of operation.parameters ?? []) describeParameter(parameter)
  const isPublic = operation.security?.length === 0
  const hasInput = operation.requestBody !== undefined || operation.parameters?.some((p) => p.in === 'query')
  const errors = operation['x-errors'] ?? []
  delete operation['x-errors']
  if (hasInput) errors.push(httpErrors.invalidAttribute)
  if (!isPublic) errors.push(accountsErrors.invalidApiKey)
  if (operation.parameters?.some((p) => p.in === 'path')) errors.push(httpErrors.notFound)
  if (!isPublic) errors.push(httpErrors.tooManyRequests)
  // By slug: the errors of the operation are copies.
  const isLimited = errors.some(({ slug }) => slug === httpErrors.tooManyRequests.slug)
  for (const kind of errors) operation.responses[kind.status] ??= problemResponse(kind)
  // A 204 has no body.
  const noContent = operation.responses['204'] as Json | undefined
  if (noContent) delete noContent.content
  if (!isLimited) return
  const limits = Object.entries(rateHeaders).map(([name, description]) => [
    name,
    { description, schema: { type: 'integer' } },
  ])
  for (const response of Object.values(operation.responses) as Json[])
    response.headers = { ...(response.headers as Json | undefined), ...Object.fromEntries(limits) }
}

/** Clients send lists as `tags[]=a&tags[]=b` and maps as `metadata[key]=value`. */
function describeParameter(parameter: Parameter): void {
  if (parameter.schema?.type === 'array') parameter.name += '[]'
  if (parameter.schema?.type === 'object') Object.assign(parameter, { style: 'deepObject', explode: true })
}

function problemResponse({ status, title }: ErrorKind) {
  const description =
    status === 400 ? 'Bad request' : status === 401 ? 'Not authenticated' : title.slice(0, -1)
  return {
    description,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
}
