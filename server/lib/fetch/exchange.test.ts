import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { answering, isFailure, listen, ok, open, readAll, redirect, until, usual } from './test-server.ts'

test('a server that accepts the connection and never responds times out', async (t) => {
  const server = await listen(t, () => {})
  const request = open(t).request(server.url, { ...usual, headersTimeoutMs: 100 })
  await assert.rejects(request, isFailure('timeout', true))
  await until(() => server.sockets.size === 0)
})

test('headers that trickle in do not extend the timeout for headers', async (t) => {
  const server = await listen(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const trickle = setInterval(() => socket.write('x'), 20)
    socket.once('close', () => clearInterval(trickle))
  })
  const request = open(t).request(server.url, { ...usual, headersTimeoutMs: 200, idleTimeoutMs: 100 })
  await assert.rejects(request, isFailure('timeout', true))
})

test('endless interim responses do not extend the timeout for headers', async (t) => {
  const server = await listen(t, (socket) => {
    const flood = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'), 5)
    socket.once('close', () => clearInterval(flood))
  })
  const request = open(t).request(server.url, { ...usual, headersTimeoutMs: 200 })
  await assert.rejects(request, isFailure('timeout', true))
})

test('a body that stops times out', async (t) => {
  const server = await listen(
    t,
    answering((_, socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello')),
  )
  const response = await open(t).request(server.url, { ...usual, idleTimeoutMs: 100 })
  await assert.rejects(readAll(response.body), isFailure('timeout', true))
  await until(() => server.sockets.size === 0)
})

test('a slow but steady body may take far longer than the idle timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let peer: Socket | undefined
  const server = await listen(
    t,
    answering((_, socket) => {
      peer = socket
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n')
      return undefined
    }),
  )
  const response = await open(t).request(server.url, { ...usual, idleTimeoutMs: 800 })
  const reader = response.body[Symbol.asyncIterator]()
  let length = 0
  for (let sent = 0; sent < 40; sent++) {
    const next = reader.next()
    // The iterator starts its timer when it waits for the next chunk.
    await nextTurn()
    t.mock.timers.tick(700)
    peer!.write('x')
    length += (await next).value!.length
  }
  assert.equal((await reader.next()).done, true)
  assert.equal(length, 40)
})

test('a slow reader is not mistaken for an idle server', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const server = await listen(
    t,
    answering(() => ok('x'.repeat(300_000))),
  )
  const response = await open(t).request(server.url, { ...usual, idleTimeoutMs: 100 })
  let length = 0
  for await (const chunk of response.body) {
    if (length === 0) t.mock.timers.tick(300)
    length += chunk.length
  }
  assert.equal(length, 300_000)
})

