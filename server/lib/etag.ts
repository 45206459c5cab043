import { hash } from 'node:crypto'

/** A strong ETag: it changes with the content. */
export const etagOf = (content: string | Buffer) => `"${hash('sha256', content, 'base64url').slice(0, 22)}"`

/**
 * Whether an If-None-Match header names the ETag, so that the response is a 304 (RFC 9110, 13.1.2). Weak comparison, as a
 * cache in between may have weakened the ETag. Not by `fresh`, which is always false for a request with
 * `Cache-Control: no-cache`.
 */
export const matchesEtag = (header: string | undefined, etag: string) =>
  header?.trim() === '*' ||
  header?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) === true
