import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { type AmfValue, encodeAmf } from '../../rtmp/amf0.ts'
import { encodeMessage, messageType } from '../../rtmp/chunks.ts'
import { RtmpClient } from '../../rtmp/client.ts'
import { beginHandshake } from '../../rtmp/handshake.ts'
import { makeCertificate, startRtmpServer, timeoutMs, until } from './test-server.ts'

async function open(t: TestContext, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const command = (...values: AmfValue[]) =>
  encodeMessage({ type: messageType.command, streamId: 1, timestamp: 0, payload: encodeAmf(...values) }, 128)
const published = Buffer.concat([command('connect', 1, { app: 's' }), command('publish', 2, null, 'key')])
const ping = encodeMessage(
  { type: messageType.userControl, streamId: 0, timestamp: 0, payload: Buffer.from([0, 6, 0, 0, 0, 0]) },
  128,
)

test('a client that asks but does not read fills no memory, and gets further answers when it reads', async (t) => {
  const { port, sockets, publications } = await startRtmpServer(t)
  const client = await open(t, port)
  await until(() => sockets.size === 1)
  const [server] = sockets as Set<Socket>
  client.write(Buffer.concat([beginHandshake(), Buffer.alloc(1536), published]))
  await until(() => publications.length === 1)
  client.write(Buffer.alloc(600_000 * ping.length, ping))
  await until(() => server!.writableNeedDrain)
  // Enough for the server to read everything, if it did not wait.
  for (let i = 0; i < 2_000; i++) await turn()
  assert.ok(server!.writableLength < 1024 * 1024, `${server!.writableLength} bytes`)
  const received = server!.bytesRead
  client.resume()
  await until(() => server!.bytesRead > received)
})

test('what an encoder sent before it ended the connection is handled, also when it had to wait', async (t) => {
  const waiting = Promise.withResolvers<void>()
  const tls = makeCertificate(t, 'localhost')
  const drain = () => waiting.promise
  const { port, sockets, publications, ends } = await startRtmpServer(t, { tls, drain })
  // TLS reads on, so the end of the connection is noticed.
  const client = connectTls({ port, host: '127.0.0.1', ca: tls.cert, servername: 'localhost' })
  await once(client, 'secureConnect')
  client.write(Buffer.concat([beginHandshake(), Buffer.alloc(1536), published]))
  await until(() => publications.length === 1)
  const frame = (timestamp: number) =>
    encodeMessage({ type: messageType.video, streamId: 1, timestamp, payload: Buffer.alloc(100) }, 128)
  client.end(Buffer.concat([...Array(5).keys()].map((i) => frame(i))))
  await until(() => sockets.size === 0)
  assert.equal(publications[0]!.messages.length, 1)
  waiting.resolve()
  await until(() => publications[0]!.messages.length === 5)
  assert.deepEqual(ends, [])
})

const publish = (client: Socket, port: number) =>
  RtmpClient.publish(client, {
    app: 's',
    tcUrl: `rtmp://127.0.0.1:${port}/s`,
    streamKey: 'key',
    answerTimeoutMs: timeoutMs,
    onDrain() {},
  })

/** Opens connections from an address, and waits until the server has accepted all of them. */
async function openMany(t: TestContext, { port, sockets }: Server, count: number, address?: string) {
  const opened = await Promise.all(Array.from({ length: count }, () => open(t, port, address)))
  // Connections are accepted in the order of their arrival.
  const last = await open(t, port, '127.0.0.100')
  const isLastAccepted = () => [...sockets].some(({ remoteAddress }) => remoteAddress === '127.0.0.100')
  await until(isLastAccepted)
  last.destroy()
  await until(() => !isLastAccepted())
  return opened
}

type Server = Awaited<ReturnType<typeof startRtmpServer>>

test('connections that do nothing are limited by network, and do not displace those of another network', async (t) => {
  const server = await startRtmpServer(t)
  const { port, sockets, publications } = server
  const others = await openMany(t, server, 20, '127.0.0.2')
  await openMany(t, server, 1_200)
  await until(() => sockets.size <= 250 + others.length)
  const encoder = await publish(others[0]!, port)
  // It is no longer one of the connections that make room for others.
  await openMany(t, server, 300, '127.0.0.2')
  encoder.send('video', 0, Buffer.from([0x17, 0]))
  await until(() => publications[0]?.messages.length === 1)
  await encoder.close()
})

test('if all networks together have too many connections, the one with the most loses some', async (t) => {
  const server = await startRtmpServer(t)
  const networks = [3, 4, 5, 6, 7, 8].map((each) => `127.0.0.${each}`)
  await openMany(t, server, 20, '127.0.0.2')
  for (const address of networks) await openMany(t, server, 240, address)
  await until(() => server.sockets.size <= 1_000)
  const addresses = [...server.sockets].map(({ remoteAddress }) => remoteAddress)
  const countOf = (address: string) => addresses.filter((each) => each === address).length
  assert.equal(countOf('127.0.0.2'), 20)
  for (const address of networks) assert.ok(countOf(address) > 150, `${countOf(address)} of ${address}`)
})

test('an encoder that has begun its handshake is not displaced by idle connections of its own network', async (t) => {
  const server = await startRtmpServer(t)
  const encoder = await open(t, server.port)
  encoder.write(beginHandshake())
  await until(() => [...server.sockets].some(({ bytesRead }) => bytesRead === 1537))
  await openMany(t, server, 1_200)
  encoder.write(Buffer.concat([Buffer.alloc(1536), published]))
  await until(() => server.publications.length === 1)
})
