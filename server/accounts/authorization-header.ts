import type { ErrorKind } from '../lib/errors.ts'
import { accountsErrors } from './errors.ts'

export type Scheme = 'basic' | 'bearer'

type Reading = { scheme: Scheme; secret: string } | { kind: ErrorKind; fault: string }

/**
 * Reads `Basic base64(key:)`, `Bearer token` or `Bearer key`. The case of the scheme does not matter. A fault never
 * repeats the header, which may contain a key.
 */
export function readAuthorization(header: string | undefined): Reading {
  const value = header?.trim()
  // Some clients send an empty header when they have no key.
  if (!value) {
    const fault = 'The request has no API key. Send it as "Authorization: Bearer <key>".'
    return { kind: accountsErrors.missingHeader, fault }
  }
  const [, word = '', rest = ''] = /^(\S+)\s+(\S+)$/.exec(value) ?? []
  const scheme = word.toLowerCase()
  if (scheme === 'bearer') return { scheme, secret: rest }
  if (scheme === 'basic') {
    const [user] = Buffer.from(rest, 'base64').toString().split(':')
    if (user) return { scheme, secret: user }
  }
  return { kind: accountsErrors.invalidHeader, fault: describeFault(value) }
}

function describeFault(value: string): string {
  const [first = '', ...others] = value.split(/\s+/)
  const scheme = first.toLowerCase()
  const isKnown = scheme === 'bearer' || scheme === 'basic'
  if (!isKnown) return 'The header must begin with "Bearer" or "Basic", a space, and then the API key.'
  if (others.length === 0) return `The API key after "${scheme === 'basic' ? 'Basic' : 'Bearer'}" is missing.`
  if (others.length > 1) return 'The header must not contain a space after the first one.'
  return 'After "Basic", the header must be the base64 form of the API key and a colon.'
}
