import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { request as requestHttps } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { logIn } from '../support/browser/dashboard.ts'
import {
  type ApiResponse,
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  formBody,
  kinora,
  MiB,
  productionKey,
  query,
  type Service,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { film, makeVideo, mp4Of, onDisk, pathOf, segments } from '../support/stored-video.ts'
import { createVideo } from '../support/videos.ts'

// Every kind of request over HTTP/2. The limits of connections are tested with http2-connections.ts.

let service: Service
let session: ClientHttp2Session
const ends: (() => unknown)[] = []
before(async () => {
  const cleanup = { after: (end: () => unknown) => ends.push(end) }
  const folder = await temporaryFolder(cleanup)
  const [KINORA_TLS_CERT, KINORA_TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const files = ['-keyout', KINORA_TLS_KEY, '-out', KINORA_TLS_CERT]
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, ...files], { stdio: 'pipe' })
  const authorities = getCACertificates('default')
  setDefaultCACertificates([...authorities, readFileSync(KINORA_TLS_CERT, 'utf8')])
  ends.push(() => setDefaultCACertificates(authorities))
  const settings = { KINORA_TLS_CERT, KINORA_TLS_KEY, KINORA_RTMPS_PORT: '0', KINORA_BODY_SECONDS: '1' }
  service = await kinora(cleanup, settings)
  session = connect(service.url)
})
after(async () => {
  session.destroy()
  for (const end of ends) await end()
})

const authorization = `Basic ${btoa(`${productionKey}:`)}`

function open(path: string, headers: OutgoingHttpHeaders = {}, endStream = true): ClientHttp2Stream {
  return session.request({ ':path': path, ...headers }, { endStream })
}

