import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { joinSmallChunks } from './join-chunks.ts'

const chunked = (parts: string[]) =>
  `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`

async function listen(t: TestContext, onRequest: (request: IncomingMessage) => void): Promise<number> {
  const server = createServer(onRequest)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

/** Sends the body to a server and returns the chunks that the server's handler sees. */
async function send(t: TestContext, parts: string[]): Promise<Buffer[]> {
  const received = Promise.withResolvers<Buffer[]>()
  const port = await listen(t, (request) => {
    joinSmallChunks(request)
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk)).on('end', () => received.resolve(chunks))
  })
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunked(parts)}`)
  return received.promise
}

const letters = (count: number) => Array.from({ length: count }, (_, i) => String.fromCharCode(97 + (i % 26)))

test('a body in chunks of one byte arrives in few chunks', async (t) => {
  const parts = letters(100_000)
  const chunks = await send(t, parts)
  assert.equal(Buffer.concat(chunks).toString(), parts.join(''))
  assert.ok(chunks.length < 1_000, `${chunks.length} chunks`)
})

test('small and large chunks keep their order', async (t) => {
  const sizes = [1, 1023, 1024, 1, 5_000, 2, 2, 20_000, 900, 900, 16_000, 1]
  const parts = Array.from({ length: 40 }, () => sizes)
    .flat()
    .map((size, i) => letters(26)[i % 26]!.repeat(size))
  const chunks = await send(t, parts)
  assert.equal(Buffer.concat(chunks).toString(), parts.join(''))
})

test('a message that is one small chunk, or none', async (t) => {
  assert.deepEqual(await send(t, ['{"a":1}']), [Buffer.from('{"a":1}')])
  assert.deepEqual(await send(t, []), [])
})

test('received bytes are passed on before the rest arrives', async (t) => {
  const first = Promise.withResolvers<string>()
  const port = await listen(t, (request) => {
    joinSmallChunks(request)
    request.once('data', (chunk) => first.resolve(String(chunk)))
  })
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nab')
  assert.equal(await first.promise, 'ab')
})

test('the response of a server is joined as well', async (t) => {
  const parts = letters(100_000)
  const server = createServer((request) => {
    request.socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunked(parts)}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close().closeAllConnections())
  const chunks: Buffer[] = []
  get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, (response) => {
    joinSmallChunks(response)
    response.on('data', (chunk) => chunks.push(chunk)).on('end', () => server.emit('read'))
  })
  await once(server, 'read')
  assert.equal(Buffer.concat(chunks).toString(), parts.join(''))
  assert.ok(chunks.length < 1_000, `${chunks.length} chunks`)
})
