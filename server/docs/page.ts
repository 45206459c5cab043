import { escapeHtml } from '../lib/html.ts'
import { errorTable } from './error-pages.ts'
import { frame, prose } from './frame.ts'
import type { Document } from './openapi.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  required?: string[]
  enum?: (string | null)[]
  default?: unknown
  maxLength?: number
  minimum?: number
  maximum?: number
}
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
type Content = { content?: Record<string, { schema?: Schema }> }
type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: Content
  responses: Record<string, Content & { description?: string }>
}

/** The complete API reference on one page, without scripts. */
export function referencePage(document: Document, publicUrl: string): string {
  const groups = new Map<string, { method: string; path: string; operation: Operation }[]>()
  for (const { name } of document.tags as { name: string }[]) groups.set(name, [])
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, value] of Object.entries(methods)) {
      const operation = value as unknown as Operation
      groups.get(operation.tags[0] ?? '')?.push({ method: method.toUpperCase(), path, operation })
    }
  }
  const schemas = document.components.schemas as Record<string, Schema>
  const nav = [...groups]
    .map(
      ([tag, list]) =>
        `<p>${escapeHtml(tag)}</p><ul>${list
          .map(
            ({ operation }) =>
              `<li><a href="#${operation.operationId}">${escapeHtml(operation.summary)}</a></li>`,
          )
          .join('')}</ul>`,
    )
    .join('')
  const sections = [...groups]
    .map(
      ([tag, list]) =>
        `<h2>${escapeHtml(tag)}</h2>${list.map((item) => operationSection(item, schemas, publicUrl)).join('\n')}`,
    )
    .join('\n')
  return frame(
    'Kinora API',
    `<nav aria-label="Contents"><p><a href="#top"><b>Kinora API</b></a></p>${nav}<p><a href="#errors">Errors</a></p><p><a href="/openapi.json">openapi.json</a></p></nav>
<main id="top">
<h1>Kinora API</h1>
<p>${prose(document.info.description)}</p>
<dl><dt>Production and sandbox (the key decides)</dt><dd><code>${escapeHtml(publicUrl)}</code></dd><dt>Sandbox only</dt><dd><code>${escapeHtml(publicUrl)}/sandbox</code></dd></dl>
${sections}
<h2 id="errors">Errors</h2>
<p>Errors are <code>application/problem+json</code>: <code>title</code> describes the problem, <code>name</code> is the invalid attribute or parameter, and <code>problems</code> lists every problem.</p>
${errorTable()}
</main>`,
  )
}

function operationSection(
  { method, path, operation }: { method: string; path: string; operation: Operation },
  schemas: Record<string, Schema>,
  publicUrl: string,
): string {
  const body = operation.requestBody?.content?.['application/json']?.schema
  const parts = [
    `<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code></h3>`,
    `<p>${prose(operation.summary)}. ${prose(operation.description ?? '')}</p>`,
    `<pre><code>${escapeHtml(example(method, path, operation, body, publicUrl))}</code></pre>`,
    attributes(
      'Parameters',
      (operation.parameters ?? []).map((p) => [
        p.name,
        { ...p.schema, description: p.description ?? p.schema?.description } as Schema,
        p.required === true,
      ]),
    ),
    attributes('Body', fields(body, schemas)),
  ]
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!status.startsWith('2')) continue
    const schema = response.content?.['application/json']?.schema
    const name = schema?.$ref?.split('/').pop()
    const list = fields(schema, schemas)
    parts.push(
      list.length > 0
        ? `<details><summary>Response ${status}${name ? `: ${escapeHtml(name)}` : ''}</summary>${attributes('', list)}</details>`
        : `<p>Response ${status} without a body.</p>`,
    )
  }
  return `<section id="${operation.operationId}">${parts.join('\n')}</section>`
}

type Field = [name: string, schema: Schema, isRequired: boolean]

function fields(schema: Schema | undefined, schemas: Record<string, Schema>): Field[] {
  const found = schema?.$ref ? schemas[schema.$ref.split('/').pop() ?? ''] : schema
  return Object.entries(found?.properties ?? {}).map(([name, s]) => [
    name,
    s,
    found?.required?.includes(name) === true,
  ])
}

function attributes(title: string, list: Field[]): string {
  if (list.length === 0) return ''
  const rows = list.map(([name, schema, isRequired]) => {
    const notes = [schema.description ?? '']
    if (schema.enum) notes.push(`One of ${schema.enum.map((value) => `\`${value}\``).join(', ')}.`)
    if (schema.minimum !== undefined) notes.push(`From ${schema.minimum} to ${schema.maximum}.`)
    if (schema.default !== undefined) notes.push(`Default \`${schema.default}\`.`)
    const required = isRequired && title ? ' <b>required</b>' : ''
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(typeName(schema))}${required}</td><td>${prose(notes.filter(Boolean).join(' '))}</td></tr>`
  })
  const heading = title ? `<h4>${title}</h4>` : ''
  return `${heading}<div class="wide"><table><tbody>${rows.join('')}</tbody></table></div>`
}

function typeName(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').pop() ?? ''
  const types = [schema.type ?? (schema.enum ? 'string' : 'any')].flat()
  return types
    .map((type) => (type === 'array' && schema.items ? `list of ${typeName(schema.items)}` : type))
    .join(' or ')
}

const samples: Record<string, unknown> = {
  title: 'My first video',
  apiKey: '$KINORA_KEY',
  refreshToken: '$REFRESH_TOKEN',
}

function example(
  method: string,
  path: string,
  operation: Operation,
  body: Schema | undefined,
  publicUrl: string,
) {
  const [scheme] = operation.security ?? []
  const usesUploadToken = scheme !== undefined && 'uploadToken' in scheme
  const examplePath = path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => `$${name.replace(/([A-Z])/g, '_$1').toUpperCase()}`,
  )
  const url = publicUrl + examplePath + (usesUploadToken ? '?token=$UPLOAD_TOKEN' : '')
  const flags = [method === 'GET' || (method === 'POST' && body) ? '' : ` -X ${method}`]
  if (operation.security?.length !== 0 && !usesUploadToken) flags.push(' -u "$KINORA_KEY:"')
  if (!body) return `curl${flags.join('')} "${url}"`
  const sample = Object.fromEntries(
    Object.keys(body.properties ?? {})
      .filter((key) => key in samples)
      .map((key) => [key, samples[key]]),
  )
  return `curl${flags.join('')} "${url}" \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(sample)}'`
}
