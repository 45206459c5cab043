import type { SampleBody, SampleRequest } from './request.ts'

/** A string of JSON is also one of Python. */
const text = (value: string) => JSON.stringify(value)

function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value)
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return String(value)
  const deeper = `${indent}    `
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(([name, item]) => `${text(name)}: ${literal(item, deeper)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return open + close
  return `${open}\n${items.map((item) => `${deeper}${item},\n`).join('')}${indent}${close}`
}

export function python({ method, url, hasKey, headers, body, prints, saves }: SampleRequest): string {
  const form = body && 'form' in body ? body.form : undefined
  const lines: string[] = []
  if (prints === 'body' || (body && 'json' in body)) lines.push('import json')
  if (hasKey) lines.push('import os')
  if (saves || (body && !('json' in body))) lines.push('from pathlib import Path')
  lines.push('from urllib.request import Request, urlopen')
  if (form) lines.push('from uuid import uuid4')
  lines.push('', ...(form ? formLines(form) : []))
  const fields = Object.entries(headers).map(([name, value]) => `${text(name)}: ${text(value)}`)
  if (hasKey) fields.unshift(`"Authorization": f"Bearer {os.environ['KINORA_KEY']}"`)
  if (form) fields.push('"Content-Type": f"multipart/form-data; boundary={boundary}"')
  const options = [text(url)]
  if (method !== 'GET') options.push(`method="${method}"`)
  if (fields.length > 0)
    options.push(`headers={\n${fields.map((each) => `        ${each},\n`).join('')}    }`)
  if (body) options.push(`data=${content(body)}`)
  lines.push(`request = Request(\n${options.map((each) => `    ${each},\n`).join('')})`)
  const save = saves && `Path(${text(saves)}).write_bytes(response.read())`
  lines.push('with urlopen(request) as response:', `    ${save ?? print[prints]}`)
  return lines.join('\n')
}

function content(body: SampleBody): string {
  if ('json' in body) return `json.dumps(${literal(body.json, '    ')}).encode()`
  return 'form' in body ? 'body' : `Path(${text(body.file)}).read_bytes()`
}

function formLines({ file, fields }: { file: string; fields: Record<string, string> }): string[] {
  const part = (disposition: string) =>
    `--{boundary}\\r\\nContent-Disposition: form-data; ${disposition}\\r\\n\\r\\n`
  const parts = Object.entries(fields).map(
    ([name, value]) => `f'${part(`name="${name}"`)}${value}\\r\\n'.encode()`,
  )
  parts.push(`f'${part(`name="file"; filename="${file}"`)}'.encode()`)
  parts.push(`Path(${text(file)}).read_bytes()`, `f"\\r\\n--{boundary}--\\r\\n".encode()`)
  return [
    'boundary = uuid4().hex',
    `body = b"".join([\n${parts.map((each) => `    ${each},\n`).join('')}])`,
    '',
  ]
}

const print = {
  body: 'print(json.load(response))',
  headers: 'print(response.status, dict(response.headers))',
  status: 'print(response.status)',
}
