import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import {
  assertProblem,
  assertSource,
  call,
  isThere,
  kinora,
  MiB,
  openUpload,
  productionKey,
  sendFile,
  sharedKinora,
  sourcePath,
  startKinora,
  waitFor,
} from './harness.ts'

// Content that the service fetches by itself: from an address, or from another video.

const film = randomBytes(11 * MiB + 5)
const other = randomBytes(9 * MiB + 3)

type Answering = (request: IncomingMessage, response: ServerResponse, hit: number) => void

/** A server that others would run. `seen` has the headers of each request. */
async function origin(t: TestContext, answer: Answering) {
  const seen: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    response.on('error', () => {})
    answer(request, response, seen.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4` }
}

/** As a server of files answers, with ranges. */
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

/** Sends the beginning, then ends the connection. */
function drop(
  response: ServerResponse,
  content: Buffer,
  bytes: number,
  headers: Record<string, string> = {},
) {
  response.writeHead(200, { 'content-length': content.length, ...headers })
  response.write(content.subarray(0, bytes), () => response.socket?.end())
}

const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

async function create(source: string, url = service.url): Promise<string> {
  const answer = await call(`${url}/videos`, { method: 'POST', json: { title: 'Fetched', source } })
  assert.equal(answer.status, 202, answer.text)
  return answer.body.videoId
}

const statusOf = async (videoId: string, url = service.url) =>
  (await call(`${url}/videos/${videoId}/status`)).body

async function assertIngested(videoId: string, content: Buffer): Promise<void> {
  await assertSource(service.data, videoId, content)
  await waitFor(async () => (await statusOf(videoId)).ingest.status === 'ingested')
  const { ingest, encoding } = await statusOf(videoId)
  assert.equal(ingest.filesize, content.length)
  assert.equal(ingest.failure, undefined)
  assert.deepEqual(ingest.receivedParts, { parts: [], total: null })
  assert.ok(encoding.qualities.every(({ status }: { status: string }) => status !== 'failed'))
}

async function assertFailed(videoId: string, reason: RegExp, url = service.url): Promise<void> {
  await waitFor(async () => (await statusOf(videoId, url)).ingest.failure !== undefined)
  const { ingest, encoding } = await statusOf(videoId, url)
  assert.match(ingest.failure, reason)
  assert.equal(ingest.status, 'ingesting')
  assert.equal(encoding.playable, false)
  assert.deepEqual(
    encoding.qualities.map(({ type, status }: { type: string; status: string }) => [type, status]),
    [['hls', 'failed']],
  )
  assert.equal(await isThere(sourcePath(service.data, videoId)), false)
}

async function uploaded(content: Buffer): Promise<string> {
  const { body } = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Original' } })
  const answer = await sendFile(`${service.url}/videos/${body.videoId}/source`, content)
  assert.equal(answer.status, 201, answer.text)
  return body.videoId
}

// --- addresses

test('a file is fetched from its address', async (t) => {
  const { url, seen } = await origin(t, (request, response) => serve(request, response, film, '"v1"'))
  const videoId = await create(url)
  await assertIngested(videoId, film)
  assert.equal(seen.length, 1)
  assert.equal(seen[0]?.range, undefined)
  assert.equal(seen[0]?.authorization, undefined)
})

test('a file whose length nobody tells is fetched to its end', async (t) => {
  const { url } = await origin(t, (_, response) => {
    response.write(film.subarray(0, 6 * MiB))
    response.end(film.subarray(6 * MiB))
  })
  await assertIngested(await create(url), film)
})

test('redirects are followed, also relative ones', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) response.writeHead(302, { location: '/a?b=c' }).end('moved')
    else if (hit === 2) response.writeHead(308, { location: url }).end()
    else serve(request, response, other, '"v1"')
  })
  await assertIngested(await create(url), other)
  assert.equal(seen.length, 3)
})

test('redirects without end fail', async (t) => {
  const { url } = await origin(t, (_, response) => response.writeHead(302, { location: url }).end())
  await assertFailed(await create(url), /redirect/i)
})

test('a dropped connection is resumed where it broke off, if the file is still the same', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else serve(request, response, film, '"v1"')
  })
  await assertIngested(await create(url), film)
  assert.equal(seen.length, 2)
  assert.equal(seen[1]?.['if-range'], '"v1"')
  const from = Number(/^bytes=(\d+)-$/.exec(String(seen[1]?.range))?.[1])
  assert.ok(from >= 5 * MiB && from <= 7 * MiB, String(seen[1]?.range))
})

test('a fetch that goes on after a dropped connection is ingesting until all is there', async (t) => {
  let goOn: (() => void) | undefined
  const { url } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else goOn = () => serve(request, response, film, '"v1"')
  })
  const videoId = await create(url)
  await waitFor(() => goOn !== undefined)
  const { ingest } = await statusOf(videoId)
  assert.equal(ingest.status, 'ingesting')
  assert.equal(ingest.failure, undefined)
  goOn?.()
  await assertIngested(videoId, film)
})

test('a server that knows no ranges is asked for everything again', async (t) => {
  const { url, seen } = await origin(t, (_, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else response.writeHead(200, { 'content-length': film.length, etag: '"v1"' }).end(film)
  })
  await assertIngested(await create(url), film)
  assert.equal(seen.length, 2)
})

test('a file that has changed after a dropped connection is fetched anew, and nothing of the old one stays', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) drop(response, film, 7 * MiB, { etag: '"v1"' })
    else serve(request, response, other, '"v2"')
  })
  await assertIngested(await create(url), other)
  assert.equal(seen[1]?.['if-range'], '"v1"')
})

test('a server that answers with another range than was asked for does not garble the file', async (t) => {
  const { url } = await origin(t, (_, response, hit) => {
    if (hit === 1) return drop(response, film, 7 * MiB, { etag: '"v1"' })
    if (hit > 2) return response.writeHead(200, { 'content-length': film.length }).end(film)
    const range = `bytes 0-${film.length - 1}/${film.length}`
    response.writeHead(206, { 'content-length': film.length, 'content-range': range, etag: '"v1"' }).end(film)
  })
  const videoId = await create(url)
  await waitFor(async () => {
    const { ingest } = await statusOf(videoId)
    return ingest.status === 'ingested' || ingest.failure !== undefined
  })
  if ((await statusOf(videoId)).ingest.status === 'ingested') await assertIngested(videoId, film)
  else await assertFailed(videoId, /206|range/i)
})

test('an address that refuses fails at once, and says why', async (t) => {
  for (const code of [404, 403, 410, 401]) {
    const { url, seen } = await origin(t, (_, response) => response.writeHead(code).end('no'))
    await assertFailed(await create(url), new RegExp(`${code}`))
    assert.equal(seen.length, 1)
  }
})

test('an empty file fails', async (t) => {
  const { url } = await origin(t, (_, response) => response.writeHead(200, { 'content-length': 0 }).end())
  await assertFailed(await create(url), /empty/i)
})

test('a server that is overloaded for a moment is asked again', async (t) => {
  const { url, seen } = await origin(t, (request, response, hit) => {
    if (hit === 1) response.writeHead(503).end('later')
    else serve(request, response, other, '"v1"')
  })
  await assertIngested(await create(url), other)
  assert.equal(seen.length, 2)
})

test('a video that is deleted while it is fetched leaves no file', async (t) => {
  let isAsked = false
  let finish = () => {}
  const { url } = await origin(t, (_, response) => {
    response.writeHead(200, { 'content-length': film.length }).write(film.subarray(0, 6 * MiB))
    finish = () => void response.end(film.subarray(6 * MiB))
    isAsked = true
  })
  const videoId = await create(url)
  await waitFor(() => isAsked)
  await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
  finish()
  const next = await uploaded(other)
  await assertSource(service.data, next, other)
  await waitFor(async () => !(await isThere(sourcePath(service.data, videoId))))
  assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
})

test('addresses that are no web addresses are refused when the video is created', async () => {
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
    const answer = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'x', source } })
    assertProblem(answer, 400, 'invalid-attribute', 'source')
  }
})

// --- clones

test('a clone has the content of its original, also after the original is gone', async () => {
  const original = await uploaded(other)
  await assertSource(service.data, original, other)
  const clone = await create(original)
  await assertIngested(clone, other)
  assert.equal((await call(`${service.url}/videos/${original}`, { method: 'DELETE' })).status, 204)
  await waitFor(async () => !(await isThere(sourcePath(service.data, original))))
  await assertSource(service.data, clone, other)
  const again = await create(clone)
  await assertIngested(again, other)
})

test('a clone of a video without content, or of one that is deleted, fails and says so', async () => {
  const { body } = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Empty' } })
  await assertFailed(await create(body.videoId), /content/i)

  const original = await uploaded(other)
  const clone = await create(original)
  await call(`${service.url}/videos/${original}`, { method: 'DELETE' })
  await waitFor(async () => {
    const { ingest } = await statusOf(clone)
    return ingest.status === 'ingested' || ingest.failure !== undefined
  })
  if ((await statusOf(clone)).ingest.status === 'ingested') await assertIngested(clone, other)
  else await assertFailed(clone, /deleted|content/i)
})

test('a clone of an upload that is not whole yet is made when it is', async () => {
  const { body } = await call(`${service.url}/videos`, { method: 'POST', json: { title: 'Original' } })
  const url = `${service.url}/videos/${body.videoId}/source`
  const upload = openUpload(url, other, { range: 'part 1/2' })
  await upload.write(MiB)
  const clone = await create(body.videoId)
  assert.equal((await upload.end()).status, 201)
  assert.equal((await statusOf(clone)).ingest.status, 'ingesting')
  assert.equal((await sendFile(url, film, { range: 'part 2/2' })).status, 201)
  await assertIngested(clone, Buffer.concat([other, film]))
})

test('the service has logged no error in all of this', () => {
  assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
})

suite('what takes long', { concurrency: 2 }, () => {
  test('private addresses are refused without the setting, by number and by name, and nobody is asked', async (t) => {
    const { url, seen } = await origin(t, (request, response) => serve(request, response, other, '"v1"'))
    const guarded = await kinora(t)
    const { port } = new URL(url)
    for (const address of [
      url,
      `http://localhost:${port}/film.mp4`,
      `http://[::1]:${port}/film.mp4`,
      `http://2130706433:${port}/film.mp4`,
      'http://169.254.169.254/latest/meta-data',
      'http://10.0.0.1/film.mp4',
    ]) {
      const answer = await call(`${guarded.url}/videos`, {
        method: 'POST',
        json: { title: 'x', source: address },
      })
      if (answer.status === 400) assertProblem(answer, 400, 'invalid-attribute', 'source')
      else await assertFailed(answer.body.videoId, /./, guarded.url)
    }
    assert.equal(seen.length, 0)
  })

  test('a fetch that kill -9 cut off is done by the next process', async (t) => {
    let isAsked = false
    const { url, seen } = await origin(t, (request, response, hit) => {
      if (hit > 1) return serve(request, response, film, '"v1"')
      response
        .writeHead(200, { 'content-length': film.length, etag: '"v1"' })
        .write(film.subarray(0, 6 * MiB))
      isAsked = true
    })
    const env = { KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }
    const killed = await kinora(t, env)
    const videoId = await create(url, killed.url)
    await waitFor(() => isAsked)
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
