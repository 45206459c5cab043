import type { SampleBody, SampleRequest } from './request.ts'

const text = (value: string) => JSON.stringify(value)

export function go({ method, url, hasKey, headers, body, prints, saves }: SampleRequest): string {
  const form = body && 'form' in body ? body.form : undefined
  const packages = new Set(['net/http'])
  if (hasKey || saves || prints === 'body' || (body && !('json' in body))) packages.add('os')
  if (saves || prints === 'body' || form) packages.add('io')
  if (!saves && prints !== 'body') packages.add('fmt')
  if (body && 'json' in body) packages.add('strings')
  if (form) packages.add('bytes').add('mime/multipart')
  const lines = [...(body ? bodyLines(body) : []), ...requestLine(method, url, body)]
  if (hasKey) lines.push('request.Header.Set("Authorization", "Bearer "+os.Getenv("KINORA_KEY"))')
  for (const [name, value] of Object.entries(headers))
    lines.push(`request.Header.Set(${text(name)}, ${text(value)})`)
  if (form) lines.push('request.Header.Set("Content-Type", form.FormDataContentType())')
  lines.push('response, err := http.DefaultClient.Do(request)', ...check)
  lines.push('defer response.Body.Close()', ...(saves ? saveLines(saves) : [print[prints]]))
  return [
    'package main',
    '',
    `import (\n${[...packages]
      .sort()
      .map((name) => `\t"${name}"\n`)
      .join('')})`,
    '',
    `func main() {\n${lines.map((line) => `\t${line}\n`).join('')}}`,
  ].join('\n')
}

const check = ['if err != nil {', '\tpanic(err)', '}']

function requestLine(method: string, url: string, body: SampleBody | undefined): string[] {
  return [`request, err := http.NewRequest("${method}", ${text(url)}, ${body ? 'body' : 'nil'})`, ...check]
}

function bodyLines(body: SampleBody): string[] {
  if ('json' in body) {
    const json = JSON.stringify(body.json, null, 2).replaceAll('\n', '\n\t')
    return [`body := strings.NewReader(${json.includes('`') ? text(json) : `\`${json}\``})`]
  }
  if ('file' in body) return [`body, err := os.Open(${text(body.file)})`, ...check, 'defer body.Close()']
  const { file, fields } = body.form
  return [
    `file, err := os.Open(${text(file)})`,
    ...check,
    'defer file.Close()',
    'body := &bytes.Buffer{}',
    'form := multipart.NewWriter(body)',
    ...Object.entries(fields).map(([name, value]) => `form.WriteField(${text(name)}, ${text(value)})`),
    `part, err := form.CreateFormFile("file", ${text(file)})`,
    ...check,
    'io.Copy(part, file)',
    'form.Close()',
  ]
}

const saveLines = (file: string) => [
  `file, err := os.Create(${text(file)})`,
  ...check,
  'defer file.Close()',
  'io.Copy(file, response.Body)',
]

const print = {
  body: 'io.Copy(os.Stdout, response.Body)',
  headers: 'fmt.Println(response.Status, response.Header)',
  status: 'fmt.Println(response.Status)',
}
