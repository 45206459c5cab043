import type { FastifyRequest } from 'fastify'
import { type ApiError, httpErrors } from '../lib/errors.ts'

const maxIdLength = 60

/**
 * Says what was not found and where it was looked for. It depends on the request alone, so that it does not tell whether
 * the other environment has the object.
 */
export function notFoundDetail(error: ApiError, request: FastifyRequest): string | undefined {
  const { name = '' } = error.extra
  const { params, body, sessionScope, routeOptions } = request
  // Not set on routes without a key.
  const scope = request.scope as FastifyRequest['scope'] | undefined
  if (error.kind !== httpErrors.notFound || !scope || !/(Id|Token)$/.test(name)) return undefined
  const { environment } = scope
  const id = valueIn(params, name) ?? valueIn(body, name)
  const noun = name.replace(/Id$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const isShown = id !== undefined && !routeOptions.config.secrets?.includes(name)
  const object = !isShown ? `such ${noun}` : `${noun} ${quote(id)}`
  const found = `There is no ${object} in ${environment}.`
  // In the dashboard, a session replaces the key.
  if (sessionScope) return found
  return `${found} ${capitalize(environment)} keys see only ${environment} objects.`
}

function valueIn(input: unknown, name: string): string | undefined {
  const value = (input as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' ? value : undefined
}

/** Control characters are escaped. */
const quote = (id: string) => JSON.stringify(id.length > maxIdLength ? `${id.slice(0, maxIdLength)}…` : id)

const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
