import assert from 'node:assert/strict'
import { connect, Socket } from 'node:net'
import { test } from 'node:test'
import { FetchError } from './errors.ts'
import {
  answering,
  isFailure,
  listen,
  ok,
  open,
  openWithNames,
  readAll,
  until,
  usual,
} from './test-server.ts'

/** A connection that is never established. */
const blackHole = () => new Socket()

test('after a refused connection the next address is tried', async (t) => {
  const server = await listen(
    t,
    answering(() => ok('hello')),
  )
  const dialled: string[] = []
  const client = open(t, {
    lookup: (_host, _options, callback) =>
      callback(null, [
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ]),
    connect(address, port) {
      dialled.push(address)
      return connect(address === '::1' ? 1 : port, '127.0.0.1')
    },
  })
  const response = await client.request(`http://two.example:${server.port}/`, usual)
  assert.equal(await readAll(response.body), 'hello')
  assert.deepEqual(dialled, ['::1', '127.0.0.1'])
})

test('a silent address is overtaken by the next one and closed', async (t) => {
  const server = await listen(
    t,
    answering(() => ok('hello')),
  )
  const holes: Socket[] = []
  const client = open(t, {
    lookup: (_host, _options, callback) =>
      callback(
        null,
        ['10.0.0.1', '10.0.0.2', '::1'].map((address) => ({ address, family: 4 })),
      ),
    connect(address, port) {
      if (address === '::1') return connect(port, '127.0.0.1')
      holes.push(blackHole())
      return holes.at(-1)!
    },
  })
  const response = await client.request(`http://three.example:${server.port}/`, usual)
  assert.equal(await readAll(response.body), 'hello')
  // The address families alternate, so the second IPv4 address was never tried.
  assert.deepEqual(
    holes.map((each) => each.destroyed),
    [true],
  )
})

test('only a few of a thousand addresses are tried', async (t) => {
  const many = Array.from({ length: 1000 }, (_, i) => `93.184.${i >> 8}.${i & 255}`)
  const { client, dialled } = openWithNames(t, 1, [many])
  await assert.rejects(client.request('http://many.example/', usual), isFailure('unreachable', true))
  assert.equal(dialled.length, 6)
})

test('a closed port is unreachable', async (t) => {
  const server = await listen(t, () => {})
  const client = open(t, { connect: () => connect(1, '127.0.0.1') })
  await assert.rejects(client.request(server.url, usual), isFailure('unreachable', true))
})

test('a name that does not exist is a permanent error, and a failing resolver is a transient error', async (t) => {
  const failing = (code: string) =>
    open(t, { lookup: (_host, _options, callback) => callback(Object.assign(new Error(code), { code }), []) })
  await assert.rejects(
    failing('ENOTFOUND').request('http://a.example/', usual),
    isFailure('unreachable', false),
  )
  await assert.rejects(
    failing('EAI_AGAIN').request('http://a.example/', usual),
    isFailure('unreachable', true),
  )
  const empty = open(t, { lookup: (_host, _options, callback) => callback(null, []) })
  await assert.rejects(empty.request('http://a.example/', usual), isFailure('unreachable', true))
  const longName = `${'a'.repeat(63)}.`.repeat(10)
  await assert.rejects(open(t).request(`http://${longName}invalid/`, usual), FetchError)
})

test('the connect timeout covers the lookup, the connection and the TLS handshake', async (t) => {
  const limits = { ...usual, connectTimeoutMs: 100 }
  const mute = open(t, { lookup: () => {} })
  await assert.rejects(mute.request('http://slow.example/', limits), isFailure('timeout', true))
  const holes: Socket[] = []
  const deaf = open(t, {
    connect() {
      holes.push(blackHole())
      return holes[0]!
    },
  })
  await assert.rejects(deaf.request('http://10.0.0.1/', limits), isFailure('timeout', true))
  assert.equal(holes[0]?.destroyed, true)
  const server = await listen(t, () => {})
  await assert.rejects(
    open(t).request(server.url.replace('http', 'https'), limits),
    isFailure('timeout', true),
  )
  await until(() => server.sockets.size === 0)
})

test('a signal ends a request that is being connected', async (t) => {
  const client = open(t, { connect: blackHole })
  const signal = AbortSignal.timeout(50)
  await assert.rejects(client.request('http://10.0.0.1/', { ...usual, signal }), { name: 'TimeoutError' })
})
