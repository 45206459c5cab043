import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startFauxqs } from 'fauxqs'
import { freePort, startNginx } from '../../bench/nginx.ts'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { call, callRaw, kinora, root, type Service, temporaryFolder, waitFor } from '../support/harness.ts'
import { film, makeVideo, mp4Of, onDisk, pathOf, segments } from '../support/stored-video.ts'

// The three ways to send a file to a viewer: by the service, by nginx and by a redirect to S3.

const location = '/kinora-files/'
async function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(url, { headers, method, redirect: 'manual' })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes }
}

/** The protocol that a server selects if the client offers HTTP/2. */
async function protocolOf(url: string): Promise<string | false | null> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port), ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  socket.destroy()
  return socket.alpnProtocol
}

/** Starts a service before the tests of a describe block and stops it after them. */
function serviceForBlock(start: (ends: { after(end: () => unknown): void }) => Promise<Service>): Service {
  const started = {} as Service
  const ends: (() => unknown)[] = []
  before(async () => {
    Object.assign(started, await start({ after: (end) => ends.push(end) }))
  })
  after(async () => {
    for (const end of ends) await end()
  })
  return started
}

describe('files sent by the service', () => {
  const service = serviceForBlock((ends) => kinora(ends))
  let videoId: string
  before(async () => {
    videoId = await makeVideo(service, onDisk(service))
  })

  test('a range has the same bytes from the memory cache and from disk', async () => {
    for (const [path, content] of [
      [pathOf(videoId, 1), segments[1]!],
      [mp4Of(videoId), film],
    ] as const) {
      assert.ok((await get(service.url + path)).bytes.equals(content))
      const size = content.length
      for (const [range, from, to] of [
        ['bytes=0-0', 0, 0],
        [`bytes=${size - 1}-`, size - 1, size - 1],
        [`bytes=${size - 10}-${size * 9}`, size - 10, size - 1],
        [`bytes=-${size * 9}`, 0, size - 1],
        ['bytes=65535-65536', 65_535, 65_536],
        ['bytes=100-299999', 100, 299_999],
      ] as const) {
        const part = await get(service.url + path, { range })
        assert.deepEqual(
          [part.status, part.headers.get('content-range')],
          [206, `bytes ${from}-${to}/${size}`],
        )
        assert.ok(part.bytes.equals(content.subarray(from, to + 1)), range)
      }
      for (const range of [`bytes=${size}-`, 'bytes=-0', `bytes=${'9'.repeat(400)}-`])
        assert.equal((await get(service.url + path, { range })).status, 416, range)
      for (const range of [
        'bytes=9-0',
        'bytes=0-1,3-4',
        'bytes=a-b',
        'items=0-1',
        'bytes',
        '-',
        'bytes=0x1-2',
      ])
        assert.equal((await get(service.url + path, { range })).bytes.length, size, range)
    }
  })

  test('no URL gives access to another file', async () => {
    const other = await makeVideo(service, onDisk(service))
    await call(`${service.url}/videos/${other}`, { method: 'PATCH', json: { public: false } })
    await onDisk(service)('secret', Buffer.from('a secret'))
    const key = `videos/${other}/hls/240p/0-x/0.m4s`
    const tricks = [
      ...['..', '%2e%2e', '%252e%252e', '..%2f..%2f..%2fsecret', '..%5c..%5csecret', '..\\..\\secret'],
      ...[
        `..%2f..%2f..%2f${key.replaceAll('/', '%2f')}`,
        key,
        `/${key}`,
        `%2f${key}`,
        '%00',
        'secret%00.m4s',
      ],
      ...[
        'video-0.m4s/../../../../../secret',
        'video-0.m4s%2f..',
        'video-0.m4s;.jpg',
        '0-x/0.m4s',
        '%c0%ae%c0%ae/secret',
      ],
      ...[`${'../'.repeat(40)}etc/passwd`, `${'%2e%2e%2f'.repeat(40)}etc%2fpasswd`, 'x'.repeat(15_000)],
    ]
    const folders = [
      '',
      'hls/',
      'hls/240p/',
      'mp4/',
      'sprites/',
      'token/x/hls/240p/',
      'token/../',
      `token/x/../../${other}/`,
    ]
    for (const folder of folders) {
      for (const trick of tricks) {
        const response = await callRaw(service.url, `/vod/${videoId}/${folder}${trick}`)
        assert.ok([400, 403, 404, 414, 431].includes(response.status), `${response.status} ${folder}${trick}`)
        assert.doesNotMatch(response.text, /a secret|root:/)
      }
    }
    for (const id of [
      `${videoId}%2f..%2f${other}`,
      `..%2f${other}`,
      `${videoId}/../${other}`,
      `${videoId}%00`,
    ])
      assert.ok((await callRaw(service.url, pathOf(id, 0))).status >= 400, id)
  })

  test('files are closed when viewers disconnect during a response', async () => {
    const folder = `/proc/${service.process.pid}/fd`
    const openFiles = async () => {
      const targets = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => ''))
      return (await Promise.all(targets)).filter((target) => target.includes(videoId)).length
    }
    // These files together would not fit into the memory cache if the service kept those of disconnected viewers.
    for (let round = 0; round < 4; round++) {
      const viewers = Array.from({ length: 40 }, (_, i) =>
        request(service.url + (i % 2 ? mp4Of(videoId) : pathOf(videoId, 1)), { agent: false }),
      )
      for (const viewer of viewers) viewer.on('error', () => {}).end()
      await Promise.all(viewers.map((viewer) => once(viewer, 'response')))
      for (const viewer of viewers) viewer.destroy()
    }
    await waitFor(async () => (await openFiles()) === 0)
    assert.ok((await get(service.url + pathOf(videoId, 1))).bytes.equals(segments[1]!))
  })
})

