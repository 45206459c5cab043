/**
 * Every error that the API answers with: its slug is the last segment of the `type` link, which opens the page
 * that explains it. The slugs are those that existing clients know.
 */
export const errorKinds = {
  'attribute-required': [
    400,
    'A required attribute is missing.',
    'The request lacks an attribute that it needs. `name` says which.',
  ],
  'invalid-attribute': [
    400,
    'An attribute is invalid.',
    'An attribute has the wrong type or a value that is not allowed. `name` says which; `problems` lists every one.',
  ],
  'invalid-payload': [
    400,
    'The body is not a JSON object.',
    'The body is missing, is not valid JSON, or is something other than a JSON object.',
  ],
  'request-invalid-query-parameter': [
    400,
    'A query parameter is invalid.',
    'A query parameter has the wrong type or a value that is not allowed. `name` says which.',
  ],
  'invalid-url': [
    400,
    'The address of the request is malformed.',
    'The path holds a percent sign that is not followed by two hexadecimal digits, or characters that no address may hold.',
  ],
  'authentication-invalid-user-credentials': [
    400,
    'The credentials are not valid.',
    'The API key or refresh token is unknown, revoked, expired, or belongs to the other environment.',
  ],
  'authentication-missing-authorization-header': [
    401,
    'The Authorization header is missing.',
    'Send `Authorization: Bearer <access token>` or HTTP Basic with the API key as user name.',
  ],
  'authentication-invalid-authorization-header-value': [
    401,
    'The Authorization header is malformed.',
    'The header is neither `Bearer <token>` nor `Basic <base64 of key and colon>`.',
  ],
  'authentication-invalid-access-token': [
    401,
    'The access token is not valid.',
    'The token is unknown, expired, made from a revoked key, or belongs to the other environment: the sandbox is at /sandbox.',
  ],
  'authentication-invalid-api-key': [
    401,
    'The API key is not valid.',
    'The key is unknown, revoked, or belongs to the other environment: the sandbox is at /sandbox.',
  ],
  'resource-not-found': [
    404,
    'There is no such object.',
    'No object of this environment has that id. `name` says which id.',
  ],
  'unrecognized-request-url': [404, 'There is no such address.', 'No route of the API has this path.'],
  'method-not-allowed': [
    405,
    'The method is not allowed here.',
    'The path exists, but not with this method. The Allow header lists those that do.',
  ],
  'payload-too-large': [413, 'The body is too large.', 'JSON bodies may have at most 1 MiB.'],
  'too-many-requests': [
    429,
    'Too many requests.',
    'This API key has used up its requests of this minute. The X-RateLimit-Retry-After header says in how many seconds to go on.',
  ],
  'headers-too-large': [
    431,
    'The request headers are too large.',
    'The headers of a request may have at most 16 KiB in all.',
  ],
  'request-timeout': [
    408,
    'The request took too long to arrive.',
    'The request was not received whole within the time limit.',
  ],
  'bad-request': [
    400,
    'The request could not be understood.',
    'The request is not valid HTTP, or a header of it is not valid.',
  ],
  'internal-error': [
    500,
    'Something went wrong on our side.',
    'The server has logged the cause under the id in the X-Request-Id header.',
  ],
  'service-unavailable': [
    503,
    'The service is not available at the moment.',
    'The database or the file store cannot be reached. Try again in a few seconds.',
  ],
} as const satisfies Record<string, readonly [status: number, title: string, meaning: string]>

export type ErrorSlug = keyof typeof errorKinds

export type Problem = { slug: ErrorSlug; title: string; name: string; range?: { min?: number; max?: number } }

type Extra = {
  title?: string | undefined
  name?: string | undefined
  problems?: Problem[] | undefined
  headers?: Record<string, string> | undefined
  cause?: unknown
}

/** The one error that becomes an answer; made by the functions below. */
export class ApiError extends Error {
  readonly slug: ErrorSlug
  readonly status: number
  readonly extra: Extra
  constructor(slug: ErrorSlug, extra: Extra = {}) {
    super(extra.title ?? errorKinds[slug][1], { cause: extra.cause })
    this.slug = slug
    this.status = errorKinds[slug][0]
    this.extra = extra
  }

  /** The body of the answer; `typeBase` is the address that slugs are appended to. */
  body(typeBase: string): Record<string, unknown> {
    const link = (slug: string) => typeBase + slug
    const { name, problems } = this.extra
    const body: Record<string, unknown> = { type: link(this.slug), title: this.message }
    if (name !== undefined) body.name = name
    body.status = this.status
    if (problems?.[0]?.range) body.range = problems[0].range
    if (problems) {
      body.problems = problems.map(({ slug, ...rest }) => ({ type: link(slug), ...rest }))
    }
    return body
  }
}

/** The first problem is repeated at the top level, as clients expect. */
export function invalid(problems: [Problem, ...Problem[]]): ApiError {
  const [first] = problems
  return new ApiError(first.slug, { title: first.title, name: first.name, problems })
}

export const invalidAttribute = (name: string, title: string) =>
  invalid([{ slug: 'invalid-attribute', title, name }])

export const invalidPayload = (title?: string) => new ApiError('invalid-payload', { title })

export const notFound = (name: string) => new ApiError('resource-not-found', { name })

/** Only Bearer is named: at the word Basic, browsers open a window that asks for a password. */
export const unauthenticated = (slug: ErrorSlug) =>
  new ApiError(slug, { headers: { 'www-authenticate': 'Bearer realm="kinora"' } })

/** `name` is an empty string because clients' tests compare it. */
export const badCredentials = () => new ApiError('authentication-invalid-user-credentials', { name: '' })
