import type { SampleRequest } from './request.ts'

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

export function curl({ method, url, hasKey, headers, body, prints, saves }: SampleRequest): string {
  const flags: string[] = []
  if (method === 'HEAD') flags.push('-I')
  else if (method !== (body ? 'POST' : 'GET')) flags.push(`-X ${method}`)
  if (saves) flags.push(`-o ${quote(saves)}`)
  else if (prints !== 'body' && method !== 'HEAD') flags.push('-i')
  const lines = [['curl', ...flags, quote(url)].join(' ')]
  if (hasKey) lines.push('-u "$KINORA_KEY:"')
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body && 'json' in body) lines.push(`-d ${quote(JSON.stringify(body.json, null, 2))}`)
  if (body && 'file' in body) lines.push(`--data-binary ${quote(`@${body.file}`)}`)
  if (body && 'form' in body) {
    for (const [name, value] of Object.entries(body.form.fields))
      lines.push(`-F ${quote(`${name}=${value}`)}`)
    lines.push(`-F ${quote(`file=@${body.form.file}`)}`)
  }
  return lines.join(' \\\n  ')
}
