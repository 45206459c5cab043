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
    'The API key or refresh token is unknown, revoked, expired, or of production and sent to /sandbox.',
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
    'The token is unknown, expired, made from a revoked key, or of production and sent to /sandbox.',
  ],
  'authentication-invalid-api-key': [
    401,
    'The API key is not valid.',
    'The key is unknown, revoked, or of production and sent to /sandbox.',
  ],
  'uploaded-file-no-file': [
    400,
    'There is no file in the request.',
    'Send the file as one part of a multipart/form-data body.',
  ],
  'uploaded-file-multiple-files': [
    400,
    'There is more than one file in the request.',
    'Send one file in each request.',
  ],
  'uploaded-file-empty': [400, 'The file is empty.', 'Only the last of several parts may be empty.'],
  'uploaded-file-invalid-file': [
    400,
    'The file did not arrive whole.',
    'The body ended before the file did, is not valid multipart/form-data, or the file cannot be read as what it has to be.',
  ],
  'uploaded-file-too-large': [
    400,
    'The file is too large.',
    'The file has more bytes, or the picture more pixels, than are taken here. `title` says how much is.',
  ],
  'uploaded-file-extension-invalid': [
    400,
    'The file is not of a kind that is taken here.',
    'What a file is, its content tells; its name and declared type do not matter.',
  ],
  'video-source-already-uploaded': [
    400,
    'The video has its content already.',
    'A file was uploaded into this video. Create another video for another file.',
  ],
  'video-source-already-downloaded': [
    400,
    'The video has its content already.',
    'The content of this video was fetched from an address.',
  ],
  'video-source-already-copied': [
    400,
    'The video has its content already.',
    'The content of this video was copied from another one.',
  ],
  'video-content-range-malformed': [
    400,
    'The Content-Range header is malformed.',
    'It must be `bytes <first>-<last>/<total or *>` or `part <number>/<total or *>`.',
  ],
  'video-content-range-already-initiated': [
    400,
    'The upload has begun in another form.',
    'An upload in pieces goes on in pieces, and a whole one whole.',
  ],
  'video-content-range-started-with-bytes': [
    400,
    'The upload has begun by bytes.',
    'Go on with `bytes` in the Content-Range header.',
  ],
  'video-content-range-started-with-part': [
    400,
    'The upload has begun by parts.',
    'Go on with `part` in the Content-Range header.',
  ],
  'video-content-range-by-bytes-from-byte-too-high': [
    400,
    'The first byte lies after the last.',
    'In `bytes a-b/total`, a must not exceed b.',
  ],
  'video-content-range-by-bytes-range-mismatch': [
    400,
    'The file has not the size of its range.',
    'The file of the request must have exactly the bytes that Content-Range names.',
  ],
  'video-content-range-by-bytes-range-overlap': [
    400,
    'The range overlaps with another.',
    'A range may be sent again as it was, but not overlap with one that has arrived.',
  ],
  'video-content-range-by-bytes-range-too-small': [
    400,
    'The range is too small.',
    'A range must have at least 5 MiB, except the last one.',
  ],
  'video-content-range-by-bytes-to-byte-too-high-total': [
    400,
    'The range passes the total.',
    'The last byte of a range lies below the total.',
  ],
  'video-content-range-by-bytes-total-bytes-too-low': [
    400,
    'The total is too low.',
    'More bytes have arrived than the total says.',
  ],
  'video-content-range-by-bytes-total-bytes-zero': [
    400,
    'The total is 0.',
    'A source has at least one byte.',
  ],
  'video-content-range-by-bytes-different-total-bytes': [
    400,
    'The total has changed.',
    'Every request that states a total must state the same.',
  ],
  'video-content-range-by-part-part-already-sent': [
    400,
    'The part has arrived with other content.',
    'A part may be sent again as it was, but not with other content.',
  ],
  'video-content-range-by-part-part-too-high-allowed': [
    400,
    "The part's number is too high.",
    'There can be 10,000 parts.',
  ],
  'video-content-range-by-part-part-too-high-total': [
    400,
    'The part passes the total.',
    'The number of a part must not exceed the total.',
  ],
  'video-content-range-by-part-part-zero': [400, "The part's number is 0.", 'Parts are counted from 1.'],
  'video-content-range-by-part-total-parts-too-high': [
    400,
    'There are too many parts.',
    'There can be 10,000 parts.',
  ],
  'video-content-range-by-part-total-parts-too-low': [
    400,
    'The total is too low.',
    'A part with a higher number has arrived.',
  ],
  'video-content-range-by-part-total-parts-zero': [400, 'The total is 0.', 'A source has at least one part.'],
  'video-content-range-by-part-different-total-parts': [
    400,
    'The total has changed.',
    'Every request that states a total must state the same.',
  ],
  'video-content-range-by-part-uploaded-file-too-small': [
    400,
    'The part is too small.',
    'A part must have at least 5 MiB, except the last one.',
  ],
  'authentication-missing-upload-token': [
    401,
    'The upload token is missing.',
    'Give it as the query parameter `token`.',
  ],
  'authentication-invalid-upload-token': [
    401,
    'The upload token is not valid.',
    'The token is unknown, expired or deleted, or the video that it was bound to is.',
  ],
  'upload-in-progress': [
    409,
    'This piece is being uploaded by another request.',
    'Wait for that request to end, or try again in some seconds.',
  ],
  'upload-offset-conflict': [
    409,
    'The offset is not where the upload stands.',
    'Of tus uploads. `HEAD` on the address of the upload tells how many bytes have arrived: go on from there.',
  ],
  'upload-checksum-mismatch': [
    460,
    'The body does not have the checksum that it was sent with.',
    'Of tus uploads. Nothing of this request counts: send it again.',
  ],
  'upload-too-large': [
    413,
    'There are more bytes than the length of the upload.',
    'Of tus uploads. The body must not reach beyond `Upload-Length`, which can be 2^53 - 1 at most.',
  ],
  'invalid-tus-request': [
    400,
    'The request is not valid in the tus protocol.',
    'A header is missing or malformed, or the upload is complete. `title` says which, `name` is the header.',
  ],
  'tus-version-not-supported': [
    412,
    'Tus-Resumable must be 1.0.0.',
    'Requests of the tus protocol say their version. The Tus-Version header lists those that are supported.',
  ],
  'tus-extension-not-supported': [
    501,
    'This extension of the tus protocol is not supported.',
    '`OPTIONS /tus` lists those that are. Turn parallel uploads off in the client.',
  ],
  'unsupported-media-type': [
    415,
    'Content-Type must be application/offset+octet-stream.',
    'This is how the tus protocol marks the bytes of a file.',
  ],
  'nothing-to-retry': [
    409,
    'Nothing of this video has failed.',
    'The status of the video tells what is still under way.',
  ],
  'webhook-limit-reached': [
    400,
    'There are as many webhooks as there can be.',
    'Delete one that is no longer needed. The limit of an environment is the setting `KINORA_WEBHOOK_LIMIT`.',
  ],
  'resource-not-found': [
    404,
    'There is no such object.',
    'No object of this environment has that id. `name` says which id.',
  ],
  'private-video': [
    403,
    'This video is private.',
    'It plays only from addresses that carry a token, as the API gives them out.',
  ],
  'private-video-embed': [
    401,
    'This video is private.',
    'A private video has no oEmbed: it plays only from addresses that carry a token, as the API gives them out.',
  ],
  'unrecognized-request-url': [404, 'There is no such address.', 'No route of the API has this path.'],
  'method-not-allowed': [
    405,
    'The method is not allowed here.',
    'The path exists, but not with this method. The Allow header lists those that do.',
  ],
  'payload-too-large': [
    413,
    'The body is too large.',
    'JSON bodies may have at most 1 MiB, reports of viewing 64 KiB, and bodies on routes that need no key 16 KiB.',
  ],
  'range-not-satisfiable': [
    416,
    'The range lies outside of the file.',
    'The Content-Range header says how long the file is.',
  ],
  'too-many-requests': [
    429,
    'Too many requests.',
    'This API key or upload token has used up its requests of this minute, and the X-RateLimit-Retry-After header says in how many seconds to go on. The same goes for an address that sends uploads without a valid token. An address that sends reports of viewing too fast is told by the Retry-After header.',
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
  'format-not-implemented': [
    501,
    'There is no answer in this format.',
    'oEmbed is answered as JSON only: leave `format` out, or give `json`.',
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
  detail?: string | undefined
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
    const { name, detail, problems } = this.extra
    const body: Record<string, unknown> = { type: link(this.slug), title: this.message }
    if (detail !== undefined) body.detail = detail
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
