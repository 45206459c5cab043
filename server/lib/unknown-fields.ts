import type { App } from './http.ts'
import { findSimilar } from './suggest.ts'
import { fieldName, type RawQuery } from './validation.ts'

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  patternProperties?: object
  additionalProperties?: unknown
  items?: Schema
}
type Unknown = { kind: 'field' | 'query parameter'; name: string; similar: string | undefined }

export const warningsHeader = 'kinora-warnings'

/** Bounds of the result, whatever a client sends. */
const maxNamed = 5
const maxNameLength = 60
/** Longer lists are invalid anyway. */
const maxItems = 100

/** An error would break published clients that send such fields. */
export function warnOfUnknownFields(app: App): void {
  // Before validation, which removes unknown parameters from the query.
  app.addHook('preValidation', ({ body, query, routeOptions }, reply, done) => {
    const warnings = describeUnknown(routeOptions.schema ?? {}, { body, query: query as RawQuery })
    if (warnings) reply.header(warningsHeader, warnings)
    done()
  })
}

/** Names what a request contains but its route does not have, in sentences of printable ASCII. */
export function describeUnknown(
  route: { body?: unknown; querystring?: unknown },
  request: { body: unknown; query: RawQuery },
): string | undefined {
  const found: Unknown[] = []
  collectParameters(found, (route.querystring ?? {}) as Schema, request.query)
  collectFields(found, (route.body ?? {}) as Schema, request.body, [])
  if (found.length === 0) return undefined
  const sentences = found.slice(0, maxNamed).map(describe)
  return [...sentences, ...(found.length > maxNamed ? ['More were ignored.'] : [])].join(' ')
}

function collectParameters(found: Unknown[], { properties = {} }: Schema, query: RawQuery): void {
  for (const name in query) {
    if (found.length > maxNamed) return
    // Warnings are logged, and a text without a value or a part of a URL may be a secret.
    const mayBeSecret = query[name]!.every((value) => value === '') || /[/\\?#&=%]/.test(name)
    if (mayBeSecret || isParameter(properties, name)) continue
    found.push({ kind: 'query parameter', name, similar: similarTo(name, properties) })
  }
}

/** Lists and maps are sent as `tags[]` and `metadata[key]`. */
function isParameter(properties: Record<string, Schema>, name: string): boolean {
  if (Object.hasOwn(properties, name)) return true
  const outer = name.endsWith(']') ? name.slice(0, name.indexOf('[')) : ''
  return Object.hasOwn(properties, outer) && /array|object/.test(String(properties[outer]!.type))
}

function collectFields(found: Unknown[], schema: Schema, value: unknown, path: string[]): void {
  if (typeof value !== 'object' || value === null) return
  const { properties, items } = schema
  if (items?.properties && Array.isArray(value)) {
    for (const [i, item] of value.slice(0, maxItems).entries())
      collectFields(found, items, item, [...path, String(i)])
  }
  const takesAny = schema.patternProperties !== undefined || schema.additionalProperties !== undefined
  if (!properties || takesAny || Array.isArray(value)) return
  for (const name in value) {
    if (found.length > maxNamed) return
    const known = Object.hasOwn(properties, name) ? properties[name]! : undefined
    if (known?.properties || known?.items)
      collectFields(found, known, (value as Record<string, unknown>)[name], [...path, name])
    if (known) continue
    const similar = similarTo(name, properties)
    found.push({
      kind: 'field',
      name: fieldName([...path, name]),
      similar: similar && fieldName([...path, similar]),
    })
  }
}

const similarTo = (name: string, properties: object) =>
  name.length > maxNameLength ? undefined : findSimilar(name, Object.keys(properties))

function describe({ kind, name, similar }: Unknown): string {
  const question = similar ? ` Did you mean ${quote(similar)}?` : ''
  return `Unknown ${kind} ${quote(name)} was ignored.${question}`
}

/** A string of JSON. Names come from outside, so nothing but printable ASCII may reach a header. */
function quote(name: string): string {
  const shown = name.length > maxNameLength ? `${name.slice(0, maxNameLength)}...` : name
  return JSON.stringify(shown).replaceAll(/[^\x20-\x7e]/g, escapeCharacter)
}

/** Of each half of a surrogate pair, as in JSON. */
const escapeCharacter = (half: string) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`
