import { oneOf, text } from './http.ts'
import { Type } from './schema.ts'

// Fields of several slices, with their description and an example.

const exampleKey = '4blUQJFrYWbaG44NChkH27'

/** An id for examples. */
export const exampleId = (prefix: string) => prefix + exampleKey

/** A secret for examples. */
export const exampleSecret = exampleKey + exampleKey.slice(1)

export const idField = (prefix: string, description: string) =>
  Type.String({ description, examples: [exampleId(prefix)] })

const exampleTime = '2026-11-16T09:30:00+00:00'

export const timeField = (description: string, example = exampleTime) =>
  Type.String({ format: 'date-time', description, examples: [example] })

/** A time in a request, to be read by `readTime`. */
export const timeInput = (description: string) =>
  text(40, { format: 'date-time', description, examples: [exampleTime] })

export const sortByField = <const T extends string>(keys: readonly T[], byDefault: T) =>
  Type.Optional(
    oneOf(keys, { default: byDefault, description: 'The attribute by which the list is sorted.' }),
  )

export const sortOrderField = (byDefault: 'asc' | 'desc') =>
  Type.Optional(
    oneOf(['asc', 'desc'], {
      default: byDefault,
      description: '`asc`: the smallest or oldest first. `desc`: the largest or newest first.',
    }),
  )

export const metadataPair = (key = 'author', value = 'Ada') =>
  Type.Object({
    key: Type.String({ description: 'Name of the pair.', examples: [key] }),
    value: Type.String({ description: 'Value of the pair.', examples: [value] }),
  })

export const sessionIdField = (description: string, options: object = {}) =>
  Type.String({ description, examples: ['ps0g103p2k8d6w1c0m7q5x9r4'], ...options })
