import { type ErrorKind, httpErrors } from '../lib/errors.ts'
import { tusErrors } from './errors.ts'

// What the API's description says of the tus routes. It is not checked by schemas: @tus/server reads the headers.

const text = (description: string) => ({ type: 'string', description })
const count = (description: string) => ({ type: 'integer', minimum: 0, description })

const version = { type: 'string', enum: ['1.0.0'], description: 'The version of the protocol.' }
const checksum = text('`sha1`, `sha256`, `sha512` or `md5`, a space and the digest of the body in Base64.')
const expires = text('When the upload is removed unless more of it arrives.')
const videoId = text('Id of the video.')
const bytes = { type: 'string', format: 'binary', description: 'The next bytes of the file.' }
const params = {
  type: 'object',
  required: ['uploadId'],
  properties: { uploadId: text('The last segment of the address that the creation has answered.') },
}

type Described = {
  operationId: string
  summary: string
  description: string
  requestHeaders: Record<string, object>
  requiredHeaders?: string[]
  status: number
  responseHeaders: Record<string, object>
  errors: ErrorKind[]
}

function describe(described: Described, more: object) {
  const { operationId, summary, description, status, errors } = described
  const headers = { 'Tus-Resumable': version, ...described.responseHeaders }
  return {
    operationId,
    tags: ['tus'],
    summary,
    description,
    headers: {
      type: 'object',
      required: ['Tus-Resumable', ...(described.requiredHeaders ?? [])],
      properties: { 'Tus-Resumable': version, ...described.requestHeaders },
    },
    response: { [status]: { type: 'null', description: summary, headers } },
    'x-errors': [tusErrors.unsupportedVersion, ...errors, httpErrors.tooManyRequests],
    ...more,
  }
}

export const creation = describe(
  {
    operationId: 'POST_tus',
    summary: 'Create a tus upload',
    description:
      'Makes a video and an upload that fills it, by version 1.0.0 of the tus protocol (https://tus.io/protocols/resumable-upload). Whoever has the address in `Location` may go on with the upload. The body may hold the first bytes of the file.',
    requestHeaders: {
      'Upload-Length': count('Bytes of the whole file. Without it, `Upload-Defer-Length` is required.'),
      'Upload-Defer-Length': { type: 'string', enum: ['1'], description: 'The length follows later.' },
      'Upload-Metadata': text(
        'Pairs of a key and a value in Base64, separated by commas. `filename` or `title` names the video; `videoId` is a video to fill instead of a new one.',
      ),
      'Upload-Checksum': checksum,
    },
    status: 201,
    responseHeaders: {
      Location: text('The address of the upload.'),
      'X-Video-Id': videoId,
      'Upload-Offset': count('How many bytes have arrived, if any came along.'),
      'Upload-Expires': expires,
    },
    errors: [
      tusErrors.invalidRequest,
      httpErrors.notFound,
      tusErrors.tooLarge,
      tusErrors.checksumMismatch,
      tusErrors.unsupportedExtension,
    ],
  },
  { security: [{ apiKey: [] }, { bearerAuth: [] }, { uploadToken: [] }] },
)

const ofUpload = { params, security: [] }

export const offset = describe(
  {
    operationId: 'HEAD_tus-uploadId',
    summary: 'Show how much of a tus upload has arrived',
    description: 'The address is all the authentication that is needed.',
    requestHeaders: {},
    status: 200,
    responseHeaders: {
      'Upload-Offset': count('How many bytes have arrived.'),
      'Upload-Length': count('Bytes of the whole file, once they are known.'),
      'Upload-Defer-Length': text('`1` until then.'),
      'Upload-Metadata': text('As it was sent, and `videoId`.'),
      'X-Video-Id': videoId,
    },
    errors: [],
  },
  ofUpload,
)

export const patch = describe(
  {
    operationId: 'PATCH_tus-uploadId',
    summary: 'Send bytes of a tus upload',
    description:
      'Bytes count as far as they have arrived, also where the connection drops. A request that is still under way is ended by the next one.',
    requestHeaders: {
      'Upload-Offset': count('Where the bytes begin: how many have arrived.'),
      'Upload-Length': count('Of the whole file, where it was deferred.'),
      'Upload-Checksum': checksum,
    },
    requiredHeaders: ['Upload-Offset'],
    status: 204,
    responseHeaders: {
      'Upload-Offset': count('How many bytes have arrived.'),
      'Upload-Expires': expires,
      'X-Video-Id': videoId,
    },
    errors: [
      tusErrors.invalidRequest,
      tusErrors.offsetConflict,
      tusErrors.tooLarge,
      tusErrors.unsupportedMediaType,
      tusErrors.checksumMismatch,
    ],
  },
  { ...ofUpload, consumes: ['application/offset+octet-stream'], body: bytes },
)

export const termination = describe(
  {
    operationId: 'DELETE_tus-uploadId',
    summary: 'Give up a tus upload',
    description: 'Its video is deleted, unless it was there before the upload.',
    requestHeaders: {},
    status: 204,
    responseHeaders: {},
    errors: [tusErrors.invalidRequest],
  },
  ofUpload,
)