async function receive(sent: ClientHttp2Stream): Promise<ApiResponse & { bytes: Buffer }> {
  const [received] = await once(sent, 'response')
  const bytes = await buffer(sent)
  const headers = new Headers()
  for (const [name, value] of Object.entries(received))
    if (!name.startsWith(':')) headers.append(name, String(value))
  const text = bytes.toString()
  const isJson = /json/.test(headers.get('content-type') ?? '') && text !== ''
  return {
    status: received[':status'] as number,
    headers,
    text,
    bytes,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

type Options = { method?: string; headers?: OutgoingHttpHeaders; body?: string | Buffer }

function send(path: string, { method = 'GET', headers = {}, body }: Options = {}) {
  const sent = open(path, { ':method': method, authorization, ...headers }, body === undefined)
  if (body !== undefined) sent.end(body)
  return receive(sent)
}

const multipart = (content: Buffer) => ({
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: formBody([{ name: 'file', filename: 'film.mp4', content }], 'b'),
})

test('a client chooses HTTP/2, or gets HTTP/1.1', async () => {
  assert.equal((await send('/healthz')).status, 200)
  assert.equal(session.alpnProtocol, 'h2')
  const sent = requestHttps(`${service.url}/healthz`).end()
  const [response] = await once(sent, 'response')
  assert.deepEqual([response.statusCode, response.httpVersion], [200, '1.1'])
  response.resume()
})

test('API requests have their JSON bodies, with and without their length, and errors', async () => {
  const json = JSON.stringify({ title: 'Second protocol' })
  for (const headers of [
    { 'content-type': 'application/json' },
    { 'content-length': json.length },
    { expect: '100-continue' },
  ]) {
    const created = await send('/videos', { method: 'POST', headers, body: json })
    assert.equal(created.status, 201, created.text)
    assert.equal(created.body.title, 'Second protocol')
    assert.equal((await send(`/videos/${created.body.videoId}`)).body.title, 'Second protocol')
    assert.equal((await send(`/videos/${created.body.videoId}`, { method: 'DELETE' })).status, 204)
  }
  assertProblem(await send('/videos/vi0'), 404, 'resource-not-found', 'videoId')
  assertProblem(await send('/nothing'), 404, 'unrecognized-request-url')
  assert.equal((await send('*', { method: 'OPTIONS' })).status, 204)
  const tooLong = await send('/auth/api-key', { method: 'POST', body: Buffer.alloc(100_000, '1') })
  assertProblem(tooLong, 413, 'payload-too-large')
})

test('a body that does not arrive gets 408, and the connection goes on', async () => {
  const late = open('/auth/api-key', { ':method': 'POST', 'content-length': 100 }, false)
  late.write('{')
  assertProblem(await receive(late), 408, 'request-timeout')
  late.close()
  assert.equal((await send('/videos')).status, 200)
})

describe('files are uploaded', () => {
  const content = randomBytes(6_000_000)
  /** Shorter chunks are allowed at the end only. */
  const chunkBytes = 5 * MiB

  test('in one request', async () => {
    const videoId = await createVideo(service)
    const uploaded = await send(`/videos/${videoId}/source`, { method: 'POST', ...multipart(content) })
    assert.equal(uploaded.status, 201, uploaded.text)
    await assertSource(service.data, videoId, content)
  })

  test('in chunks, several at a time', async () => {
    const videoId = await createVideo(service)
    const sendPart = (from: number, to: number) => {
      const { headers, body } = multipart(content.subarray(from, to))
      const range = `bytes ${from}-${to - 1}/${content.length}`
      const all = { ...headers, 'content-range': range }
      return send(`/videos/${videoId}/source`, { method: 'POST', headers: all, body })
    }
    const uploaded = await Promise.all([sendPart(0, chunkBytes), sendPart(chunkBytes, content.length)])
    for (const { status, text } of uploaded) assert.ok(status < 300, text)
    await assertSource(service.data, videoId, content)
  })

  test('over tus, and a client that disconnects continues where it stopped', async () => {
    const tus = { 'tus-resumable': '1.0.0' }
    const creation = { ...tus, 'upload-length': content.length }
    const created = await send('/tus', { method: 'POST', headers: creation })
    assert.equal(created.status, 201, created.text)
    const { pathname } = new URL(created.headers.get('location')!)
    const type = { 'content-type': 'application/offset+octet-stream' }
    const patch = (offset: number) => ({ ...tus, ...type, 'upload-offset': offset })
    const broken = open(pathname, { ':method': 'PATCH', ...patch(0) }, false)
    broken.on('error', () => {})
    broken.write(content.subarray(0, 1_000_000))
    const offset = async () =>
      Number((await send(pathname, { method: 'HEAD', headers: tus })).headers.get('upload-offset'))
    await waitFor(() => broken.writableLength === 0)
    broken.close(constants.NGHTTP2_CANCEL)
    // What was not read yet is lost.
    const received = await offset()
    const rest = { method: 'PATCH', headers: patch(received), body: content.subarray(received) }
    const continued = await send(pathname, rest)
    assert.deepEqual([continued.status, continued.text], [204, ''])
    await assertSource(service.data, continued.headers.get('x-video-id')!, content)
  })

  test('but not by a client that disconnects in the middle, or without a key', async () => {
    const videoId = await createVideo(service)
    const { headers, body } = multipart(content)
    const path = `/videos/${videoId}/source`
    const broken = open(path, { ':method': 'POST', authorization, ...headers }, false)
    broken.on('error', () => {})
    broken.write(body.subarray(0, 1_000_000))
    await waitFor(() => broken.writableLength === 0)
    broken.close(constants.NGHTTP2_CANCEL)
    const wrong = { ...headers, authorization: 'Basic eDo=' }
    assert.equal((await send(path, { method: 'POST', headers: wrong, body })).status, 401)
    // The chunk is free again.
    let again: ApiResponse | undefined
    await waitFor(
      async () => {
        again = await send(path, { method: 'POST', headers, body })
        return again.status === 201
      },
      () => again?.text ?? '',
    )
    await assertSource(service.data, videoId, content)
  })
})

test('files are sent in whole, in ranges, as a head only, and not at all if the client has them', async () => {
  const videoId = await makeVideo(service, onDisk(service))
  for (const [path, content] of [
    [pathOf(videoId, 1), segments[1]!],
    [mp4Of(videoId), film],
  ] as const) {
    const [whole, part, head] = await Promise.all([
      send(path),
      send(path, { headers: { range: 'bytes=100-299999' } }),
      send(path, { method: 'HEAD' }),
    ])
    assert.ok(whole.bytes.equals(content))
    assert.deepEqual([part.status, part.bytes.equals(content.subarray(100, 300_000))], [206, true])
    assert.deepEqual([head.bytes.length, head.headers.get('content-length')], [0, String(content.length)])
    const known = await send(path, { headers: { 'if-none-match': whole.headers.get('etag')! } })
    assert.deepEqual([known.status, known.bytes.length], [304, 0])
    assert.equal((await send(path, { headers: { range: 'bytes=99999999-' } })).status, 416)
  }
})

test('a blocked playlist and a part of a live stream are sent when they exist', async () => {
  const { streamKey, assets } = await createLiveStream(service)
  const source = makeSource()
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  let master: ApiResponse | undefined
  const { pathname } = new URL(assets.hls)
  await waitFor(async () => {
    master = await send(pathname)
    return master.status === 200
  })
  const [line = ''] = master!.text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))
  const playlist = new URL(line, assets.hls).pathname
  let hint = ''
  await waitFor(async () => {
    hint = /PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/.exec((await send(playlist)).text)?.[1] ?? ''
    return hint !== ''
  })
  const [, sequence, index] = /^(\d+)-1\.(\d+)\.m4s$/.exec(hint) ?? []
  const waiting = [
    send(`${playlist}?_HLS_msn=${sequence}&_HLS_part=${index}`),
    send(new URL(hint, new URL(playlist, service.url)).pathname),
  ]
  // Waiting requests do not hold up others of the connection.
  assert.equal((await send('/healthz')).status, 200)
  await encoder.send(source, 6_000)
  const [reloaded, part] = await Promise.all(waiting)
  assert.ok(reloaded!.text.includes(`URI="${hint}"`), reloaded!.text)
  assert.equal(part!.status, 200)
  assert.ok(part!.bytes.length > 0)
  await encoder.close()
})

