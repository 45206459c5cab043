import { ApiError, type ErrorSlug, notFound } from '../lib/errors.ts'
import { uploadInProgress } from './tus-lock.ts'

const slugs: Record<number, ErrorSlug> = {
  400: 'invalid-tus-request',
  403: 'invalid-tus-request',
  409: 'upload-offset-conflict',
  413: 'upload-too-large',
  415: 'unsupported-media-type',
  501: 'tus-extension-not-supported',
}

/** The error that corresponds to an error response of @tus/server, which has a status and a line of text. */
export function toApiError(status: number, text: string): ApiError {
  // Another request of the client has continued the upload.
  if (/^Request aborted/.test(text)) return uploadInProgress()
  if (status === 404 || status === 410) return notFound('upload')
  const slug = slugs[status]
  if (slug === undefined)
    return new ApiError('internal-error', { cause: new Error(`tus: ${status} ${text}`) })
  const [title = ''] = text.trim().split('. ', 1)
  // Most texts contain the name of the header that they are about.
  const [name] = /\b(?:upload|tus|content)-[a-z-]+/i.exec(title) ?? []
  return new ApiError(slug, {
    name: name?.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
    ...(slug === 'invalid-tus-request' && { title: `${title.replace(/\.$/, '')}.` }),
  })
}
