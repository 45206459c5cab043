import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, suite, type TestContext, test } from 'node:test'
import {
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  fileExists,
  kinora,
  MiB,
  openUpload,
  productionKey,
  query,
  type Service,
  sendFile,
  sharedKinora,
  sourcePath,
  startKinora,
  waitFor,
} from '../support/harness.ts'
import { createVideo, endsOf, uploadVideo, videoStatus } from '../support/videos.ts'

// Sources that the service fetches from a URL or copies from another video.

const film = randomBytes(11 * MiB + 5)
const other = randomBytes(9 * MiB + 3)

type Respond = (request: IncomingMessage, response: ServerResponse, hit: number) => void

/** A server of somebody else. `seen` contains the headers of each request. */
async function origin(t: TestContext, respond: Respond) {
  const seen: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    response.on('error', () => {})
    respond(request, response, seen.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4` }
}

/** Responds like a file server that supports ranges. */
function serve(request: IncomingMessage, response: ServerResponse, content: Buffer, etag: string) {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const isRange = request.headers.range !== undefined && request.headers['if-range'] === etag
  const body = isRange ? content.subarray(from) : content
  response.writeHead(isRange ? 206 : 200, {
    etag,
    'content-length': body.length,
    ...(isRange && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  })
  response.end(body)
}

/** Sends the first bytes, then closes the connection. */
function drop(
  response: ServerResponse,
  content: Buffer,
  bytes: number,
  headers: Record<string, string> = {},
) {
  response.writeHead(200, { 'content-length': content.length, ...headers })
  response.write(content.subarray(0, bytes), () => response.socket?.end())
}

const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true', KINORA_RESTORE_DAYS: '0' })

afterEach(() => assertNoErrorsLogged(service))

async function assertIngested(videoId: string, content: Buffer): Promise<void> {
  await assertSource(service.data, videoId, content)
  await waitFor(async () => (await videoStatus(service, videoId)).ingest.status === 'ingested')
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.equal(ingest.status, 'ingested')
  assert.equal(ingest.filesize, content.length)
  assert.equal(ingest.failure, undefined)
  assert.deepEqual(ingest.receivedParts, { parts: [], total: null })
  // Some sources are not videos, which the encoding may have found out already. A fetch must not fail any quality.
  const failures = encoding.qualities.filter(({ status }: { status: string }) => status === 'failed')
  for (const { failure } of failures) assert.equal(failure, 'The file is not a video that can be read.')
}

async function assertFailed(videoId: string, reason: RegExp, target: Service = service): Promise<void> {
  await waitFor(async () => (await videoStatus(target, videoId)).ingest.failure !== undefined)
  const { ingest, encoding } = await videoStatus(target, videoId)
  assert.match(ingest.failure, reason)
  assert.equal(ingest.status, undefined, 'nothing is being fetched')
  assert.equal(encoding.playable, false)
  assert.deepEqual(encoding.qualities, [], 'nothing was encoded')
  assert.deepEqual(await endsOf(target.database, videoId), [`failed: ${ingest.failure}`])
  // Removed after the status has changed.
  await waitFor(async () => !(await fileExists(sourcePath(service.data, videoId))))
}

// --- URLs

test('a file is fetched from its URL', async (t) => {
  const { url, seen } = await origin(t, (request, response) => serve(request, response, film, '"v1"'))
  const videoId = await createVideo(service, { source: url })
  await assertIngested(videoId, film)
  assert.equal(seen.length, 1)
  assert.equal(seen[0]?.range, undefined)
  assert.equal(seen[0]?.authorization, undefined)
})

test('a file without Content-Length is fetched to its end', async (t) => {
  const { url } = await origin(t, (_, response) => {
    response.write(film.subarray(0, 6 * MiB))
    response.end(film.subarray(6 * MiB))
  })
  await assertIngested(await createVideo(service, { source: url }), film)
})

test('absolute and relative redirects are followed', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) response.writeHead(302, { location: '/a?b=c' }).end('moved')
    else if (hit === 2) response.writeHead(308, { location: url }).end()
    else serve(request, response, other, '"v1"')
  })
  await assertIngested(await createVideo(service, { source: url }), other)
  assert.equal(seen.length, 3)
})

test('endless redirects fail', async (t) => {
  const { url } = await origin(t, (_, response) => response.writeHead(302, { location: url }).end())
  await assertFailed(await createVideo(service, { source: url }), /redirect/i)
})

test('after a dropped connection the fetch resumes at the received offset, if the file has not changed', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else serve(request, response, film, '"v1"')
  })
  await assertIngested(await createVideo(service, { source: url }), film)
  assert.equal(seen.length, 2)
  assert.equal(seen[1]?.['if-range'], '"v1"')
  const from = Number(/^bytes=(\d+)-$/.exec(String(seen[1]?.range))?.[1])
  assert.ok(from >= 5 * MiB && from <= 7 * MiB, String(seen[1]?.range))
})

test('the status is ingesting while a fetch continues after a dropped connection', async (t) => {
  let resume: (() => void) | undefined
  const { url } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else resume = () => serve(request, response, film, '"v1"')
  })
  const videoId = await createVideo(service, { source: url })
  await waitFor(() => resume !== undefined)
  const { ingest } = await videoStatus(service, videoId)
  assert.equal(ingest.status, 'ingesting')
  assert.equal(ingest.failure, undefined)
  resume?.()
  await assertIngested(videoId, film)
})

test('a server without range support is asked for the entire file again', async (t) => {
  const { url, seen } = await origin(t, (_, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else response.writeHead(200, { 'content-length': film.length, etag: '"v1"' }).end(film)
  })
  await assertIngested(await createVideo(service, { source: url }), film)
  assert.equal(seen.length, 2)
})

test('a file that changed after a dropped connection is fetched again from the start', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else serve(request, response, other, '"v2"')
  })
  await assertIngested(await createVideo(service, { source: url }), other)
  assert.equal(seen[1]?.['if-range'], '"v1"')
})

test('a response with a different range than requested does not corrupt the file', async (t) => {
  const { url } = await origin(t, (_, response, hit) => {
    if (hit === 1) return drop(response, film, 7 * MiB, { etag: '"v1"' })
    if (hit > 2) return response.writeHead(200, { 'content-length': film.length }).end(film)
    const range = `bytes 0-${film.length - 1}/${film.length}`
    response.writeHead(206, { 'content-length': film.length, 'content-range': range, etag: '"v1"' }).end(film)
  })
  const videoId = await createVideo(service, { source: url })
  await waitFor(async () => {
    const { ingest } = await videoStatus(service, videoId)
    return ingest.status === 'ingested' || ingest.failure !== undefined
  })
  if ((await videoStatus(service, videoId)).ingest.status === 'ingested') await assertIngested(videoId, film)
  else await assertFailed(videoId, /206|range/i)
})

test('a 4xx response fails the fetch without another attempt, and the status shows the reason', async (t) => {
  for (const code of [404, 403, 410, 401]) {
    const { url, seen } = await origin(t, (_, response) => response.writeHead(code).end('no'))
    await assertFailed(await createVideo(service, { source: url }), new RegExp(`${code}`))
    assert.equal(seen.length, 1)
  }
})

test('an empty file fails the fetch', async (t) => {
  const { url } = await origin(t, (_, response) => response.writeHead(200, { 'content-length': 0 }).end())
  await assertFailed(await createVideo(service, { source: url }), /empty/i)
})

test('a fetch that receives 503 is tried again', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) response.writeHead(503).end('later')
    else serve(request, response, other, '"v1"')
  })
  await assertIngested(await createVideo(service, { source: url }), other)
  assert.equal(seen.length, 2)
})

test('a video that is deleted during its fetch leaves no file', async (t) => {
  let isRequested = false
  let finish = () => {}
  const { url } = await origin(t, (_, response) => {
    response.writeHead(200, { 'content-length': film.length }).write(film.subarray(0, 6 * MiB))
    finish = () => void response.end(film.subarray(6 * MiB))
    isRequested = true
  })
  const videoId = await createVideo(service, { source: url })
  await waitFor(() => isRequested)
  await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
  finish()
  const next = await uploadVideo(service, other)
  await assertSource(service.data, next, other)
  await waitFor(async () => !(await fileExists(sourcePath(service.data, videoId))))
  assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
})

test('a source that is not an http or https URL is rejected when the video is created', async () => {
  for (const source of [
    'file:///etc/passwd',
    'ftp://example.com/a.mp4',
    'data:video/mp4;base64,AAAA',
    'gopher://example.com',
    '/etc/passwd',
    'vi0000000000000000000000',
    'http://',
    '',
  ]) {
    const response = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'x', source } })
    assertProblem(response, 400, 'invalid-attribute', 'source')
  }
})

// --- Clones

test('a clone has the content of its original, also after the original is deleted', async () => {
  const original = await uploadVideo(service, other)
  await assertSource(service.data, original, other)
  const clone = await createVideo(service, { source: original })
  await assertIngested(clone, other)
  assert.equal((await call(`${service.url}/videos/${original}`, { method: 'DELETE' })).status, 204)
  await waitFor(async () => !(await fileExists(sourcePath(service.data, original))))
  await assertSource(service.data, clone, other)
  const again = await createVideo(service, { source: clone })
  await assertIngested(again, other)
})

test('a clone of a video without content or of a deleted video fails, and the status shows the reason', async () => {
  const empty = await createVideo(service)
  await assertFailed(await createVideo(service, { source: empty }), /content/i)

  const original = await uploadVideo(service, other)
  const clone = await createVideo(service, { source: original })
  await call(`${service.url}/videos/${original}`, { method: 'DELETE' })
  await waitFor(async () => {
    const { ingest } = await videoStatus(service, clone)
    return ingest.status === 'ingested' || ingest.failure !== undefined
  })
  if ((await videoStatus(service, clone)).ingest.status === 'ingested') await assertIngested(clone, other)
  else await assertFailed(clone, /deleted|content/i)
})

test('a clone of an unfinished upload is created when the upload is complete', async () => {
  const empty = await createVideo(service)
  const url = `${service.url}/videos/${empty}/source`
  const upload = openUpload(url, other, { range: 'part 1/2' })
  await upload.write(MiB)
  const clone = await createVideo(service, { source: empty })
  assert.equal((await upload.end()).status, 201)
  assert.equal((await videoStatus(service, clone)).ingest.status, 'ingesting')
  assert.equal((await sendFile(url, film, { range: 'part 2/2' })).status, 201)
  await assertIngested(clone, Buffer.concat([other, film]))
})

/** Waits until the first job of a clone has run. */
const waitForJobs = (videoId: string) =>
  waitFor(async () => {
    const pending = `select from pgboss.job where data->>'videoId' = $1 and state < 'completed'`
    return (await query(service.database, pending, [videoId])).length === 0
  })

test('a clone of a clone is created when the first upload is complete', async () => {
  const empty = await createVideo(service)
  const url = `${service.url}/videos/${empty}/source`
  assert.equal((await sendFile(url, other, { range: 'part 1/2' })).status, 201)
  const clone = await createVideo(service, { source: empty })
  const cloneOfClone = await createVideo(service, { source: clone })
  await waitForJobs(clone)
  await waitForJobs(cloneOfClone)
  assert.equal((await sendFile(url, film, { range: 'part 2/2' })).status, 201)
  await assertIngested(clone, Buffer.concat([other, film]))
  await assertIngested(cloneOfClone, Buffer.concat([other, film]))
})

test('a clone fails if the URL of its original cannot be fetched', async (t) => {
  const { promise: isCloned, resolve: respond } = Promise.withResolvers<void>()
  const { url } = await origin(t, async (_, response) => {
    await isCloned
    response.writeHead(404).end()
  })
  const original = await createVideo(service, { source: url })
  const clone = await createVideo(service, { source: original })
  await waitForJobs(clone)
  respond()
  await assertFailed(original, /404/)
  await assertFailed(clone, /content/i)
})

suite('with separate services', { concurrency: 2 }, () => {
  test('without the setting, private IP addresses are rejected by number and by name, and no request is sent', async (t) => {
    const { url, seen } = await origin(t, (request, response) => serve(request, response, other, '"v1"'))
    const guarded = await kinora(t)
    const { port } = new URL(url)
    for (const source of [
      url,
      `http://localhost:${port}/film.mp4`,
      `http://[::1]:${port}/film.mp4`,
      `http://2130706433:${port}/film.mp4`,
      'http://169.254.169.254/latest/meta-data',
      'http://10.0.0.1/film.mp4',
    ]) {
      const response = await call(`${guarded.url}/videos`, {
        method: 'POST',
        json: { title: 'x', source },
      })
      if (response.status === 400) assertProblem(response, 400, 'invalid-attribute', 'source')
      else await assertFailed(response.body.videoId, /./, guarded)
    }
    assert.equal(seen.length, 0)
  })

  test('the next process completes a fetch that SIGKILL interrupted', async (t) => {
    let isRequested = false
    const { url, seen } = await origin(t, (request, response, hit) => {
      if (hit > 1) return serve(request, response, film, '"v1"')
      response
        .writeHead(200, { 'content-length': film.length, etag: '"v1"' })
        .write(film.subarray(0, 6 * MiB))
      isRequested = true
    })
    const env = { KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }
    const killed = await kinora(t, env)
    const videoId = await createVideo(killed, { source: url })
    await waitFor(() => isRequested)
    await killed.kill()
    const next = await startKinora({
      ...env,
      KINORA_DATABASE_URL: killed.database,
      KINORA_DATA_DIR: killed.data,
      KINORA_PRODUCTION_KEY: productionKey,
      KINORA_LOG_LEVEL: 'warn',
    })
    t.after(() => next.stop())
    await assertSource(killed.data, videoId, film)
    assert.equal(seen.length, 2)
    await next.stop()
  })
})
