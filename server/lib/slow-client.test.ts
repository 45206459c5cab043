import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { until } from './fetch/test-server.ts'
import { watchSlowClient } from './slow-client.ts'

/** A request that is being received, and the connection of its client. Time passes only by `tick`. */
async function start(t: TestContext, length: number) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => {
    client.destroy()
    server.close().closeAllConnections()
  })
  client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`)
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  t.mock.timers.enable({ apis: ['setInterval'] })
  let slow = 0
  const stop = watchSlowClient(request, () => slow++, 600)
  const send = async (bytes: number) => {
    const before = request.socket.bytesRead
    client.write(Buffer.alloc(bytes))
    await until(() => request.socket.bytesRead === before + bytes)
  }
  return { request, send, stop, slowCalls: () => slow, tick: (ms: number) => t.mock.timers.tick(ms) }
}

test('a client that sends less than 1 KiB in a window is too slow, and reported once', async (t) => {
  const { request, send, tick, slowCalls } = await start(t, 10_000)
  request.resume()
  for (let step = 0; step < 5; step++) {
    tick(100)
    await send(1)
  }
  assert.equal(slowCalls(), 0)
  tick(100)
  assert.equal(slowCalls(), 1)
  tick(10_000)
  assert.equal(slowCalls(), 1)
})

test('a client that sends at least 1 KiB in each window is not too slow', async (t) => {
  const { request, send, tick, slowCalls } = await start(t, 1_000_000)
  request.resume()
  for (let window = 0; window < 20; window++) {
    await send(1_100)
    tick(500)
  }
  assert.equal(slowCalls(), 0)
})

test('a client is not blamed while the server does not read, or after the body has arrived', async (t) => {
  const { request, send, tick, slowCalls } = await start(t, 1_000)
  await send(900)
  await until(() => request.readableLength > 0)
  tick(10_000)
  assert.equal(slowCalls(), 0)
  await send(100)
  request.resume()
  await once(request, 'end')
  tick(10_000)
  assert.equal(slowCalls(), 0)
})

test('nothing is reported after watching was stopped', async (t) => {
  const { stop, tick, slowCalls } = await start(t, 1_000)
  stop()
  tick(10_000)
  assert.equal(slowCalls(), 0)
})
