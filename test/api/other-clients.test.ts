import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertSource, call, MiB, root, sandboxKey, sendFile, sharedKinora } from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'

// The requests of the published clients that the tests do not run, with a sandbox key and without the /sandbox prefix.

type Tokens = { token_type: string; access_token: string; refresh_token: string }
type Client = {
  name: string
  /** The headers of every request. */
  headers: Record<string, string>
  /** The content type of JSON requests. The Go and Python clients send it with GET, too. */
  json: string
  /** Serializes a JSON body. */
  write?: (value: unknown) => string
  /** The headers with the access token. */
  authorize: (tokens: Tokens) => Record<string, string>
  /** Whether it refreshes its tokens instead of exchanging the key again. */
  refreshes?: boolean
  boundary: string
  /** The Content-Range of each part of a file, or undefined for a file that is sent in one request. */
  range: (part: number, parts: number) => string | undefined
  /** Whether later parts with an upload token send the video id in a field after the file. */
  namesVideo: boolean
}

const bearer = ({ access_token }: Tokens) => ({ authorization: `Bearer ${access_token}` })
const ofMany = (part: number, parts: number) => (parts > 1 ? `part ${part}/${parts}` : undefined)
const always = (part: number, parts: number) => `part ${part}/${parts}`

const clients: Client[] = [
  {
    name: 'Python',
    headers: { 'av-origin-client': 'python:1.4.3', accept: 'application/json' },
    json: 'application/json',
    authorize: ({ token_type, access_token }) => ({ authorization: `${token_type} ${access_token}` }),
    refreshes: true,
    boundary: '9f1d8c5a0b',
    range: always,
    namesVideo: false,
  },
  {
    name: 'Go',
    headers: { 'av-origin-client': 'go:1.3.0', accept: 'application/json' },
    json: 'application/json',
    write: (value) => `${JSON.stringify(value)}\n`,
    authorize: bearer,
    boundary: 'a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e',
    range: ofMany,
    namesVideo: false,
  },
  {
    name: 'PHP',
    headers: { 'av-origin-client': 'php:1.4.2', accept: 'application/json' },
    json: 'application/json',
    authorize: bearer,
    boundary: '"63f0a1b2c3d4e"',
    range: always,
    namesVideo: true,
  },
  {
    name: 'Java',
    headers: { 'user-agent': 'api.video client (java; v:1.0.10; )', accept: 'application/json' },
    json: 'application/json; charset=utf-8',
    authorize: bearer,
    boundary: '0d7e6f54-1c2b-4a39-8877-665544332211',
    range: ofMany,
    namesVideo: true,
  },
  {
    name: 'C#',
    headers: {
      'user-agent': 'api.video client (C#; v:1.1.0; )',
      accept: 'application/json, text/json, text/x-json, text/javascript, application/xml, text/xml',
    },
    json: 'application/json',
    authorize: bearer,
    boundary: '-----------------------------28947758029299',
    // It sends the number of parts with the last part only.
    range: (part, parts) => (parts > 1 ? `part ${part}/${part === parts ? parts : '*'}` : undefined),
    namesVideo: false,
  },
]

const service = sharedKinora({ ...withoutEncoding(), KINORA_LOG_LEVEL: 'info' })
const small = Buffer.from('a small file')
const large = [Buffer.alloc(5 * MiB, 'x'), Buffer.from('the end')]

function requests(client: Client) {
  const { headers, json, write = JSON.stringify } = client
  const send = (method: string, path: string, credentials: Record<string, string> = {}, value?: unknown) =>
    call(service.url + path, {
      method,
      key: '',
      headers: { ...headers, ...credentials, 'content-type': json },
      ...(value !== undefined && { body: write(value) }),
    })
  const tokensOf = async (path: string, value: unknown): Promise<Tokens> => {
    const { status, body, text } = await send('POST', path, {}, value)
    assert.equal(status, 200, text)
    return body
  }
  async function logIn(): Promise<Record<string, string>> {
    const tokens = await tokensOf('/auth/api-key', { apiKey: sandboxKey })
    if (!client.refreshes) return client.authorize(tokens)
    return client.authorize(await tokensOf('/auth/refresh', { refreshToken: tokens.refresh_token }))
  }
  /** Sends the file part by part and returns the video id. */
  async function upload(path: string, parts: Buffer[], credentials: Record<string, string> = {}) {
    let videoId: string | undefined
    for (const [i, part] of parts.entries()) {
      const range = client.range(i + 1, parts.length)
      const { status, body, text } = await sendFile(service.url + path, part, {
        key: '',
        headers: {
          ...headers,
          ...credentials,
          'content-type': `multipart/form-data; boundary=${client.boundary}`,
        },
        boundary: client.boundary.replaceAll('"', ''),
        ...(range !== undefined && { range }),
        ...(client.namesVideo && videoId !== undefined && { after: { videoId } }),
      })
      assert.equal(status, 201, text)
      videoId = body.videoId
    }
    return videoId!
  }
  return { send, logIn, upload }
}

for (const client of clients) {
  describe(`the ${client.name} client with a sandbox key`, () => {
    const { send, logIn, upload } = requests(client)

    test('creates a video, uploads a file in parts and in one request, lists videos and reads the status', async () => {
      const credentials = await logIn()
      for (const parts of [large, [small]]) {
        const created = await send('POST', '/videos', credentials, {
          title: `From ${client.name}`,
          tags: ['a'],
        })
        assert.equal(created.status, 201, created.text)
        const { videoId } = created.body
        assert.equal(await upload(`/videos/${videoId}/source`, parts, credentials), videoId)
        await assertSource(service.data, videoId, Buffer.concat(parts))
        const { body: status } = await send('GET', `/videos/${videoId}/status`, credentials)
        assert.equal(status.ingest.status, 'uploaded')
        assert.equal(
          (await call(`${service.url}/videos/${videoId}`)).status,
          404,
          'the video is in production',
        )
      }
      const title = encodeURIComponent(`From ${client.name}`)
      const list = await send('GET', `/videos?title=${title}&currentPage=1&pageSize=25`, credentials)
      assert.equal(list.body.pagination.itemsTotal, 2)
      assert.equal((await call(`${service.url}/videos`)).body.pagination.itemsTotal, 0)
    })

    test('uploads with an upload token of the sandbox', async () => {
      const credentials = await logIn()
      const { token } = (await send('POST', '/upload-tokens', credentials, { ttl: 90 })).body
      for (const parts of [large, [small]]) {
        const videoId = await upload(`/upload?token=${token}`, parts)
        await assertSource(service.data, videoId, Buffer.concat(parts))
        const found = await send('GET', `/videos/${videoId}`, credentials)
        assert.deepEqual([found.status, found.body.title], [200, 'film.mp4'])
      }
      assert.equal((await call(`${service.url}/videos`)).body.pagination.itemsTotal, 0)
    })
  })
}

test('the requests of the clients have no unknown fields', () => {
  assert.match(service.output(), /"url":"\/videos"/)
  assert.doesNotMatch(service.output(), /"warnings"/)
})

test('the docs have an example for each client, without the /sandbox prefix', async () => {
  const page = await readFile(join(root, 'docs/clients.md'), 'utf8')
  for (const { name } of clients) {
    const [, example = ''] = new RegExp(`^## ${name}\n[^]*?\`\`\`\\w+\n([^]*?)\`\`\``, 'm').exec(page) ?? []
    assert.match(example, /http:\/\/localhost:8080\b(?!\/sandbox)/, name)
    assert.match(example, /KINORA_KEY/, name)
  }
})
