import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { GuardedFetch } from '../lib/fetch/guarded-fetch.ts'
import {
  answering,
  listen,
  ok,
  open,
  openWithNames,
  publicAddress,
  redirect,
} from '../lib/fetch/test-server.ts'
import { attemptDelivery } from './attempt.ts'

// The outcome of an attempt for each behavior of a receiver.

const post = (fetch: GuardedFetch, url: string) =>
  attemptDelivery(
    { fetch, now: () => new Date('2026-01-02T03:04:05.678Z') },
    {
      url,
      webhookId: 'webhook_1',
      eventId: 'event_1',
      body: Buffer.from('{}'),
      secret: 'sig_sec_1',
      previousSecret: null,
    },
  )

async function postTo(t: TestContext, onSocket: (socket: Socket) => void) {
  const server = await listen(t, onSocket)
  return post(open(t), server.url)
}

test('the result has the status and the beginning of the body', async (t) => {
  const { durationMs, ...rest } = await postTo(
    t,
    answering(() => ok('thanks\0')),
  )
  assert.ok(durationMs >= 0)
  assert.deepEqual(rest, { at: '2026-01-02T03:04:05.678Z', status: 200, answer: 'thanks\ufffd', error: null })
})

test('a redirect is not followed and counts as a failure', async (t) => {
  const made = await postTo(
    t,
    answering(() => redirect(307, 'http://127.0.0.1:1/')),
  )
  assert.equal(made.status, 307)
  assert.equal(made.error, 'The response has status 307.')
})

test('64 KiB of an endless response are read and 1 KiB is kept', async (t) => {
  let written = 0
  const made = await postTo(
    t,
    answering((_request, socket) => {
      socket.write('HTTP/1.1 500 Broken\r\ncontent-length: 1073741824\r\n\r\n')
      const chunk = Buffer.alloc(16 * 1024, 'x')
      const more = () => {
        while (!socket.destroyed && written < 2 ** 30) {
          written += chunk.length
          if (!socket.write(chunk)) return
        }
      }
      socket.on('drain', more)
      more()
      return undefined
    }),
  )
  assert.equal(made.status, 500)
  assert.equal(made.answer, 'x'.repeat(1024))
  // Bytes in socket buffers count as written too.
  assert.ok(written < 16 * 2 ** 20, `${written} bytes were written`)
})

test('a receiver that does not respond, or responds slowly, has five seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  /** The attempt, and a promise that resolves when the receiver has done everything that it will do. */
  const start = async (onSocket: (socket: Socket) => void, isDone: (received: string) => boolean) => {
    const done = Promise.withResolvers<void>()
    const server = await listen(t, (socket) => {
      socket.once('data', () => isDone('') && done.resolve())
      onSocket(socket)
    })
    const fetch = open(t)
    const attempt = post(
      {
        ...fetch,
        async request(...args) {
          const response = await fetch.request(...args)
          const body = async function* () {
            let received = ''
            for await (const chunk of response.body) {
              received += chunk
              if (isDone(received)) done.resolve()
              yield chunk
            }
          }
          return { ...response, body: body() }
        },
      },
      server.url,
    )
    return { attempt, done: done.promise }
  }
  const silent = await start(
    () => {},
    () => true,
  )
  const slow = await start(
    (socket) => socket.write('HTTP/1.1 200 OK\r\nx-slow: 1'),
    () => true,
  )
  const slowBody = await start(
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nyyyyy'),
    (received) => received === 'yyyyy',
  )
  let ended = 0
  const attempts = [silent, slow, slowBody].map(({ attempt }) => attempt.finally(() => ended++))
  for (const { done } of [silent, slow, slowBody]) await done
  t.mock.timers.tick(4_999)
  for (let i = 0; i < 10; i++) await setImmediate()
  assert.equal(ended, 0)
  t.mock.timers.tick(1)
  const [withoutAnswer, withoutEnd, withPart] = await Promise.all(attempts)
  for (const made of [withoutAnswer, withoutEnd]) {
    assert.equal(made?.status, null)
    assert.match(made?.error ?? '', /^No response within/)
  }
  assert.deepEqual([withPart?.status, withPart?.answer, withPart?.error], [200, 'yyyyy', null])
})

test('closing early and not speaking HTTP are failures with a reason', async (t) => {
  const closing = await postTo(t, (socket) => socket.destroy())
  assert.deepEqual([closing.status, closing.error], [null, '127.0.0.1 closed the connection too early.'])
  const garbage = await postTo(
    t,
    answering(() => 'SSH-2.0-OpenSSH_9.9\r\n'),
  )
  assert.deepEqual([garbage.status, garbage.error], [null, '127.0.0.1 sent an invalid HTTP response.'])
  const cut = await postTo(
    t,
    answering(() => 'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf'),
  )
  assert.deepEqual([cut.status, cut.answer, cut.error], [200, 'half', null])
})

test('a name that resolves to a private address at the second attempt is rejected', async (t) => {
  const server = await listen(
    t,
    answering(() => ok('hello')),
  )
  const { client, dialled } = openWithNames(t, server.port, [[publicAddress], ['127.0.0.1']])
  assert.equal((await post(client, 'http://rebind.example/')).status, 200)
  const second = await post(client, 'http://rebind.example/')
  assert.equal(second.status, null)
  assert.equal(second.error, 'rebind.example is in a private or reserved network, which is not allowed.')
  assert.deepEqual(dialled, [publicAddress])
})
