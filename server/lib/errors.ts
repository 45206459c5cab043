/**
 * One kind of error response. The slug is the last segment of the `type` link, which opens the page with the
 * explanation. Existing clients depend on the slugs.
 */
export type ErrorKind = { slug: string; status: number; title: string; explanation: string }

type Definition = readonly [slug: string, status: number, title: string, explanation: string]

/** A slice defines its errors with this function in its `errors.ts`; its `slice.ts` names them. */
export function defineErrors<K extends string>(definitions: Record<K, Definition>): Record<K, ErrorKind> {
  const kinds = Object.entries<Definition>(definitions).map(([name, [slug, status, title, explanation]]) => [
    name,
    { slug, status, title, explanation },
  ])
  return Object.fromEntries(kinds)
}

export const httpErrors = defineErrors({
  attributeRequired: [
    'attribute-required',
    400,
    'A required attribute is missing.',
    'The request does not contain a required attribute. `name` is the name of the attribute.',
  ],
  invalidAttribute: [
    'invalid-attribute',
    400,
    'An attribute is invalid.',
    'An attribute has the wrong type or a value that is not allowed. `name` is the name of the attribute; `problems` lists every invalid attribute.',
  ],
  invalidPayload: [
    'invalid-payload',
    400,
    'The body is not a JSON object.',
    'The body is missing, is not valid JSON, or is not a JSON object.',
  ],
  invalidQueryParameter: [
    'request-invalid-query-parameter',
    400,
    'A query parameter is invalid.',
    'A query parameter has the wrong type or a value that is not allowed. `name` is the name of the parameter.',
  ],
  invalidUrl: [
    'invalid-url',
    400,
    'The URL of the request is malformed.',
    'The path contains a percent sign that is not followed by two hexadecimal digits, or a character that is not allowed in a URL.',
  ],
  notFound: [
    'resource-not-found',
    404,
    'The resource was not found.',
    'The environment of the request has no object with that id. `name` is the name of the parameter that contains the id. Production keys see only production objects, and sandbox keys see only sandbox objects.',
  ],
  unknownUrl: [
    'unrecognized-request-url',
    404,
    'The URL was not found.',
    'No route of the API has this path.',
  ],
  methodNotAllowed: [
    'method-not-allowed',
    405,
    'The method is not allowed.',
    'The path exists, but not with this method. The Allow header lists the allowed methods.',
  ],
  payloadTooLarge: [
    'payload-too-large',
    413,
    'The body is too large.',
    'A JSON body can have at most 1 MiB, a viewing report 64 KiB, and the body of any other request without an API key 16 KiB.',
  ],
  rangeNotSatisfiable: [
    'range-not-satisfiable',
    416,
    'The range is outside of the file.',
    'The Content-Range header contains the size of the file.',
  ],
  hostNotAllowed: [
    'host-not-allowed',
    421,
    'The dashboard and the metrics are not available at this host name. Set KINORA_PUBLIC_URL to the URL that you open, or add the name to KINORA_ALLOWED_HOSTS.',
    'A page on the internet could otherwise use them by pointing its own name to your address. They are available at the host of KINORA_PUBLIC_URL, at `localhost`, at IP addresses and at the names in KINORA_ALLOWED_HOSTS. The Host header decides, so a proxy has to pass it on, or its own name has to be in the list.',
  ],
  tooManyRequests: [
    'too-many-requests',
    429,
    'Too many requests.',
    'The API key or upload token has used all requests of this minute. The X-RateLimit-Retry-After header is the number of seconds to wait. IP addresses are limited as well: for uploads without a valid token, and for viewing reports, where the Retry-After header is the number of seconds to wait.',
  ],
  headersTooLarge: [
    'headers-too-large',
    431,
    'The request headers are too large.',
    'The headers of a request can have at most 16 KiB in total.',
  ],
  requestTimeout: [
    'request-timeout',
    408,
    'The request took too long to arrive.',
    'The server did not receive the complete request within the time limit.',
  ],
  badRequest: [
    'bad-request',
    400,
    'The request is malformed.',
    'The request is not valid HTTP, or one of its headers is invalid.',
  ],
  internalError: [
    'internal-error',
    500,
    'An internal error occurred.',
    'The server logged the cause with the id in the X-Request-Id header.',
  ],
  serviceUnavailable: [
    'service-unavailable',
    503,
    'The service is temporarily unavailable.',
    'The database or the file store cannot be reached, or too many lists are being read. `title` has the reason. Try again after the seconds in the Retry-After header.',
  ],
  insufficientStorage: [
    'insufficient-storage',
    507,
    'There is not enough free storage.',
    'The disk of the service is almost full, or the quota of its file store is used up. Playback and deletion still work. Delete videos permanently, or try again after the time in the Retry-After header.',
  ],
})

