import { exampleId } from '../../lib/fields.ts'
import { exampleOf, type Operation, type Route } from '../document.ts'

/** A request that shows how an operation is called. */
export type SampleRequest = {
  method: string
  url: string
  /** Whether the request has the API key, which samples read from the variable KINORA_KEY. */
  hasKey: boolean
  headers: Record<string, string>
  body?: SampleBody
  /** What a program prints. Some responses have headers only. */
  prints: 'body' | 'headers' | 'status'
  /** The file into which a program writes the body instead. */
  saves?: string
}
export type SampleBody =
  | { json: unknown }
  | { form: { file: string; fields: Record<string, string> } }
  | { file: string }

export function sampleRequest({ method, path, operation }: Route, baseUrl: string): SampleRequest {
  const included = operation['x-sample-parameters'] ?? []
  const parameters = (where: string) =>
    (operation.parameters ?? [])
      .filter((each) => each.in === where && (each.required || included.includes(each.name)))
      .flatMap(({ name, example, schema = {} }) => pairs(name, example ?? exampleOf(schema)))
  const inPath = new Map(parameters('path'))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(inPath.get(name) ?? name))
  const [scheme] = operation.security ?? [{ bearerAuth: [] }]
  const query = new URLSearchParams(parameters('query'))
  if (scheme && 'uploadToken' in scheme) query.append('token', exampleId('to'))
  const body = sampleBody(operation)
  return {
    method,
    url: baseUrl + filled + (query.size > 0 ? `?${query}` : ''),
    hasKey: scheme !== undefined && !('uploadToken' in scheme),
    headers: { ...Object.fromEntries(parameters('header')), ...body?.headers },
    ...(body && { body: body.content }),
    prints: printed(operation),
    ...savedFile(operation),
  }
}

/** Objects are sent as `name[key]=value`. */
function pairs(name: string, value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[name, String(value)]]
  return Object.entries(value).map(([key, item]) => [`${name}[${key}]`, String(item)])
}

function sampleBody(
  operation: Operation,
): { headers: Record<string, string>; content: SampleBody } | undefined {
  const [[type, { schema = {}, example }] = [undefined, {}]] = Object.entries(
    operation.requestBody?.content ?? {},
  )
  if (!type) return undefined
  const value = example ?? exampleOf(schema)
  const headers = { 'Content-Type': type }
  if (type === 'application/json') return { headers, content: { json: value } }
  if (type !== 'multipart/form-data') return { headers, content: { file: String(value) } }
  const { file, ...fields } = value as Record<string, string>
  return { headers: {}, content: { form: { file: String(file), fields } } }
}

const successOf = ({ responses }: Operation) =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]

function printed(operation: Operation): SampleRequest['prints'] {
  const success = successOf(operation)
  if (success?.content?.['application/json']) return 'body'
  const headers = Object.keys((success as { headers?: object } | undefined)?.headers ?? {})
  return headers.some((name) => !name.startsWith('X-RateLimit')) ? 'headers' : 'status'
}

/** The example of a response with a file is the name of the file. */
function savedFile(operation: Operation): { saves?: string } {
  const [content] = Object.values(successOf(operation)?.content ?? {})
  return content?.schema?.format === 'binary' ? { saves: String(exampleOf(content.schema)) } : {}
}