test('the dashboard and the metrics answer at the names of the service only', async () => {
  for (const [authority, status] of [
    ['attacker.example', 421],
    ['localhost', 200],
  ] as const) {
    const sent = open('/metrics', { ':authority': authority, host: 'localhost' })
    assert.equal((await receive(sent)).status, status, authority)
  }
})

test('the dashboard works in a browser, and is told of changes', { skip }, async () => {
  const browser = (await launchBrowser())!
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const [name, value] = (await logIn(service)).cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url: `${service.url}/dashboard` }])
    const page = await context.newPage()
    const changes = page.waitForResponse((each) => each.url().includes('/dashboard/changes/'))
    await page.goto(`${service.url}/dashboard/production/videos`)
    await changes
    const protocols = await page.evaluate(
      `[...new Set(performance.getEntries().flatMap(({ nextHopProtocol }) => nextHopProtocol || []))].join()`,
    )
    assert.equal(protocols, 'h2')
    await createVideo(service, { title: 'Appears by itself' })
    await page.getByText('Appears by itself').first().waitFor()
  } finally {
    await browser.close()
  }
})

test('a stop finishes running requests, and nothing was logged as an error or a warning', async () => {
  const videoId = await createVideo(service)
  const { headers, body } = multipart(randomBytes(100_000))
  const sent = open(`/videos/${videoId}/source`, { ':method': 'POST', authorization, ...headers }, false)
  sent.write(body.subarray(0, 50_000))
  const isReceiving = async () =>
    (await query(service.database, 'select from sources where video_id = $1', [videoId])).length > 0
  await waitFor(isReceiving)
  const ended = once(session, 'goaway')
  const stopped = service.stop()
  await ended
  sent.end(body.subarray(50_000))
  assert.equal((await receive(sent)).status, 201)
  assert.equal(await stopped, 0)
  assertNoErrorsLogged(service)
  assert.doesNotMatch(service.output(), /Warning/)
})
