import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { until } from './fetch/test-server.ts'
import { canSendFile, sendFile } from './send-file.ts'

const content = randomBytes(6_000_000)

/** A server that sends the file, or the part that the path names, and a connection to it. */
async function start(t: TestContext, answer?: (response: ServerResponse, fd: number) => void) {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-send-'))
  const path = join(folder, 'file')
  await writeFile(path, content)
  const fd = openSync(path, 'r')
  const accepted: Socket[] = []
  const server = createServer((request, response) => {
    if (answer) return answer(response, fd)
    const [from = 0, length = content.length] = request.url!.slice(1).split(',').filter(Boolean).map(Number)
    response.setHeader('content-length', length)
    assert.ok(canSendFile(response))
    sendFile(response, fd, from, length, () => {})
  })
  // A busy machine may pause between two requests.
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => accepted.push(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  t.after(async () => {
    socket.destroy()
    server.close().closeAllConnections()
    closeSync(fd)
    await rm(folder, { recursive: true })
  })
  return { path, server, socket, accepted }
}

const ask = (socket: Socket, path: string) => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)

/** The body of the next response. */
async function receive(socket: Socket, between?: () => Promise<unknown>): Promise<Buffer> {
  const body: Buffer[] = []
  let head = Buffer.alloc(0)
  let missing: number | undefined
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    await between?.()
    let part = chunk
    if (missing === undefined) {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) continue
      part = head.subarray(end + 4)
      missing = Number(/content-length: (\d+)/i.exec(head.toString('latin1', 0, end))![1])
    }
    body.push(part)
    missing -= part.length
    assert.ok(missing >= 0, 'more than the announced length')
    if (missing === 0) return Buffer.concat(body)
  }
  throw new Error('it ended too early')
}

test('a file and parts of it are sent one after the other on the same connection', async (t) => {
  const { socket } = await start(t)
  for (const [from, length] of [
    [0, content.length],
    [0, 1],
    [content.length - 1, 1],
    [1_234_567, 3_000_000],
    [4095, 2],
  ] as const) {
    ask(socket, `/${from},${length}`)
    assert.ok((await receive(socket)).equals(content.subarray(from, from + length)), `${from} ${length}`)
  }
})

test('a slow client receives every byte once, and does not delay others', async (t) => {
  const { socket, server, accepted } = await start(t)
  ask(socket, '/')
  const quick = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => quick.destroy())
  // Until the connection accepts no more bytes.
  await until(() => (accepted[0]?.writableLength ?? 0) > 0)
  ask(quick, '/0,2000000')
  assert.ok((await receive(quick)).equals(content.subarray(0, 2_000_000)))
  assert.ok((await receive(socket, () => nextTurn())).equals(content))
  ask(socket, '/5,5')
  assert.ok((await receive(socket)).equals(content.subarray(5, 10)))
})

test('concurrent clients get the parts that they requested', async (t) => {
  const { server } = await start(t)
  const port = (server.address() as AddressInfo).port
  await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const socket = connect(port, '127.0.0.1')
      t.after(() => socket.destroy())
      for (const from of [i * 1000, i * 2000 + 7]) {
        ask(socket, `/${from},3000000`)
        assert.ok((await receive(socket)).equals(content.subarray(from, from + 3_000_000)))
      }
    }),
  )
})

test('a client that disconnects ends the response', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { socket } = await start(t, (response, fd) => {
    response.once('close', closed.resolve)
    response.setHeader('content-length', content.length)
    sendFile(response, fd, 0, content.length, () => {})
  })
  ask(socket, '/')
  await once(socket, 'readable')
  socket.destroy()
  await closed.promise
})

test('a file that is too short ends the connection', async (t) => {
  const { path, socket } = await start(t)
  await truncate(path, 100_000)
  ask(socket, '/')
  await assert.rejects(receive(socket), /ended too early/)
})

test('a read error ends the connection, and nothing else', async (t) => {
  const folder = openSync(tmpdir(), 'r')
  t.after(() => closeSync(folder))
  const { socket } = await start(t, (response) => {
    response.setHeader('content-length', 10)
    sendFile(response, folder, 0, 10, () => {})
  })
  ask(socket, '/')
  await assert.rejects(receive(socket), /ended too early/)
})

test('a client that has half closed the connection gets no body without headers', async (t) => {
  let isAccepted: boolean | undefined
  const { socket } = await start(t, (response) => {
    response.socket!.once('end', () => {
      isAccepted = canSendFile(response)
      response.destroy()
    })
  })
  ask(socket, '/')
  socket.end()
  assert.deepEqual((await buffer(socket)).length, 0)
  assert.equal(isAccepted, false)
})

test('a response that waits for an earlier response cannot send a file', async (t) => {
  const responses: ServerResponse[] = []
  const both = Promise.withResolvers<void>()
  const { socket } = await start(t, (response) => {
    if (responses.push(response) === 2) both.resolve()
  })
  ask(socket, '/')
  ask(socket, '/')
  await both.promise
  assert.deepEqual(responses.map(canSendFile), [true, false])
})
