import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type FieldError, httpErrors, invalid, invalidPayload } from './errors.ts'

/**
 * Text that both Postgres and JSON can store. Postgres rejects NUL, and an unpaired surrogate would become a
 * replacement character.
 */
const isText = (value: string) => !value.includes('\0') && value.isWellFormed()

/** The pattern of text that must not consist of spaces only. */
export const notBlank = '\\S'

const options = {
  strict: false,
  useDefaults: false,
  // "5" is not a number, and 5 is not a title.
  coerceTypes: false,
  // The schemas are ours. Compiling the schema of schemas would delay the first request.
  validateSchema: false,
  meta: false,
  formats: { text: isText, 'date-time': true, uri: true },
} as const

// Most input is valid: `firstError` checks it fast, and `allErrors` runs only for invalid input.
const firstError = new Ajv(options)
const allErrors = new Ajv({ ...options, allErrors: true, verbose: true })

/**
 * Collecting all errors costs many times more than finding the first, and the response can be larger than the request.
 * Input above these sizes gets only its first error, and other input at most `maxErrors`.
 */
const maxValues = 1_000
const maxTextLength = 64 * 1024
const maxErrors = 100

type Schema = { type?: string; properties?: Record<string, Schema>; anyOf?: Schema[] }
type Result = { value: unknown } | { error: Error }

/** Fastify's validator compiler. The values of a query string are converted to the types of their schema first. */
export function compileValidator(route: { schema: unknown; httpPart?: string }): (data: unknown) => Result {
  const schema = route.schema as Schema
  const isQuery = route.httpPart === 'querystring'
  // Compiled at first use: most processes use only some of the hundred routes, and compiling all would delay the start.
  let check: ValidateFunction | undefined
  let checkAll: ValidateFunction | undefined

  return (data) => {
    check ??= firstError.compile(schema)
    const value = isQuery ? typedQuery(schema, data as RawQuery) : data
    if (check(value)) return { value }
    if (!isQuery && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      return { error: invalidPayload() }
    }
    let errors = check.errors ?? []
    if (isSmall(value)) {
      checkAll ??= allErrors.compile(schema)
      checkAll(value)
      errors = checkAll.errors?.slice(0, maxErrors) ?? errors
    }
    return { error: invalid(toFieldErrors(errors, isQuery)) }
  }
}

/** Counts values and text at any depth. Not recursive, because deeply nested input would overflow the stack. */
function isSmall(input: unknown): boolean {
  let values = 0
  let textLength = 0
  const left = [input]
  while (left.length > 0) {
    if (textLength > maxTextLength) return false
    const value = left.pop()
    if (typeof value === 'string') textLength += value.length
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value) && value.length > maxValues) return false
    for (const key in value) {
      if (++values > maxValues) return false
      textLength += key.length
      left.push((value as Record<string, unknown>)[key])
    }
  }
  return textLength <= maxTextLength
}

/** The values of each parameter. The name is as it was sent, including brackets. */
export type RawQuery = Record<string, string[]>

export function parseQuery(search: string): RawQuery {
  const raw: RawQuery = Object.create(null)
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const [name = '', ...value] = pair.split('=')
    const key = decode(name)
    raw[key] ??= []
    raw[key].push(decode(value.join('=')))
  }
  return raw
}

/** Malformed percent-encoding becomes text that fails validation, so that the response names the parameter. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return `${part}\ud800`
  }
}

/**
 * Clients send lists as `tags[]`, `tags`, `tags[0]` or `tags[][0]`, and maps as `metadata[key]`. A value of the wrong
 * type stays unchanged, so that validation reports it.
 */
