import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  assertNoErrorsLogged,
  assertProblem,
  call,
  kinora,
  query,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { itemsOf, startImport, waitForImport } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'

// From a service that behaves badly.

const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
let clip: Buffer

before(async () => {
  const path = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(path, { size: '64x48', rate: '5', seconds: 1 })
  clip = await readFile(path)
})

/** 10 MB of JSON. */
const bomb = gzipSync(`{"data": "${'x'.repeat(10_000_000)}"}`)

type Answer = (request: IncomingMessage, response: ServerResponse, url: URL) => unknown

/** Videos by id. Other requests are answered by `answer`, which returns true if it has done so. */
async function serve(t: TestContext, videos: Record<string, object>, answer: Answer = () => false) {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    requests.push(`${request.method} ${url.pathname}`)
    if (await answer(request, response, url)) return
    const send = (value: unknown) => response.end(JSON.stringify(value))
    const at = (id: string) => ({
      ...{ videoId: id, title: id, mp4Support: true, updatedAt: '2026-01-01', createdAt: '2026-01-01' },
      assets: { mp4: `${url.origin}/file` },
      ...videos[id],
    })
    const id = decodeURIComponent(url.pathname.split('/')[2] ?? '')
    if (url.pathname === '/file') return response.end(clip)
    if (url.pathname === '/videos')
      return send({ data: Object.keys(videos).map(at), pagination: { pagesTotal: 1 } })
    if (videos[id] && url.pathname === `/videos/${encodeURIComponent(id)}`) return send(at(id))
    response.statusCode = 404
    send({})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const from = (url: string) => ({ service: 'api.video', url, key: 'the-secret-key', include: [] })

async function importFrom(url: string, more: object = {}) {
  const importId = await startImport(target, { ...from(url), ...more })
  return { ended: await waitForImport(target, importId), items: await itemsOf(target, importId) }
}

test('a list that repeats itself ends the import', async (t) => {
  const data = [{ videoId: 'vi1', title: 'One' }]
  const { url } = await serve(t, {}, (_, response, { pathname }) => {
    if (pathname !== '/videos') return false
    const many = Array.from({ length: 100 }, () => data[0])
    response.end(JSON.stringify({ data: many, pagination: { pagesTotal: 1e9 } }))
    return true
  })
  const { ended } = await importFrom(url)
  assert.deepEqual([ended.state, ended.failure], ['failed', 'The list of the service does not end.'])
})

test('a cursor that repeats ends the import, and so does an empty page', async (t) => {
  const pages = [
    { data: [{ id: 'one' }], next_cursor: 'again' },
    { data: [{ id: 'two' }], next_cursor: 'again' },
    { data: [], next_cursor: 'again' },
  ]
  for (const [answers, state] of [
    [pages.slice(0, 2), 'failed'],
    [pages.slice(2), 'completed'],
  ] as const) {
    const left = [...answers]
    const { url } = await serve(t, {}, (_, response) => {
      response.end(JSON.stringify(left.shift() ?? answers.at(-1)))
      return true
    })
    const importId = await startImport(target, { service: 'mux', url, key: 'id', secret: 'the-secret-key' })
    const ended = await waitForImport(target, importId)
    assert.equal(ended.state, state)
    if (state === 'failed') assert.equal(ended.failure, 'The list of the service does not end.')
  }
})

test('a list that is not JSON, too large or refused ends the import with the reason', async (t) => {
  const answers: [Answer, RegExp][] = [
    [(_, response) => response.end('<html>'), /did not answer with JSON/],
    [(_, response) => response.end(`["${'x'.repeat(40 * 1024 * 1024)}"]`), /sent more than 32 MiB/],
    [(_, response) => response.writeHead(401).end(), /refused the key \(status 401\)/],
    [(_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(), /./],
    [(_, response) => response.end('{"data": [{"title": "no id"}]}'), /without a usable id/],
    [
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      /compressed content/,
    ],
  ]
  for (const [answer, reason] of answers) {
    const { url } = await serve(t, {}, (...args) => {
      answer(...args)
      return true
    })
    const { ended } = await importFrom(url)
    assert.equal(ended.state, 'failed')
    assert.match(ended.failure, reason)
  }
  assert.doesNotMatch(target.output(), /the-secret-key/)
})

test('ids that are paths, huge titles and broken attributes do no harm', async (t) => {
  const { url } = await serve(t, {
    'vi../../../etc': { title: 'x'.repeat(1_000_000) },
    'vi%2e%2e': {
      tags: ['a', 'a', 7, 'b'.repeat(1_000)],
      metadata: [{ key: '', value: 1 }, 'x', { key: 'k', value: 'v' }],
    },
    vi_kept: { title: 'Kept\0', language: 'xx', playerId: 'pl404', public: 'no', createdAt: 'never' },
  })
  const { ended, items } = await importFrom(url)
  assert.equal(ended.items.done, 3, JSON.stringify([...items]))
  const [path, encoded, kept] = ['vi../../../etc', 'vi%2e%2e', 'vi_kept'].map((id) => items.get(id)!)
  assert.match(path!.objectId ?? '', /^vi\w{22}$/)
  assert.match(path!.notes.join(), /The title was cut after 1000 characters.*new id/)
  assert.match(encoded!.objectId ?? '', /^vi\w{22}$/)
  assert.equal(kept!.objectId, 'vi_kept')
  assert.match(kept!.notes.join(), /pl404 was not imported.*language "xx" is not known here/)
  const { body } = await call(`${target.url}/videos/vi_kept`)
  assert.deepEqual([body.title, body.public, body.language], ['Kept', true, null])
  const tagged = (await call(`${target.url}/videos/${encoded!.objectId}`)).body
  assert.deepEqual([tagged.tags, tagged.metadata], [['a'], [{ key: 'k', value: 'v' }]])
  assertNoErrorsLogged(target)
})

test('files that are none, are missing or end early fail alone, or are continued', async (t) => {
  let attempts = 0
  const { url } = await serve(
    t,
    {
      vi1: { assets: { mp4: 'file:///etc/passwd' } },
      vi2: { assets: { mp4: 'http://127.0.0.1:59999/none' } },
      vi3: {},
      vi4: {},
      vi5: { assets: {} },
    },
    (request, response, { pathname }) => {
      if (pathname === '/videos/vi3') {
        response.end(
          JSON.stringify({
            videoId: 'vi3',
            title: '',
            assets: { mp4: `http://${request.headers.host}/text` },
          }),
        )
        return true
      }
      if (pathname === '/text') return response.end('no video')
      if (pathname === '/videos/vi4') {
        response.end(
          JSON.stringify({
            videoId: 'vi4',
            title: '',
            assets: { mp4: `http://${request.headers.host}/cut` },
          }),
        )
        return true
      }
      if (pathname !== '/cut') return false
      attempts++
      response.setHeader('content-length', clip.length)
      if (attempts === 1) {
        response.write(clip.subarray(0, 1_000), () => response.destroy())
        return true
      }
      response.end(clip)
      return true
    },
  )
  const importId = await startImport(target, { ...from(url), limit: 5 })
  await waitFor(async () => {
    const items = await itemsOf(target, importId)
    return ['vi1', 'vi3', 'vi4', 'vi5'].every((id) => /done|failed/.test(items.get(id)?.state ?? ''))
  })
  const items = await itemsOf(target, importId)
  const states = ['vi1', 'vi3', 'vi4', 'vi5'].map((id) => items.get(id)?.state)
  assert.deepEqual(states, ['failed', 'failed', 'done', 'failed'], JSON.stringify([...items]))
  assert.match(items.get('vi3')?.reason ?? '', /not a video/)
  assert.match(items.get('vi5')?.reason ?? '', /neither a source nor an MP4/)
  await call(`${target.url}/imports/${importId}/cancel`, { method: 'POST' })
  assert.match(
    (await itemsOf(target, importId)).get('vi2')?.reason ?? '',
    /canceled|could not be reached|closed|connection/i,
  )
  assertProblem(
    await call(`${target.url}/imports/${importId}/resume`, { method: 'POST' }),
    409,
    'import-ended',
  )
})

test('after too many requests the entire import waits as long as the service says', async (t) => {
  let refused = 0
  const { url, requests } = await serve(t, { vi1: {}, vi2: {} }, (_, response, { pathname }) => {
    if (pathname !== '/videos/vi1' || refused > 0) return false
    refused++
    response.writeHead(429, { 'retry-after': '2' }).end()
    return true
  })
  const { ended, items } = await importFrom(url, { concurrency: 1 })
  assert.equal(ended.items.done, 2, JSON.stringify([...items]))
  // The other video waited, too.
  assert.equal(
    requests.indexOf('GET /videos/vi2') > requests.lastIndexOf('GET /videos/vi1'),
    true,
    requests.join('\n'),
  )
})

test('a private address of a service or file is refused without the setting', async (t) => {
  const guarded = await kinora(t)
  const { url } = await serve(t, {})
  const importId = await startImport(guarded, from(url))
  const ended = await waitForImport(guarded, importId)
  assert.deepEqual([ended.state, /private or reserved network/.test(ended.failure)], ['failed', true])
})

test('no row has the key in clear text while an import needs it', async (t) => {
  const { url } = await serve(t, { vi1: {} })
  const importId = await startImport(target, { ...from(url), dryRun: true })
  assert.equal((await waitForImport(target, importId)).state, 'ready')
  const rows = await query(
    target.database,
    `select encode(credentials, 'escape') || r::text || coalesce(string_agg(i::text, ''), '') as text
     from import_runs r left join import_items i on i.run_id = r.id where r.id = $1 group by r.id`,
    [importId],
  )
  assert.match(rows[0].text, /vi1/)
  const key = 'the-secret-key'
  for (const form of [key, btoa(`${key}:`), Buffer.from(key).toString('hex')])
    assert.ok(!rows[0].text.includes(form))
  assert.ok(!target.output().includes(key))
  await call(`${target.url}/imports/${importId}/cancel`, { method: 'POST' })
})

test('a request names what is missing', async () => {
  const post = (json: object) => call(`${target.url}/imports`, { method: 'POST', json })
  assertProblem(await post({ service: 'kinora', key: 'k' }), 400, 'attribute-required', 'url')
  assertProblem(await post({ service: 'api.video' }), 400, 'attribute-required', 'key')
  assertProblem(await post({ service: 'kinora', key: 'k', url: 'ftp://x' }), 400, 'invalid-attribute', 'url')
  assertProblem(await post({ service: 's3', key: 'k', secret: 's' }), 400, 'attribute-required', 'location')
  assertProblem(await post({ service: 'unknown' }), 400, 'invalid-attribute', 'service')
  assertProblem(
    await post({ service: 'urls', list: [{ url: 'x' }] }),
    400,
    'invalid-attribute',
    'list[0][url]',
  )
})
