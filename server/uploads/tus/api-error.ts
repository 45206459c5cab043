import { ApiError, type ErrorKind, httpErrors, notFound } from '../../lib/errors.ts'
import { tusErrors } from '../errors.ts'
import { tusUploadInProgress } from './lock.ts'

const kinds: Record<number, ErrorKind> = {
  400: tusErrors.invalidRequest,
  403: tusErrors.invalidRequest,
  409: tusErrors.offsetConflict,
  413: tusErrors.tooLarge,
  415: tusErrors.unsupportedMediaType,
  501: tusErrors.unsupportedExtension,
}

/** The error that corresponds to an error response of @tus/server, which has a status and a line of text. */
export function toApiError(status: number, text: string): ApiError {
  // Another request of the client has continued the upload.
  if (/^Request aborted/.test(text)) return tusUploadInProgress()
  if (status === 404 || status === 410) return notFound('upload')
  const kind = kinds[status]
  if (kind === undefined)
    return new ApiError(httpErrors.internalError, { cause: new Error(`tus: ${status} ${text}`) })
  const [title = ''] = text.trim().split('. ', 1)
  // Most texts contain the name of the header that they are about.
  const [name] = /\b(?:upload|tus|content)-[a-z-]+/i.exec(title) ?? []
  return new ApiError(kind, {
    name: name?.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
    ...(kind === tusErrors.invalidRequest && { title: `${title.replace(/\.$/, '')}.` }),
  })
}
