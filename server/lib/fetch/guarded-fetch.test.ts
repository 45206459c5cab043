import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { UrlNotAllowedError } from './errors.ts'
import {
  answering,
  isFailure,
  listen,
  ok,
  open,
  openWithNames,
  publicAddress,
  readAll,
  redirect,
  until,
  usual,
} from './test-server.ts'

const pathOf = (request: string) => request.split(' ')[1]

// This test must be the first in the file, because it counts timers.
test('a finished request leaves no connection, timer or listener behind', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  // The server closes no connection, so the client has to.
  const server = await listen(
    t,
    answering((request, socket) => {
      const answer = pathOf(request) === '/moved' ? redirect(302, '/') : ok('hello')
      socket.write(request.startsWith('HEAD') ? answer.replace('hello', '') : answer)
      return undefined
    }),
  )
  const client = open(t)
  const { signal } = new AbortController()
  // Longer than this test takes, so a timer that was not cleared is still there.
  const limits = {
    maxRedirects: 5,
    connectTimeoutMs: 60_000,
    headersTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    signal,
  }
  const before = timers()
  await readAll((await client.request(server.url, limits)).body)
  await readAll((await client.request(`${server.url}/moved`, limits)).body)
  const canceled = await client.request(server.url, limits)
  canceled.cancel()
  await client.request(server.url, { ...limits, method: 'HEAD' })
  await until(() => server.sockets.size === 0 && timers() <= before)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('the connection is opened to the IP address that was checked', async (t) => {
  const server = await listen(
    t,
    answering(() => ok('hello')),
  )
  const { client, lookedUp, dialled } = openWithNames(t, server.port, [[publicAddress], ['127.0.0.1']])
  const response = await client.request('http://rebind.example/', usual)
  assert.equal(await readAll(response.body), 'hello')
  assert.deepEqual(lookedUp, ['rebind.example'])
  assert.deepEqual(dialled, [publicAddress])
})

test('a name that resolves to a private address the second time is rejected without a connection', async (t) => {
  const server = await listen(
    t,
    answering(() => ok('hello')),
  )
  const { client, dialled } = openWithNames(t, server.port, [[publicAddress], ['127.0.0.1']])
  const first = await client.request('http://rebind.example/', usual)
  first.cancel()
  await assert.rejects(client.request('http://rebind.example/', usual), UrlNotAllowedError)
  assert.deepEqual(dialled, [publicAddress])
})

test('a name is resolved and checked again on each hop, even if it redirects to itself', async (t) => {
  const server = await listen(
    t,
    answering(() => redirect(302, '/again')),
  )
  const { client, lookedUp, dialled } = openWithNames(t, server.port, [[publicAddress], ['169.254.169.254']])
  await assert.rejects(client.request('http://rebind.example/', usual), (error: Error) => {
    assert.ok(error instanceof UrlNotAllowedError)
    assert.equal(error.message, 'rebind.example is in a private or reserved network, which is not allowed.')
    return true
  })
  assert.deepEqual([lookedUp.length, dialled], [2, [publicAddress]])
})

test('a name with a public and a private address is rejected', async (t) => {
  for (const answers of [
    [publicAddress, '10.0.0.1'],
    ['fd00::1', publicAddress],
    [publicAddress, 'rubbish'],
    ['fe80::1%lo'],
  ]) {
    const { client, dialled } = openWithNames(t, 1, [answers])
    await assert.rejects(client.request('http://mixed.example/', usual), UrlNotAllowedError)
    assert.deepEqual(dialled, [])
  }
})

test('names of this machine are rejected because of their addresses', async (t) => {
  const client = open(t, { allowPrivateNetworks: false })
  for (const name of ['localhost', 'LOCALHOST']) {
    await assert.rejects(client.request(`http://${name}/`, usual), UrlNotAllowedError)
  }
})

test('a redirect to a private address, another scheme or a blocked port is rejected', async (t) => {
  const targets = [
    'http://127.0.0.1/',
    '//0x7f.1/',
    'http://[::ffff:10.0.0.1]/',
    'file:///etc/passwd',
    'gopher://a.example/',
    'http://a:b@a.example/',
    'http://a.example:25/',
    'http://[',
  ]
  for (const target of targets) {
    const server = await listen(
      t,
      answering(() => redirect(302, target)),
    )
    const { client, dialled } = openWithNames(t, server.port, [[publicAddress]])
    await assert.rejects(client.request('http://public.example/', usual), UrlNotAllowedError, target)
    assert.deepEqual(dialled, [publicAddress])
  }
})

test('redirects are followed, relative ones as well, and the response has the final URL', async (t) => {
  const hops = new Map([
    ['/a', '/b?c=d'],
    ['/b?c=d', 'e'],
    ['/e', '//other.example/f'],
  ])
  const server = await listen(
    t,
    answering((request) => {
      const next = hops.get(pathOf(request)!)
      return next ? redirect(301, next) : ok(/^host: .*/im.exec(request)![0])
    }),
  )
  const { client } = openWithNames(t, server.port, [[publicAddress]])
  const response = await client.request('http://first.example/a#fragment', usual)
  assert.equal(response.url, 'http://other.example/f')
  assert.equal(await readAll(response.body), 'host: other.example')
})

test('a loop of redirects ends', async (t) => {
  let requests = 0
  const server = await listen(
    t,
    answering(() => {
      requests++
      return redirect(307, '/')
    }),
  )
  const request = open(t).request(server.url, { ...usual, maxRedirects: 3 })
  await assert.rejects(request, isFailure('too-many-redirects', false))
  assert.equal(requests, 4)
})

test('with maxRedirects 0 a redirect is returned, and so is a redirect without a location', async (t) => {
  const server = await listen(
    t,
    answering((request) =>
      pathOf(request) === '/'
        ? redirect(302, 'http://127.0.0.1:1/')
        : 'HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n',
    ),
  )
  const client = open(t)
  const response = await client.request(server.url, { ...usual, maxRedirects: 0 })
  assert.deepEqual([response.status, response.headers.location], [302, 'http://127.0.0.1:1/'])
  response.cancel()
  const nowhere = await client.request(`${server.url}/nowhere`, usual)
  assert.equal(nowhere.status, 302)
  nowhere.cancel()
})

test('secret headers are only sent to their origin, and other headers to every origin', async (t) => {
  const seen: string[] = []
  const server = await listen(
    t,
    answering((request) => {
      seen.push(request)
      const next = { '/': '/same', '/same': 'http://other.example/' }[pathOf(request)!]
      return seen.length < 3 ? redirect(302, next!) : ok('')
    }),
  )
  const { client } = openWithNames(t, server.port, [[publicAddress]])
  const headers = { Authorization: 'Bearer s', Cookie: 'a=b', Range: 'bytes=5-' }
  const response = await client.request('http://first.example/', { ...usual, headers })
  await readAll(response.body)
  assert.deepEqual(
    seen.map((each) => /authorization: Bearer s/i.test(each)),
    [true, true, false],
  )
  assert.deepEqual(
    seen.map((each) => /cookie: a=b/i.test(each)),
    [true, true, false],
  )
  assert.ok(seen.every((each) => /^range: bytes=5-/im.test(each)))
})

test('a GET requests no compression and no reuse, and has a user agent', async (t) => {
  const server = await listen(
    t,
    answering((request) => ok(request)),
  )
  const response = await open(t).request(`${server.url}/a%20b?c=%C3%A9#d`, usual)
  const lines = (await readAll(response.body)).trimEnd().split('\r\n').sort()
  assert.deepEqual(lines, [
    'GET /a%20b?c=%C3%A9 HTTP/1.1',
    'accept-encoding: identity',
    'accept: */*',
    'connection: close',
    `host: 127.0.0.1:${server.port}`,
    'user-agent: kinora-test',
  ])
})

test('a POST sends its body with its length, through 307, and becomes a GET through 303', async (t) => {
  const seen: string[] = []
  const server = await listen(
    t,
    answering((request) => {
      if (/content-length: 7/.test(request) && !request.endsWith('{"a":1}')) return undefined
      seen.push(
        `${request.split(' HTTP')[0]} ${request.split('\r\n\r\n')[1]} ${/^content-type/im.test(request)}`,
      )
      return [redirect(307, '/kept'), redirect(303, '/changed'), ok('done')][seen.length - 1]
    }),
  )
  const response = await open(t).request(server.url, {
    ...usual,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"a":1}'),
  })
  assert.equal(await readAll(response.body), 'done')
  assert.deepEqual(seen, ['POST / {"a":1} true', 'POST /kept {"a":1} true', 'GET /changed  false'])
})

test('a HEAD returns the headers without a body, and leaves no connection open', async (t) => {
  const server = await listen(
    t,
    answering(() => 'HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n'),
  )
  const response = await open(t).request(server.url, { ...usual, method: 'HEAD' })
  assert.equal(response.headers['content-length'], '5000000')
  assert.equal(await readAll(response.body), '')
})

test('closing the client ends running requests and rejects later ones', async (t) => {
  const server = await listen(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nbegin'))
  const client = open(t)
  const response = await client.request(server.url, usual)
  const reading = readAll(response.body)
  const silent = await listen(t, () => {})
  const waiting = client.request(silent.url, usual)
  const ends = Promise.all([
    assert.rejects(reading, { name: 'AbortError' }),
    assert.rejects(waiting, { name: 'AbortError' }),
  ])
  await client.close()
  await ends
  await assert.rejects(client.request(server.url, usual), /is closed/)
})
