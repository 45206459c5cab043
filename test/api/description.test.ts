import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { writeApiTypes } from '../../scripts/api-types.ts'
import { describeApi } from '../../scripts/openapi.ts'
import { root } from '../support/harness.ts'

// openapi.json matches the routes, and every field has a description and a valid example.

type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  examples?: unknown[]
  default?: unknown
}
type Content = { content?: Record<string, { schema: Schema; example?: unknown }> }
type Parameter = { name: string; description?: string; example?: unknown; schema: Schema }
type Response = Content & { description: string; headers?: Record<string, Header> }
type Header = { $ref?: string; description?: string }
type Operation = {
  description?: string
  parameters?: Parameter[]
  requestBody?: Content
  responses: Record<string, Response>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; headers: Record<string, Header> }
}

const document: Document = JSON.parse(await readFile(join(root, 'openapi.json'), 'utf8'))
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
)
/** The schemas of bodies and responses, and those that they refer to. */
const schemas: [name: string, schema: Schema][] = [
  ...Object.entries(document.components.schemas),
  ...operations.flatMap(({ name, operation }) => [
    ...contents(operation.requestBody, `${name} body`),
    ...Object.entries(operation.responses).flatMap(([status, each]) => contents(each, `${name} ${status}`)),
  ]),
]

/** The example of a body stands beside its schema. */
function contents(value: Content | undefined, name: string): [string, Schema][] {
  return Object.values(value?.content ?? {}).map(({ schema, example }) => [
    name,
    example === undefined ? schema : { ...schema, examples: [example] },
  ])
}

/** Every attribute at any depth. */
function* fieldsOf(schema: Schema, path: string): Generator<[string, Schema]> {
  if (schema.items) yield* fieldsOf(schema.items, `${path}[]`)
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield [`${path}.${name}`, field]
    yield* fieldsOf(field, `${path}.${name}`)
  }
}

const resolve = (schema: Schema): Schema =>
  schema.$ref ? document.components.schemas[schema.$ref.split('/').pop()!]! : schema

/** Whether the schema has an example, or consists of fields that have one. */
function hasExample(schema: Schema): boolean {
  const { examples, default: byDefault, items, properties } = resolve(schema)
  if (examples || byDefault !== undefined) return true
  return items ? hasExample(items) : properties !== undefined
}

/** An example with every attribute. */
function example(schema: Schema): unknown {
  const { examples, default: byDefault, items, properties } = resolve(schema)
  if (properties && Object.keys(properties).length > 0)
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, example(field)]))
  if (examples) return examples[0]
  return items ? [example(items)] : byDefault
}

test('openapi.json and the types of the dashboard match the routes', async () => {
  const openapi = await describeApi()
  const isWritten = async (path: string, text: string) => (await readFile(join(root, path), 'utf8')) === text
  assert.ok(await isWritten('openapi.json', openapi), 'run npm run openapi')
  assert.ok(await isWritten('web/dashboard/api/schemas.ts', writeApiTypes(openapi)), 'run npm run openapi')
})

test('every operation, parameter, header and attribute has a description', () => {
  const missing: string[] = []
  const check = (name: string, description: string | undefined) => {
    if (!description || !/[.?]$/.test(description)) missing.push(`${name}: ${description}`)
  }
  for (const [name, schema] of schemas)
    for (const [path, field] of fieldsOf(schema, name))
      check(path, (field.$ref ? resolve(field) : field).description)
  for (const [name, schema] of Object.entries(document.components.schemas)) check(name, schema.description)
  for (const { name, operation } of operations) {
    check(name, operation.description)
    for (const parameter of operation.parameters ?? [])
      check(`${name} ${parameter.name}`, parameter.description)
    for (const [status, { description, headers }] of Object.entries(operation.responses)) {
      assert.notEqual(description, 'Default Response', `${name} ${status}`)
      for (const [header, each] of Object.entries(headers ?? {}))
        check(
          `${name} ${status} ${header}`,
          (each.$ref ? document.components.headers[header] : each)?.description,
        )
    }
  }
  assert.deepEqual(missing, [])
})

test('every parameter and attribute has an example', () => {
  const missing: string[] = []
  for (const [name, schema] of schemas)
    for (const [path, field] of fieldsOf(schema, name)) if (!hasExample(field)) missing.push(path)
  for (const { name, operation } of operations)
    for (const parameter of operation.parameters ?? [])
      if (parameter.example === undefined && !hasExample(parameter.schema))
        missing.push(`${name} ${parameter.name}`)
  assert.deepEqual(missing, [])
})

test('every example is valid', () => {
  const formats = {
    text: true,
    binary: true,
    'date-time': (value: string) => !Number.isNaN(Date.parse(value)),
    uri: (value: string) => URL.canParse(value),
  } as const
  const ajv = new Ajv({ strict: false, formats })
  ajv.addSchema(document, 'openapi')
  const check = (name: string, schema: Schema, value: unknown) => {
    // References are relative to the document.
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
    assert.ok(validate(value), `${name}: ${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`)
  }
  for (const [name, schema] of schemas) {
    // The schema that it refers to is in the list, too.
    if (schema.$ref) continue
    check(name, schema, example(schema))
    for (const value of schema.examples ?? []) check(name, schema, value)
    for (const [path, field] of fieldsOf(schema, name))
      for (const value of field.examples ?? []) if (field.properties) check(path, field, value)
  }
  for (const { name, operation } of operations)
    for (const parameter of operation.parameters ?? [])
      if (parameter.example !== undefined)
        check(`${name} ${parameter.name}`, parameter.schema, parameter.example)
})