describe('files sent by nginx', () => {
  const service = serviceForBlock((ends) => kinora(ends, { KINORA_ACCEL_REDIRECT: location }))
  let videoId: string
  before(async () => {
    videoId = await makeVideo(service, onDisk(service))
  })

  test('the response for a file has its path, type and cache lifetime, and other responses have no X-Accel-Redirect', async () => {
    for (const [path, file, type] of [
      [pathOf(videoId, 1), 'hls/240p/0-x/1.m4s', 'video/mp4'],
      [mp4Of(videoId), 'mp4/240p-silent-x.mp4', 'video/mp4'],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, bytes } = await get(service.url + path, { range: 'bytes=0-9' }, method)
        assert.deepEqual([status, bytes.length], [200, 0])
        assert.equal(headers.get('x-accel-redirect'), `${location}videos/${videoId}/${file}`)
        assert.equal(headers.get('content-type'), type)
        assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
        assert.equal(headers.get('content-range'), null)
      }
    }
    const download = await get(`${service.url}${mp4Of(videoId)}?dl=1`)
    assert.match(download.headers.get('content-disposition') ?? '', /^attachment; filename="Film.mp4"/)
    for (const path of ['hls/manifest.m3u8', 'hls/240p/manifest.m3u8', 'hls/240p/init.mp4']) {
      const { headers, bytes } = await get(`${service.url}/vod/${videoId}/${path}`)
      assert.equal(headers.get('x-accel-redirect'), null)
      assert.ok(bytes.length > 0)
    }
    const missing = await get(service.url + pathOf(videoId, 9))
    assert.deepEqual([missing.status, missing.headers.get('x-accel-redirect')], [404, null])
  })

  test('with the documented configuration nginx sends the files and keeps the folder private', async (t: TestContext) => {
    const folder = await temporaryFolder(t)
    const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', certificate], {
      stdio: 'pipe',
    })
    const authorities = getCACertificates()
    setDefaultCACertificates([await readFile(certificate, 'utf8')])
    t.after(() => setDefaultCACertificates(authorities))
    const docs = await readFile(join(root, 'docs/delivery.md'), 'utf8')
    const [proxy = '', files = ''] = [...docs.matchAll(/```nginx\n(.*?)```/gs)].map(([, text]) => text)
    const closing = proxy.lastIndexOf('}')
    const insecurePort = await freePort()
    const nginx = await startNginx(folder, (port) =>
      `${proxy.slice(0, closing)}${files}}`
        .replace('127.0.0.1:8080', new URL(service.url).host.replace('localhost', '127.0.0.1'))
        .replace('listen 80', `listen 127.0.0.1:${insecurePort}`)
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        // The test asks from the address that may read metrics.
        .replace('allow 127.0.0.1', 'allow 127.0.0.2')
        .replace(/(?<=ssl_certificate ).*(?=;)/, certificate)
        .replace(/(?<=ssl_certificate_key ).*(?=;)/, key)
        .replace('/var/lib/kinora/files/', `${join(service.data, 'files')}/`),
    )
    if (!nginx) return t.skip('nginx is not installed')
    t.after(nginx.close)
    const url = nginx.url.replace('http:', 'https:')
    const host = { host: 'another.example' }
    for (const [path, content] of [
      [pathOf(videoId, 0), segments[0]!],
      [pathOf(videoId, 1), segments[1]!],
      [mp4Of(videoId), film],
    ] as const) {
      const complete = await get(url + path, host)
      assert.equal(complete.status, 200)
      assert.ok(complete.bytes.equals(content))
      assert.equal(complete.headers.get('content-type'), 'video/mp4')
      assert.equal(complete.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.equal(complete.headers.get('x-accel-redirect'), null)
      assert.equal(complete.headers.get('accept-ranges'), 'bytes')
      // Everything that the service says about the file reaches the viewer.
      const { headers: direct } = await get(service.url + path)
      const replaced = ['x-accel-redirect', 'content-length', 'connection', 'keep-alive', 'date', 'etag']
      for (const [name, value] of direct)
        if (name === 'x-request-id') assert.ok(complete.headers.get(name), name)
        else if (!replaced.includes(name)) assert.equal(complete.headers.get(name), value, name)
      const part = await get(url + path, { ...host, range: 'bytes=10-99' })
      assert.deepEqual(
        [part.status, part.headers.get('content-range')],
        [206, `bytes 10-99/${content.length}`],
      )
      assert.ok(part.bytes.equals(content.subarray(10, 100)))
      assert.equal((await get(url + path, { range: 'bytes=99999999-' })).status, 416)
      const etag = complete.headers.get('etag') ?? ''
      const ifRange = await get(url + path, { range: 'bytes=10-99', 'if-range': etag })
      assert.equal(ifRange.status, 206)
      assert.equal((await get(url + path, { 'if-none-match': etag })).status, 304)
      const head = await get(url + path, {}, 'HEAD')
      assert.equal(head.headers.get('content-length'), String(content.length))
    }
    const download = await get(`${url}${mp4Of(videoId)}?dl=1`)
    assert.match(download.headers.get('content-disposition') ?? '', /^attachment/)
    const playlist = await get(`${url}/vod/${videoId}/hls/240p/manifest.m3u8`, host)
    assert.doesNotMatch(playlist.bytes.toString(), /https?:|localhost|another/)
    const direct = `${location}videos/${videoId}/hls/240p/0-x/0.m4s`
    assert.equal((await get(url + direct)).status, 404)
    for (const path of ['/metrics', '/metrics/', '//metrics', '/%6detrics'])
      assert.equal((await get(url + path)).status, 403, path)
    assert.equal((await get(`${url}/internal/live/x/feed`)).status, 404)
    assert.equal(await protocolOf(url), 'h2')
    const insecure = await get(`http://127.0.0.1:${insecurePort}/vod/x?a=b`)
    assert.deepEqual(
      [insecure.status, insecure.headers.get('location')],
      [301, 'https://127.0.0.1/vod/x?a=b'],
    )
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { public: false } })
    assert.equal((await get(url + pathOf(videoId, 0))).status, 403)
  })
})

