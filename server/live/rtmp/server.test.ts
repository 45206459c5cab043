import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type AmfValue, encodeAmf } from './amf0.ts'
import { encodeMessage, messageType } from './chunks.ts'
import { RtmpClient } from './client.ts'
import { beginHandshake } from './handshake.ts'
import { startRtmpServer, until } from './test-server.ts'

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
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

test('an encoder gets in while thousands of connections do nothing', async (t) => {
  const { port, sockets, publications } = await startRtmpServer(t)
  await Promise.all(Array.from({ length: 1_500 }, () => open(t, port)))
  await until(() => sockets.size <= 1_000)
  const client = await open(t, port)
  const tcUrl = `rtmp://127.0.0.1:${port}/s`
  const options = { app: 's', tcUrl, streamKey: 'key', answerTimeoutMs: 60_000, onDrain() {} }
  const encoder = await RtmpClient.publish(client, options)
  // The encoder is no longer one of the connections that make room for others.
  await Promise.all(Array.from({ length: 1_100 }, () => open(t, port)))
  encoder.send('video', 0, Buffer.from([0x17, 0]))
  await until(() => publications[0]?.messages.length === 1)
  await encoder.close()
})
