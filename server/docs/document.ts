import type { Document } from './openapi.ts'

// The parts of an OpenAPI document that the page without scripts and the code samples read.

export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  required?: string[]
  enum?: (string | null)[]
  default?: unknown
  examples?: unknown[]
  maxLength?: number
  minimum?: number
  maximum?: number
}
type Parameter = {
  name: string
  in: string
  required?: boolean
  description?: string
  example?: unknown
  schema?: Schema
}
type Content = { content?: Record<string, { schema?: Schema; example?: unknown }> }
export type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: object[]
  parameters?: Parameter[]
  /** Optional parameters that a request needs, because one of several is required. */
  'x-sample-parameters'?: string[]
  requestBody?: Content
  responses: Record<string, Content & { description?: string }>
}
export type Route = { method: string; path: string; operation: Operation }

export function routesOf(document: Document): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as unknown as Operation,
    })),
  )
}

/** An example of a request. Optional attributes without an example of the whole are left out. */
export function exampleOf(schema: Schema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.items) return [exampleOf(schema.items)]
  if (!schema.properties) return schema.default ?? schema.enum?.[0]
  const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(required.map(([name, property]) => [name, exampleOf(property)]))
}
