import type { Static, TSchema, Type as TypeBox } from 'typebox'

export type { Static, TSchema }

/**
 * The builders of TypeBox that the routes use, with TypeBox's types. The package itself would load 370 modules, which
 * took a fifth of the start time.
 */
export const Type = {
  Array: ((items: TSchema, options?: object) => ({
    type: 'array',
    items,
    ...options,
  })) as typeof TypeBox.Array,
  Boolean: ((options?: object) => ({ type: 'boolean', ...options })) as typeof TypeBox.Boolean,
  Integer: ((options?: object) => ({ type: 'integer', ...options })) as typeof TypeBox.Integer,
  Null: ((options?: object) => ({ type: 'null', ...options })) as typeof TypeBox.Null,
  Number: ((options?: object) => ({ type: 'number', ...options })) as typeof TypeBox.Number,
  Object: object as typeof TypeBox.Object,
  Optional: optional as typeof TypeBox.Optional,
  Record: record as unknown as typeof TypeBox.Record,
  String: ((options?: object) => ({ type: 'string', ...options })) as typeof TypeBox.String,
  Unsafe: ((schema: object) => ({ ...schema })) as typeof TypeBox.Unsafe,
}

/** Not enumerable, so that neither validators nor the OpenAPI document see it. */
const isOptional = Symbol('optional')

function optional(schema: object): object {
  return Object.defineProperty({ ...schema }, isOptional, { value: true })
}

function object(properties: Record<string, object>, options?: object): object {
  const required = Object.keys(properties).filter((name) => !(isOptional in properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

/** Accepts any string as a key. */
function record(_key: object, value: object, options?: object): object {
  return { type: 'object', patternProperties: { '^.*$': value }, ...options }
}
