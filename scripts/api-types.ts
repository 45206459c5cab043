/** The parts of JSON Schema that the API uses. */
type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: string[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
}

/** Writes the schemas of openapi.json as types, for the dashboard. */
export function writeApiTypes(openapi: string): string {
  const { schemas } = JSON.parse(openapi).components as { schemas: Record<string, Schema> }
  const types = Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema)}\n`)
  return ['// Written by `npm run openapi` from the schemas of openapi.json.\n', ...types].join('\n')
}

function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1)!
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  return [schema.type ?? 'unknown']
    .flat()
    .map((type) => nameOf(type, schema, indent))
    .join(' | ')
}

function nameOf(type: string, schema: Schema, indent: string): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return `(${typeOf(schema.items ?? {}, indent)})[]`
  if (type === 'object') return objectOf(schema, indent)
  return type
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema, indent: string): string {
  const lines = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${indent}  ${name}${mark}: ${typeOf(schema, `${indent}  `)}\n`
  })
  if (lines.length > 0) return `{\n${lines.join('')}${indent}}`
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'
  return `Record<string, ${values}>`
}
