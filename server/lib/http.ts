import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import { type Static, type TSchema, Type } from './schema.ts'

/** Derives the types of handlers from the schemas of their routes. */
interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  SchemaTypes
>

/**
 * The config of a file upload route. The body has a description but no schema, because the handler streams it. The
 * example is the name of a file.
 */
export const fileUpload = (description: string, example: string, fields: object = {}, headers?: object) => ({
  rateClass: 'uploads' as const,
  described: {
    consumes: ['multipart/form-data'],
    ...(headers && { headers: { type: 'object', properties: headers } }),
    body: {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', format: 'binary', description, examples: [example] }, ...fields },
    },
  },
})

/** A reference to a schema that has an `$id`, with its type. */
export const ref = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` })

/** "This or null" as a list of types, which serializes faster than `anyOf`. */
export const nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] })

/** Text that Postgres can store; lib/validation.ts defines the format. */
export const text = (maxLength: number, options: object = {}) =>
  Type.String({ maxLength, format: 'text', ...options })

export const oneOf = <const T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: values, ...options })