function typedQuery(schema: Schema, raw: RawQuery): Record<string, unknown> {
  const typed: Record<string, unknown> = {}
  for (const [name, { type, properties }] of Object.entries(schema.properties ?? {})) {
    const inBrackets = Object.keys(raw).filter((key) => key.startsWith(`${name}[`) && key.endsWith(']'))
    if (type === 'array') {
      const values = [name, ...inBrackets].flatMap((key) => raw[key] ?? []).filter((value) => value !== '')
      if (values.length > 0) typed[name] = values
    } else if (type === 'object' && properties) {
      if (raw[name]) typed[name] = one(raw[name])
      else if (inBrackets.length > 0) typed[name] = typedMap(name, properties, raw, inBrackets)
    } else if (type === 'object') {
      const map: Record<string, unknown> = Object.create(null)
      for (const key of inBrackets) map[key.slice(name.length + 1, -1)] = one(raw[key])
      if (raw[name]) typed[name] = one(raw[name])
      else if (inBrackets.length > 0) typed[name] = map
    } else {
      const value = one(raw[name])
      if (value === undefined) continue
      if (type === 'boolean' && (value === 'true' || value === 'false')) typed[name] = value === 'true'
      else
        typed[name] =
          type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)
            ? Number(value)
            : value
    }
  }
  return typed
}

/** A map with known keys, each with a text or a list: `filterBy[tag]`, `filterBy[browser][]`, `filterBy[browser][0]`. */
function typedMap(name: string, properties: Record<string, Schema>, raw: RawQuery, inBrackets: string[]) {
  const map: Record<string, unknown> = Object.create(null)
  for (const key of inBrackets) {
    const [property = ''] = key.slice(name.length + 1).split(']', 1)
    map[property] = [map[property] ?? [], raw[key] ?? []].flat()
  }
  for (const [property, values] of Object.entries(map)) {
    if (properties[property]?.type !== 'array') map[property] = one(values as string[])
  }
  return map
}

const one = (values: string[] | undefined) => (values?.length === 1 ? values[0] : values)

function toFieldErrors(errors: ErrorObject[], isQuery: boolean): [FieldError, ...FieldError[]] {
  const problems = new Map<string, FieldError>()
  for (const error of errors) {
    const problem = toFieldError(error, isQuery)
    if (!problems.has(problem.name)) problems.set(problem.name, problem)
  }
  const [first, ...rest] = problems.values()
  if (!first) throw new Error('validation failed without an error')
  return [first, ...rest]
}

function toFieldError(error: ErrorObject, isQuery: boolean): FieldError {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.keyword === 'required') {
    const name = fieldName([...path, error.params.missingProperty])
    return { kind: httpErrors.attributeRequired, title: `The attribute "${name}" is required.`, name }
  }
  if (error.keyword === 'additionalProperties') path.push(error.params.additionalProperty)
  const name = fieldName(path)
  const kind = isQuery ? httpErrors.invalidQueryParameter : httpErrors.invalidAttribute
  const problem: FieldError = { kind, title: `"${name}" ${describeError(error)}.`, name }
  const range = error.parentSchema as { minimum?: number; maximum?: number } | undefined
  if (error.keyword === 'minimum' || error.keyword === 'maximum') {
    const limit = Number(error.params.limit)
    problem.range = error.keyword === 'minimum' ? { min: limit } : { max: limit }
    if (range?.minimum !== undefined) problem.range.min = range.minimum
    if (range?.maximum !== undefined) problem.range.max = range.maximum
  }
  return problem
}

/** `metadata[0][value]`, the form that existing clients expect. */
export function fieldName([first = '', ...rest]: string[]): string {
  return (first + rest.map((part) => `[${part}]`).join('')).slice(0, 200)
}

function describeError({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(typeName).join(' or ')}`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minLength':
    case 'minItems':
      return 'must not be empty'
    case 'maxItems':
      return `must have at most ${params.limit} items`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'additionalProperties':
      return 'is unknown'
    case 'enum':
      return `must be one of ${params.allowedValues.map(String).join(', ')}`
    case 'const':
      return `must be ${params.allowedValue}`
    case 'pattern':
      return params.pattern === notBlank ? 'must not be blank' : (message ?? 'is not valid')
    case 'format':
      return params.format === 'text'
        ? 'must be valid Unicode text without NUL characters'
        : `must be a valid ${params.format}`
    default:
      return message ?? 'is not valid'
  }
}

const typeNames: Record<string, string> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  array: 'a list',
  object: 'an object',
  null: 'null',
}
const typeName = (type: string) => typeNames[type] ?? type