describe('files sent by S3', () => {
  let store: ReturnType<typeof openS3Files>
  const service = serviceForBlock(async (ends) => {
    const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
    ends.after(() => server.stop())
    server.createBucket('videos')
    const endpoint = `http://127.0.0.1:${server.port}`
    store = openS3Files({
      endpoint,
      bucket: 'videos',
      region: 'us-east-1',
      accessKey: 'test',
      secretKey: 'test',
    })
    ends.after(() => store.close())
    return kinora(ends, {
      KINORA_S3_ENDPOINT: endpoint,
      KINORA_S3_BUCKET: 'videos',
      KINORA_S3_ACCESS_KEY: 'test',
      KINORA_S3_SECRET_KEY: 'test',
      KINORA_S3_REDIRECT: 'on',
    })
  })
  let videoId: string
  before(async () => {
    videoId = await makeVideo(service, store.put)
  })

  test('viewers are redirected to a presigned URL with the headers of the service', async () => {
    const immutable = ['public, max-age=1800', 'public, max-age=31536000, immutable'] as const
    // The file name of a download follows the title, which may change.
    const short = ['public, max-age=60', 'public, max-age=60'] as const
    for (const [path, content, [ours, theirs]] of [
      [pathOf(videoId, 1), segments[1]!, immutable],
      [`${mp4Of(videoId)}?dl=1`, film, short],
    ] as const) {
      const { status, headers, bytes } = await get(service.url + path)
      assert.deepEqual([status, bytes.length, headers.get('etag')], [302, 0, null])
      assert.equal(headers.get('cache-control'), ours)
      assert.equal(headers.get('access-control-allow-origin'), '*')
      const presigned = headers.get('location') ?? ''
      // The S3 server of the tests ignores these parameters.
      const parameters = new URL(presigned).searchParams
      assert.equal(parameters.get('X-Amz-Expires'), '3600')
      assert.equal(parameters.get('response-content-type'), 'video/mp4')
      assert.equal(parameters.get('response-cache-control'), theirs)
      assert.equal(parameters.has('response-content-disposition'), path.endsWith('dl=1'))
      const complete = await get(presigned)
      assert.equal(complete.status, 200)
      assert.ok(complete.bytes.equals(content))
      const part = await get(presigned, { range: 'bytes=10-99' })
      assert.ok(part.bytes.equals(content.subarray(10, 100)))
      const presign = async () => (await get(service.url + path)).headers.get('location') ?? ''
      const dateOf = (url: string) => new URL(url).searchParams.get('X-Amz-Date')
      const next = await presign()
      // It changes every 15 minutes.
      const isSameDate = dateOf(next) === dateOf(presigned)
      assert.equal(isSameDate ? next : await presign(), isSameDate ? presigned : next, 'the URL changed')
      // A presigned URL is valid for GET only, so the service answers HEAD.
      const head = await get(service.url + path, {}, 'HEAD')
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(content.length)])
    }
    for (const path of ['hls/manifest.m3u8', 'hls/240p/manifest.m3u8', 'hls/240p/init.mp4'])
      assert.equal((await get(`${service.url}/vod/${videoId}/${path}`)).status, 200)
  })

  test('the presigned URL of a private video is for one viewer and not cacheable', async () => {
    const video = `${service.url}/videos/${videoId}`
    const { assets } = (await call(video, { method: 'PATCH', json: { public: false } })).body
    assert.equal((await get(service.url + pathOf(videoId, 0))).status, 403)
    const first = await get(assets.mp4)
    const own = new URL(first.headers.get('location') ?? '', assets.mp4)
    assert.equal(
      own.origin,
      new URL(service.url).origin,
      'the first redirect must lead to the URL with the session',
    )
    const { status, headers } = await get(own.href)
    assert.deepEqual([status, headers.get('cache-control')], [302, 'no-store'])
    assert.ok((await get(headers.get('location') ?? '')).bytes.equals(film))
    await call(video, { method: 'PATCH', json: { public: true } })
  })
})
