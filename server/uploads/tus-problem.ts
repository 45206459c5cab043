import { ApiError, type ErrorSlug, notFound } from '../lib/errors.ts'
import { inProgress } from './tus-lock.ts'

/** What the statuses of the protocol mean, in our words. */
const slugs: Record<number, ErrorSlug> = {
  400: 'invalid-tus-request',
  403: 'invalid-tus-request',
  409: 'upload-offset-conflict',
  413: 'upload-too-large',
  415: 'unsupported-media-type',
  501: 'tus-extension-not-supported',
}

/** The problem that stands for a refusal by @tus/server, which tells a status and a line of text. */
export function problemOf(status: number, text: string): ApiError {
  // Another request of the client went on with the upload.
  if (/^Request aborted/.test(text)) return inProgress()
  if (status === 404 || status === 410) return notFound('upload')
  const slug = slugs[status]
  if (slug === undefined)
    return new ApiError('internal-error', { cause: new Error(`tus: ${status} ${text}`) })
  const [title = ''] = text.trim().split('. ', 1)
  // Most texts begin with the header that they are about.
  const [name] = /\b(?:upload|tus|content)-[a-z-]+/i.exec(title) ?? []
  return new ApiError(slug, {
    name: name?.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
    ...(slug === 'invalid-tus-request' && { title: `${title.replace(/\.$/, '')}.` }),
  })
}
