import type { SampleBody, SampleRequest } from './request.ts'

const text = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const deeper = `${indent}    `
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(([name, item]) => `${text(name)} => ${literal(item, deeper)}`)
  // An empty array would be a list in JSON.
  if (items.length === 0) return Array.isArray(value) ? '[]' : 'new stdClass()'
  return `[\n${items.map((item) => `${deeper}${item},\n`).join('')}${indent}]`
}

/** Uses streams, because the curl extension is not part of every installation. */
export function php({ method, url, hasKey, headers, body, prints, saves }: SampleRequest): string {
  const form = body && 'form' in body ? body.form : undefined
  const fields = Object.entries(headers).map(([name, value]) => text(`${name}: ${value}`))
  if (hasKey) fields.unshift("'Authorization: Bearer ' . getenv('KINORA_KEY')")
  if (form) fields.push('"Content-Type: multipart/form-data; boundary=$boundary"')
  const options = [`'method' => '${method}'`]
  if (fields.length > 0)
    options.push(`'header' => [\n${fields.map((each) => `        ${each},\n`).join('')}    ]`)
  if (body) options.push(`'content' => ${content(body)}`)
  // Otherwise, PHP discards the body of an error.
  options.push("'ignore_errors' => true")
  return [
    '<?php',
    ...(form ? formLines(form) : []),
    `$context = stream_context_create(['http' => [\n${options.map((each) => `    ${each},\n`).join('')}]]);`,
    `$response = file_get_contents(${text(url)}, false, $context);`,
    saves ? `file_put_contents(${text(saves)}, $response);` : print[prints],
  ].join('\n')
}

function content(body: SampleBody): string {
  if ('json' in body) return `json_encode(${literal(body.json, '    ')})`
  return 'form' in body ? '$body' : `file_get_contents(${text(body.file)})`
}

function formLines({ file, fields }: { file: string; fields: Record<string, string> }): string[] {
  const part = (disposition: string) =>
    `"--$boundary\\r\\nContent-Disposition: form-data; ${disposition}\\r\\n\\r\\n`
  const parts = Object.entries(fields).map(([name, value]) => `${part(`name=\\"${name}\\"`)}${value}\\r\\n"`)
  parts.push(`${part(`name=\\"file\\"; filename=\\"${file}\\"`)}"`)
  parts.push(`file_get_contents(${text(file)})`, '"\\r\\n--$boundary--\\r\\n"')
  return ['$boundary = bin2hex(random_bytes(16));', `$body = ${parts.join('\n    . ')};`]
}

const print = {
  body: 'print_r(json_decode($response, true));',
  headers: 'print_r($http_response_header);',
  status: 'echo $http_response_header[0], PHP_EOL;',
}