test('a response that nobody reads is canceled after the idle timeout', async (t) => {
  const server = await listen(
    t,
    answering((_, socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nhello')),
  )
  const response = await open(t).request(server.url, { ...usual, idleTimeoutMs: 100 })
  await until(() => server.sockets.size === 0)
  await assert.rejects(readAll(response.body), isFailure('timeout', true))
})

test('a connection closed before the response, in its headers or in its body is reported as dropped', async (t) => {
  const parts = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-le',
    'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n',
  ]
  for (const how of ['end', 'resetAndDestroy'] as const) {
    for (const part of parts) {
      const server = await listen(
        t,
        answering((_, socket) => {
          if (part) socket.write(part, () => socket[how]())
          else socket[how]()
          return undefined
        }),
      )
      const whole = open(t)
        .request(server.url, usual)
        .then((response) => readAll(response.body))
      await assert.rejects(whole, isFailure('dropped', true), JSON.stringify([how, part]))
    }
  }
})

test('bytes beyond the stated length are not part of the body', async (t) => {
  const server = await listen(
    t,
    answering(() => 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more'),
  )
  const response = await open(t).request(server.url, usual)
  assert.equal(await readAll(response.body), 'hello')
})

test('a body without a length ends with the connection', async (t) => {
  const server = await listen(
    t,
    answering(() => 'HTTP/1.0 200 OK\r\n\r\nhello'),
  )
  const response = await open(t).request(server.url, usual)
  assert.equal(await readAll(response.body), 'hello')
})

test('a response that is not HTTP is a protocol error', async (t) => {
  const answers = [
    'SSH-2.0-OpenSSH_9.2\r\n',
    '220 mail.example ESMTP\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
  ]
  for (const answer of answers) {
    const server = await listen(
      t,
      answering(() => answer),
    )
    const whole = open(t)
      .request(server.url, usual)
      .then((response) => readAll(response.body))
    await assert.rejects(whole, isFailure('protocol', false), JSON.stringify(answer))
  }
})

test('a gigabyte of headers is cut off after some kilobytes, before the body and after it', async (t) => {
  for (const begin of ['HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n']) {
    let sent = 0
    const line = `x-filler: ${'a'.repeat(1000)}\r\n`
    const server = await listen(t, async (socket) => {
      socket.write(begin)
      while (!socket.destroyed && sent < 1024 ** 3) {
        sent += line.length
        if (!socket.write(line))
          await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
      }
    })
    const whole = open(t)
      .request(server.url, usual)
      .then((response) => readAll(response.body))
    await assert.rejects(whole, isFailure('protocol', false))
    await until(() => server.sockets.size === 0)
    // More than the limit was in the buffers of the kernel.
    assert.ok(sent < 16 * 1024 ** 2, `${sent} bytes were sent`)
  }
})

test('compressed content is rejected, but a compressed error or redirect is not', async (t) => {
  const bomb = gzipSync(Buffer.alloc(1024 ** 2)).toString('latin1')
  for (const coding of ['gzip', 'br', 'GZIP', 'identity, gzip']) {
    const server = await listen(
      t,
      answering(() => ok(bomb, `content-encoding: ${coding}\r\n`)),
    )
    await assert.rejects(open(t).request(server.url, usual), isFailure('protocol', false))
    await until(() => server.sockets.size === 0)
    const posted = await open(t).request(server.url, { ...usual, method: 'POST' })
    assert.equal((await readAll(posted.body)).length, bomb.length)
  }
  const plain = await listen(
    t,
    answering(() => ok('hello', 'content-encoding: identity\r\n')),
  )
  assert.equal(await readAll((await open(t).request(plain.url, usual)).body), 'hello')
  const moved = await listen(
    t,
    answering(() => redirect(302, plain.url).replace('\r\n', '\r\ncontent-encoding: gzip\r\n')),
  )
  assert.equal((await open(t).request(moved.url, { ...usual, method: 'HEAD' })).status, 200)
  const failed = await listen(
    t,
    answering(() => ok(bomb, 'content-encoding: gzip\r\n').replace('200', '503')),
  )
  assert.equal((await open(t).request(failed.url, usual)).status, 503)
})

/** Writes forever, as fast as the client reads, and counts the bytes. */
const endless = (counter: { sent: number }) =>
  answering((_, socket) => {
    const block = Buffer.alloc(64 * 1024)
    const more = () => {
      while (!socket.destroyed) {
        counter.sent += block.length
        if (!socket.write(block)) break
      }
    }
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.on('drain', more)
    more()
    return undefined
  })

test('a signal, break and cancel end an endless body and close the connection', async (t) => {
  const server = await listen(t, endless({ sent: 0 }))
  const client = open(t)
  const stop = new AbortController()
  const bySignal = await client.request(server.url, { ...usual, signal: stop.signal })
  const reason = new Error('enough')
  let length = 0
  await assert.rejects(async () => {
    for await (const chunk of bySignal.body) {
      length += chunk.length
      if (length > 1024 ** 2) stop.abort(reason)
    }
  }, reason)
  await until(() => server.sockets.size === 0)

  const byBreak = await client.request(server.url, usual)
  for await (const chunk of byBreak.body) if (chunk.length > 0) break
  await until(() => server.sockets.size === 0)

  const byCancel = await client.request(server.url, usual)
  byCancel.cancel()
  await until(() => server.sockets.size === 0)
  await assert.rejects(readAll(byCancel.body), { name: 'AbortError' })
})

test('a signal ends a request that waits for its response, and an aborted signal prevents it', async (t) => {
  const server = await listen(t, () => {})
  const stop = new AbortController()
  const request = open(t).request(server.url, { ...usual, signal: stop.signal })
  await until(() => server.sockets.size === 1)
  stop.abort()
  await assert.rejects(request, { name: 'AbortError' })
  await until(() => server.sockets.size === 0)
  await assert.rejects(open(t).request(server.url, { ...usual, signal: stop.signal }), { name: 'AbortError' })
  assert.equal(server.sockets.size, 0)
})

test('a slow reader makes the server wait and does not fill the memory', async (t) => {
  const counter = { sent: 0 }
  const server = await listen(t, endless(counter))
  const response = await open(t).request(server.url, usual)
  const reader = response.body[Symbol.asyncIterator]()
  await reader.next()
  const other = await listen(
    t,
    answering(() => ok('hello')),
  )
  // Until the buffers of both ends and of the kernel between them are full.
  for (let before = -1; counter.sent !== before; ) {
    before = counter.sent
    // Other requests go through, so this one could read more as well.
    for (let i = 0; i < 20; i++)
      assert.equal(await readAll((await open(t).request(other.url, usual)).body), 'hello')
    assert.ok(counter.sent < 32 * 1024 ** 2, `${counter.sent} bytes were read`)
  }
  for (let read = 0; read < 64 * 1024 ** 2; ) read += (await reader.next()).value!.length
  await reader.return?.()
  await until(() => server.sockets.size === 0)
})
