import { ApiError, type ErrorKind, httpErrors, notFound } from '../lib/errors.ts'
import { tusErrors } from './errors.ts'
import { inProgress } from './tus-lock.ts'

/** What the statuses of the protocol mean, in our words. */
const kinds: Record<number, ErrorKind> = {
  400: tusErrors.invalidRequest,
  403: tusErrors.invalidRequest,
  409: tusErrors.offsetConflict,
  413: tusErrors.tooLarge,
  415: tusErrors.unsupportedMediaType,
  501: tusErrors.unsupportedExtension,
}

/** The problem that stands for a refusal by @tus/server, which tells a status and a line of text. */
export function problemOf(status: number, text: string): ApiError {
  // Another request of the client went on with the upload.
  if (/^Request aborted/.test(text)) return inProgress()
  if (status === 404 || status === 410) return notFound('upload')
  const kind = kinds[status]
  if (kind === undefined)
    return new ApiError(httpErrors.internalError, { cause: new Error(`tus: ${status} ${text}`) })
  const [title = ''] = text.trim().split('. ', 1)
  // Most texts begin with the header that they are about.
  const [name] = /\b(?:upload|tus|content)-[a-z-]+/i.exec(title) ?? []
  return new ApiError(kind, {
    name: name?.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
    ...(kind === tusErrors.invalidRequest && { title: `${title.replace(/\.$/, '')}.` }),
  })
}
