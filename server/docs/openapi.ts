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
  components: { schemas: Record<string, Json>; headers?: Record<string, Json> }
} & Json

const tag = (name: string, description: string, guides: string[]) => ({
  name,
  description: `${description} ${guides.length > 1 ? 'Guides' : 'Guide'}: ${guides
    .map((guide) => `[${guide}](/docs/guides/${guide})`)
    .join(', ')}.`,
})

export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Kinora',
    version: '1',
    description: [
      'Upload, manage and play videos. The [guides](/docs/guides) explain each subject. [Errors](/docs/errors) lists the kinds of errors.',
      'Authenticate with HTTP Basic (the API key as user name, no password) or with a Bearer token. Production and sandbox are separate environments with separate keys. The key decides the environment: sandbox keys and production keys work at the same URL. Below `/sandbox`, the same API accepts only sandbox keys.',
      'Unknown fields and query parameters are ignored. The response header `Kinora-Warnings` names them, with a suggestion for misspelled ones.',
    ].join('\n\n'),
  },
  servers: [
    { url: '/', description: 'Production and sandbox (the key decides)' },
    { url: '/sandbox', description: 'Sandbox keys only' },
  ],
  tags: [
    tag('Videos', 'Create, find, change, delete and restore videos.', ['videos', 'encoding', 'thumbnails']),
    tag('Uploads', 'Upload the file of a video, in one request or in chunks.', ['uploads']),
    tag('tus', 'Resumable uploads with any tus client.', ['tus']),
    tag('Upload tokens', 'Let browsers and apps upload without an API key.', ['uploads']),
    tag('Captions', 'Subtitles in any number of languages.', ['captions', 'transcripts']),
    tag('Chapters', 'Named parts of a video.', ['captions']),
    tag('Tags', 'The tags of all videos.', ['videos']),
    tag('Summaries', 'Summaries of videos, generated or written by hand.', ['transcripts']),
    tag('Signing keys', 'Sign the tokens of private videos yourself.', ['playback']),
    tag('Player themes', 'Colors, options and the logo of the player.', ['player']),
    tag('Live streams', 'Live streams and their broadcasts.', ['live', 'restreams']),
    tag('Watermarks', 'Images that are burnt into videos.', ['watermarks']),
    tag('Webhooks', 'Send events to your server.', ['webhooks']),
    tag('Events', 'The log of events.', ['webhooks']),
    tag('Imports', 'Bring videos of other services.', ['import']),
    tag('Analytics', 'Who watched what.', ['analytics']),
    tag('Authentication', 'Short-lived tokens instead of API keys.', ['accounts']),
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

const problemType = {
  type: 'string',
  format: 'uri',
  description: 'Link to the explanation. Its last segment identifies the kind of error.',
  examples: ['https://video.example.com/docs/errors/invalid-attribute'],
}
const problemTitle = {
  type: 'string',
  description: 'A sentence that describes the problem.',
  examples: ['"title" must be a string.'],
}
const problemName = {
  type: 'string',
  description: 'The invalid attribute or parameter. Empty if a 400 is about none.',
  examples: ['title'],
}
const problemStatus = { type: 'integer', description: 'The HTTP status.', examples: [400] }

const problemSchema = {
  type: 'object',
  description: 'What is wrong with a request.',
  required: ['type', 'title', 'status'],
  properties: {
    type: problemType,
    title: problemTitle,
    detail: {
      type: 'string',
      description: 'What to do about it. Below `/data`, the same as `title`.',
      examples: ['Delete the existing summary to generate another one.'],
    },
    name: problemName,
    status: problemStatus,
    range: {
      type: 'object',
      description: 'The accepted range, if a number is out of range.',
      properties: {
        min: { type: 'integer', description: 'The smallest accepted number.', examples: [1] },
        max: { type: 'integer', description: 'The largest accepted number.', examples: [100] },
      },
    },
    problems: {
      type: 'array',
      description: 'Every problem of a 400. The first one is also at the top level.',
      items: {
        type: 'object',
        properties: { type: problemType, title: problemTitle, name: problemName, status: problemStatus },
      },
    },
  },
}

const rateHeaders = {
  'X-RateLimit-Limit': {
    description: 'Maximum number of requests of this class per minute for the key or token.',
    schema: { type: 'integer', examples: [600] },
  },
  'X-RateLimit-Remaining': {
    description: 'Remaining requests of this minute.',
    schema: { type: 'integer', examples: [599] },
  },
  'X-RateLimit-Retry-After': {
    description: 'Seconds until the limit resets.',
    schema: { type: 'integer', examples: [42] },
  },
}

const warningHeaders = {
  'Kinora-Warnings': {
    description: 'Which fields and query parameters of the request were ignored, because they do not exist.',
    schema: { type: 'string', examples: ['Unknown field "titel" was ignored. Did you mean "title"?'] },
  },
}

/** The description of responses that have none. */
const outcomes: Record<string, string> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted: the work continues in the background',
}

/** Adds the common errors and response headers to every route. */
export function completeDocument(document: Document): Document {
  document.components.schemas.Problem = problemSchema
  document.components.headers = { ...rateHeaders, ...warningHeaders }
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
  for (const [status, response] of Object.entries(operation.responses as Record<string, Json>))
    if (response.description === 'Default Response') response.description = outcomes[status]
  // A 204 has no body.
  const noContent = operation.responses['204'] as Json | undefined
  if (noContent) delete noContent.content
  const responses = Object.entries(operation.responses) as [string, Json][]
  if (isLimited) addHeaders(responses, rateHeaders)
  const successes = responses.filter(([status]) => status.startsWith('2'))
  if (!isPublic && hasInput) addHeaders(successes, warningHeaders)
}

function addHeaders(responses: [string, Json][], headers: Json): void {
  const added = Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }])
  for (const [, response] of responses)
    response.headers = { ...(response.headers as Json | undefined), ...Object.fromEntries(added) }
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
