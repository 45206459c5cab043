import type { SampleBody, SampleRequest } from './request.ts'

const text = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const key = (name: string) => (/^[a-zA-Z_]\w*$/.test(name) ? name : text(name))

/** A value as JavaScript, in the style of the other lines. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const deeper = `${indent}  `
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(([name, item]) => `${key(name)}: ${literal(item, deeper)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return open + close
  return `${open}\n${items.map((item) => `${deeper}${item},\n`).join('')}${indent}${close}`
}

export function node({ method, url, hasKey, headers, body, prints, saves }: SampleRequest): string {
  const lines: string[] = []
  if (saves) lines.push("import { writeFile } from 'node:fs/promises'", '')
  if (body && !('json' in body)) lines.push("import { openAsBlob } from 'node:fs'", '')
  if (body && 'form' in body) {
    lines.push('const form = new FormData()')
    for (const [name, value] of Object.entries(body.form.fields))
      lines.push(`form.append(${text(name)}, ${text(value)})`)
    const file = text(body.form.file)
    lines.push(`form.append('file', await openAsBlob(${file}), ${file})`, '')
  }
  const options: string[] = []
  if (method !== 'GET') options.push(`method: '${method}'`)
  const fields = Object.entries(headers).map(([name, value]) => `${key(name)}: ${text(value)}`)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample contains the template
  if (hasKey) fields.unshift('Authorization: `Bearer ${process.env.KINORA_KEY}`')
  if (fields.length > 0) options.push(`headers: {\n${fields.map((each) => `    ${each},\n`).join('')}  }`)
  if (body) options.push(`body: ${content(body)}`)
  const argument = options.length > 0 ? `, {\n${options.map((each) => `  ${each},\n`).join('')}}` : ''
  lines.push(`const response = await fetch(${text(url)}${argument})`)
  lines.push('if (!response.ok) throw new Error(await response.text())')
  lines.push(saves ? `await writeFile(${text(saves)}, response.body)` : print[prints])
  return lines.join('\n')
}

function content(body: SampleBody): string {
  if ('json' in body) return `JSON.stringify(${literal(body.json, '  ')})`
  return 'form' in body ? 'form' : `await openAsBlob(${text(body.file)})`
}

const print = {
  body: 'console.log(await response.json())',
  headers: 'console.log(response.status, Object.fromEntries(response.headers))',
  status: 'console.log(response.status)',
}
