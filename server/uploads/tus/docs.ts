import { type ErrorKind, httpErrors } from '../../lib/errors.ts'
import { exampleId } from '../../lib/fields.ts'
import { tusErrors } from '../errors.ts'

// The OpenAPI description of the tus routes. Requests are not validated by it: @tus/server checks the headers.

const text = (description: string, example: string) => ({ type: 'string', description, examples: [example] })
const count = (description: string, example = 20_971_520) => ({
  type: 'integer',
  minimum: 0,
  description,
  examples: [example],
})

const version = {
  type: 'string',
  enum: ['1.0.0'],
  description: 'The version of the protocol.',
  examples: ['1.0.0'],
}
const checksum = text(
  '`sha1`, `sha256`, `sha512` or `md5`, a space and the digest of the body in Base64.',
  'sha1 Lve95gjOVATpfV8EL5X4nxwjKHE=',
)
const expires = text('When the upload is removed if no more bytes arrive.', 'Mon, 23 Nov 2026 09:30:00 GMT')
const videoId = text('Id of the video.', exampleId('vi'))
const uploadId = `${exampleId('vi')}-${exampleId('')}`
const metadataExample = 'filename dmlkZW8ubXA0'
const bytes = {
  type: 'string',
  format: 'binary',
  description: 'The next bytes of the file.',
  examples: ['video.mp4'],
}
const params = {
  type: 'object',
  required: ['uploadId'],
  properties: {
    uploadId: text('The last segment of the URL in the `Location` header of the creation.', uploadId),
  },
}

type Operation = {
  operationId: string
  summary: string
  description: string
  requestHeaders: Record<string, object>
  requiredHeaders?: string[]
  status: number
  responseHeaders: Record<string, object>
  errors: ErrorKind[]
}

function describe(operation: Operation, more: object) {
  const { operationId, summary, description, status, errors } = operation
  const headers = { 'Tus-Resumable': version, ...operation.responseHeaders }
  return {
    operationId,
    tags: ['tus'],
    summary,
    description,
    headers: {
      type: 'object',
      required: ['Tus-Resumable', ...(operation.requiredHeaders ?? [])],
      properties: { 'Tus-Resumable': version, ...operation.requestHeaders },
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
      'Creates a video and an upload that fills it, with version 1.0.0 of the tus protocol (https://tus.io/protocols/resumable-upload). The URL in `Location` is enough to continue the upload. The body can contain the first bytes of the file.',
    requestHeaders: {
      'Upload-Length': count('Size of the file in bytes. Without it, `Upload-Defer-Length` is required.'),
      'Upload-Defer-Length': {
        type: 'string',
        enum: ['1'],
        description: 'The size is declared later.',
        examples: ['1'],
      },
      'Upload-Metadata': text(
        'Pairs of a key and a Base64 value, separated by commas. `title` is the title of the video, by default `filename` without its extension. `watermark` is the watermark of the video, as JSON. `videoId` is an existing video to fill instead of a new one.',
        metadataExample,
      ),
      'Upload-Checksum': checksum,
    },
    status: 201,
    responseHeaders: {
      Location: text('The URL of the upload.', `https://video.example.com/tus/${uploadId}`),
      'X-Video-Id': videoId,
      'Upload-Offset': count('How many bytes have arrived, if the request had a body.', 0),
      'Upload-Expires': expires,
    },
    errors: [
      tusErrors.invalidRequest,
      httpErrors.requestTimeout,
      httpErrors.notFound,
      tusErrors.tooLarge,
      tusErrors.checksumMismatch,
      tusErrors.unsupportedExtension,
    ],
  },
  {
    security: [{ apiKey: [] }, { bearerAuth: [] }, { uploadToken: [] }],
    'x-sample-parameters': ['Upload-Length'],
  },
)

const ofUpload = { params, security: [] }

export const offset = describe(
  {
    operationId: 'HEAD_tus-uploadId',
    summary: 'Show how much of a tus upload has arrived',
    description: 'The URL is the only authentication.',
    requestHeaders: {},
    status: 200,
    responseHeaders: {
      'Upload-Offset': count('How many bytes have arrived.'),
      'Upload-Length': count('Size of the file in bytes, once it is known.'),
      'Upload-Defer-Length': text('`1` while the size is unknown.', '1'),
      'Upload-Metadata': text('The metadata of the creation, and `videoId`.', metadataExample),
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
      'All bytes that have arrived count, even if the connection drops. A new request ends a request that is still active.',
    requestHeaders: {
      'Upload-Offset': count('The position of the first byte: how many bytes have arrived.', 0),
      'Upload-Length': count('Size of the file in bytes, if it was deferred.'),
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
      httpErrors.requestTimeout,
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
    summary: 'Cancel a tus upload',
    description: 'Deletes its video as well, unless it existed before the upload.',
    requestHeaders: {},
    status: 204,
    responseHeaders: {},
    errors: [tusErrors.invalidRequest],
  },
  ofUpload,
)
