import { escapeHtml } from '../lib/html.ts'
import type { OpenContext } from '../slice.ts'
import { codeBlock, table } from './blocks.ts'
import { type Route, routesOf, type Schema } from './document.ts'
import { errorTable } from './error-pages.ts'
import { frame, prose } from './frame.ts'
import type { Document } from './openapi.ts'
import { type Sample, samplesOf } from './samples/samples.ts'
import type { Site } from './site.ts'

type Context = Pick<OpenContext, 'publicUrl' | 'errorKinds'>

/** The complete API reference on one page, without scripts. */
export function referencePage(site: Site, document: Document, context: Context): string {
  const publicUrl = context.publicUrl()
  const groups = new Map<string, Route[]>()
  const tags = document.tags as { name: string; description: string }[]
  for (const { name } of tags) groups.set(name, [])
  for (const route of routesOf(document)) groups.get(route.operation.tags[0] ?? '')?.push(route)
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
        `<h2>${escapeHtml(tag)}</h2><p>${prose(tags.find(({ name }) => name === tag)?.description ?? '')}</p>${list.map((item) => operationSection(item, schemas, publicUrl)).join('\n')}`,
    )
    .join('\n')
  return frame(site, {
    title: 'Kinora API',
    section: 'reference',
    body: `<div class="page">
<nav class="side" aria-label="Contents">${nav}<p><a href="#errors">Errors</a></p><p><a href="/openapi.json">openapi.json</a></p></nav>
<main id="content" class="text">
<h1>Kinora API</h1>
${document.info.description
  .split('\n\n')
  .map((text) => `<p>${prose(text)}</p>`)
  .join('\n')}
<dl><dt>Production and sandbox (the key decides)</dt><dd><code>${escapeHtml(publicUrl)}</code></dd><dt>Sandbox only</dt><dd><code>${escapeHtml(publicUrl)}/sandbox</code></dd></dl>
${sections}
<h2 id="errors">Errors</h2>
${errorTable(context.errorKinds)}
</main>
</div>`,
  })
}

function operationSection(route: Route, schemas: Record<string, Schema>, publicUrl: string): string {
  const { method, path, operation } = route
  const [body] = Object.values(operation.requestBody?.content ?? {})
  const parts = [
    `<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code></h3>`,
    `<p>${prose(operation.summary)}. ${prose(operation.description ?? '')}</p>`,
    sampleBlocks(route, publicUrl),
    attributes(
      'Parameters',
      (operation.parameters ?? []).map((p) => [
        p.name,
        {
          ...p.schema,
          ...(p.description && { description: p.description }),
          ...(p.example !== undefined && { examples: [p.example] }),
        },
        p.required === true,
      ]),
    ),
    attributes('Body', fields(body?.schema, schemas)),
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

/** The attributes at every depth, as `metadata[].key`. Other schemas are not repeated. */
function fields(schema: Schema | undefined, schemas: Record<string, Schema>, prefix = ''): Field[] {
  const found = schema?.$ref ? schemas[schema.$ref.split('/').pop() ?? ''] : schema
  return Object.entries(found?.properties ?? {}).flatMap(([name, property]) => {
    const path = prefix + name
    const isRequired = prefix === '' && found?.required?.includes(name) === true
    const deeper = property.items ?? property
    const inner = deeper.$ref ? [] : fields(deeper, schemas, `${path}${property.items ? '[]' : ''}.`)
    return [[path, property, isRequired] as Field, ...inner]
  })
}

function attributes(title: string, list: Field[]): string {
  if (list.length === 0) return ''
  const rows = list.map(([name, schema, isRequired]) => {
    const required = isRequired && title ? ' <b>required</b>' : ''
    return [`<code>${escapeHtml(name)}</code>`, escapeHtml(typeName(schema)) + required, prose(notes(schema))]
  })
  const heading = title ? `<h4>${title}</h4>` : ''
  return heading + table([], rows)
}

function notes({
  description,
  enum: values,
  minimum,
  maximum,
  default: byDefault,
  examples,
}: Schema): string {
  const sentences = [description]
  if (values) sentences.push(`One of ${values.map((value) => `\`${value}\``).join(', ')}.`)
  if (minimum !== undefined)
    sentences.push(maximum === undefined ? `At least ${minimum}.` : `From ${minimum} to ${maximum}.`)
  if (byDefault !== undefined) sentences.push(`Default \`${byDefault}\`.`)
  else if (examples) sentences.push(`Example: \`${exampleText(examples[0])}\`.`)
  return sentences.filter(Boolean).join(' ')
}

const exampleText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function typeName(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').pop() ?? ''
  const types = [schema.type ?? (schema.enum ? 'string' : 'any')].flat()
  return types
    .map((type) => (type === 'array' && schema.items ? `list of ${typeName(schema.items)}` : type))
    .join(' or ')
}

/** The names of the highlighter for the languages of samples. */
const highlighted: Record<string, string> = {
  shell: 'sh',
  javascript: 'js',
  python: 'python',
  php: 'php',
  go: 'go',
}

/** The first sample, and the others behind it. */
function sampleBlocks(route: Route, publicUrl: string): string {
  const [first, ...others] = samplesOf(route, publicUrl)
  const block = ({ lang, source }: Sample) => codeBlock(source, highlighted[lang])
  const more = others.map((sample) => `<h4>${sample.label}</h4>${block(sample)}`).join('')
  const labels = others.map(({ label }) => label).join(', ')
  return `${block(first!)}<details><summary>${labels}</summary>${more}</details>`
}