/** Errors of requests that upload a file as multipart/form-data. */
export const fileErrors = defineErrors({
  missing: [
    'uploaded-file-no-file',
    400,
    'The request contains no file.',
    'Send the file as one part of a multipart/form-data body.',
  ],
  multiple: [
    'uploaded-file-multiple-files',
    400,
    'The request contains more than one file.',
    'Send one file in each request.',
  ],
  empty: ['uploaded-file-empty', 400, 'The file is empty.', 'Only the last of several parts can be empty.'],
  invalid: [
    'uploaded-file-invalid-file',
    400,
    'The file is incomplete or invalid.',
    'The body ended before the end of the file, the body is not valid multipart/form-data, or the file could not be decoded.',
  ],
  tooLarge: [
    'uploaded-file-too-large',
    400,
    'The file is too large.',
    'The file has too many bytes, or the image has too many pixels. `title` contains the limit.',
  ],
  wrongType: [
    'uploaded-file-extension-invalid',
    400,
    'The type of the file is not supported.',
    'The type is detected from the content of the file. The name and the declared type are ignored.',
  ],
})

/** One invalid attribute or parameter of a request. */
export type FieldError = {
  kind: ErrorKind
  title: string
  name: string
  range?: { min?: number; max?: number }
}

type Extra = {
  title?: string | undefined
  name?: string | undefined
  detail?: string | undefined
  problems?: FieldError[] | undefined
  headers?: Record<string, string> | undefined
  cause?: unknown
}

/** The only error that becomes an error response; every other error becomes a 500. */
export class ApiError extends Error {
  readonly kind: ErrorKind
  readonly extra: Extra
  constructor(kind: ErrorKind, extra: Extra = {}) {
    super(extra.title ?? kind.title, { cause: extra.cause })
    this.kind = kind
    this.extra = extra
  }

  get slug(): string {
    return this.kind.slug
  }

  get status(): number {
    return this.kind.status
  }

  /** The body of the response. `typeBase` is the URL that slugs are appended to. */
  body(typeBase: string): Record<string, unknown> {
    const { kind, message: title } = this
    const { detail, problems } = this.extra
    // Clients read both from every 400, also from one that is about no attribute.
    const isBadRequest = this.status === 400
    const name = this.extra.name ?? (isBadRequest ? '' : undefined)
    const listed = problems ?? (isBadRequest ? [{ kind, title, name }] : undefined)
    const range = problems?.[0]?.range
    return {
      type: typeBase + this.slug,
      title,
      ...(detail !== undefined && { detail }),
      ...(name !== undefined && { name }),
      status: this.status,
      ...(range && { range }),
      ...(listed && {
        problems: listed.map(({ kind: { slug, status }, ...rest }) => ({
          type: typeBase + slug,
          ...rest,
          status,
        })),
      }),
    }
  }
}

/** Clients expect the first problem at the top level too. */
export function invalid(problems: [FieldError, ...FieldError[]]): ApiError {
  const [first] = problems
  return new ApiError(first.kind, { title: first.title, name: first.name, problems })
}

export const invalidAttribute = (name: string, title: string) =>
  invalid([{ kind: httpErrors.invalidAttribute, title, name }])

export const invalidPayload = (title?: string) => new ApiError(httpErrors.invalidPayload, { title })

export const notFound = (name: string, detail?: string) => new ApiError(httpErrors.notFound, { name, detail })

/** The header names only Bearer, because Basic makes browsers open a password dialog. */
export const unauthenticated = (kind: ErrorKind, detail?: string) =>
  new ApiError(kind, { detail, headers: { 'www-authenticate': 'Bearer realm="kinora"' } })
