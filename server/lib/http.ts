import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import { type Static, type TSchema, Type } from './schema.ts'

/** Gives handlers the types of their schemas. */
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

/** Of a route that takes a file: described, not checked, as its handler reads the body while it arrives. */
export const fileUpload = (description: string, fields: object = {}, headers?: object) => ({
  rateClass: 'uploads' as const,
  described: {
    consumes: ['multipart/form-data'],
    ...(headers && { headers: { type: 'object', properties: headers } }),
    body: {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', format: 'binary', description }, ...fields },
    },
  },
})

/** A reference to a schema that has an `$id`, with its type. */
export const ref = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` })

/** JSON Schema's short form of "this or null", which serialises without trying alternatives. */
export const nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] })

/** Text that can be stored: see the format's check. */
export const text = (maxLength: number, options: object = {}) =>
  Type.String({ maxLength, format: 'text', ...options })

export const oneOf = <const T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: values, ...options })
