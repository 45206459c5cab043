import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, type TestContext, test } from 'node:test'
import { startFauxqs } from 'fauxqs'
import { FileStoreError } from '../../server/lib/files/files.ts'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { defaultLimits, type Limits } from '../../server/lib/files/s3-requests.ts'
import { MiB, timeoutMs, waitFor } from '../support/harness.ts'

// S3 stores that hang, drop connections or are slow, and readers that do the same.

const keys = { region: 'us-east-1', accessKey: 'test', secretKey: 'test', bucket: 'videos' }

/** Limits that no test reaches unless it overrides them. */
const longLimits: Limits = {
  connectMs: timeoutMs,
  idleMs: timeoutMs,
  totalMs: timeoutMs,
  cleanUpMs: timeoutMs,
}

type State = { fault: Fault | undefined; hung?: ServerResponse }

type Fault = (incoming: IncomingMessage, response: ServerResponse, upstream: IncomingMessage) => boolean

/** An S3 emulator behind a proxy that can inject faults into responses. */
async function startStore(t: TestContext, limits: Partial<Limits> = {}) {
  const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  t.after(() => server.stop())
  server.createBucket('videos')
  const seen: IncomingMessage[] = []
  const state: State = { fault: undefined }
  const proxy = createServer((incoming, response) => {
    seen.push(incoming)
    const { method, url, headers } = incoming
    const target = { port: server.port, host: '127.0.0.1', method, path: url, headers, agent: false }
    const outgoing = request(target, (upstream) => {
      if (state.fault?.(incoming, response, upstream)) {
        state.hung = response
        return
      }
      response.writeHead(upstream.statusCode ?? 500, upstream.headers)
      pipeline(upstream, response).catch(() => {})
    })
    outgoing.on('error', () => response.destroy())
    pipeline(incoming, outgoing).catch(() => {})
  })
  const endpoint = await listen(t, proxy)
  /** 0.0.0.0 is this machine too, but the driver does not treat it as loopback. */
  const open = (overrides: Partial<Limits>, host = '127.0.0.1') => {
    const files = openS3Files({
      ...keys,
      endpoint: endpoint.replace('127.0.0.1', host),
      isRedirecting: true,
      limits: { ...longLimits, ...overrides },
    })
    t.after(() => files.close())
    return files
  }
  return { files: open(limits), open, seen, state, directly: `http://127.0.0.1:${server.port}` }
}

async function listen(t: TestContext, server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends the beginning of a response, then closes the connection or sends nothing more. */
function truncate(bytes: number, then: 'breaks' | 'hangs', times = 1): Fault {
  let left = times
  return (incoming, response, upstream) => {
    if (incoming.method !== 'GET' || left-- <= 0) return false
    response.writeHead(upstream.statusCode ?? 500, upstream.headers).flushHeaders()
    void (async () => {
      let sent = 0
      for await (const chunk of upstream) {
        const part = chunk.subarray(0, bytes - sent)
        sent += part.length
        // Wait for the write, because closing the connection would discard the bytes.
        await new Promise((done) => response.write(part, done))
        if (sent >= bytes) break
      }
      if (then === 'breaks') response.destroy()
    })().catch(() => {})
    return true
  }
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray())
}

const isUnreachable = (error: unknown) => error instanceof FileStoreError && error.kind === 'unreachable'

/** Waits until a store that never responds has timed out under these limits. */
async function waitForTimeout(t: TestContext, limits: Partial<Limits>): Promise<void> {
  const endpoint = await listen(
    t,
    createServer(() => {}),
  )
  const files = openS3Files({ ...keys, endpoint, limits: { ...longLimits, ...limits } })
  t.after(() => files.close())
  await assert.rejects(files.stat('v/a'), isUnreachable)
}

const shortLimits = { idleMs: 200, totalMs: 500, cleanUpMs: 200 }

describe('readers', () => {
  test('a reader may pause for longer than the idle limit of the store', async (t) => {
    const { files, open, seen } = await startStore(t)
    const bytes = randomBytes(20 * MiB)
    await files.put('v/a', bytes)
    const stream = await open({ idleMs: 1_000 }).read('v/a')
    const iterator = stream[Symbol.asyncIterator]()
    const chunks: Buffer[] = [(await iterator.next()).value]
    // From here on the stream reads nothing from the store.
    await waitFor(() => stream.readableLength >= stream.readableHighWaterMark)
    const requests = seen.length
    await waitForTimeout(t, { idleMs: 1_000 })
    assert.equal(seen.length, requests)
    assert.equal(seen.at(-1)?.socket.destroyed, false, 'the connection was closed')
    for await (const chunk of { [Symbol.asyncIterator]: () => iterator }) chunks.push(chunk)
    assert.ok(bytes.equals(Buffer.concat(chunks)))
  })

  test('a read that is cut off or hangs continues with a range request for the same object', async (t) => {
    const { files, open, seen, state } = await startStore(t)
    const bytes = randomBytes(6 * MiB)
    await files.put('v/a', bytes)
    for (const [then, range] of [
      ['breaks', undefined],
      ['breaks', { from: 1_000, to: 5 * MiB }],
      ['hangs', { from: 1_000, to: 5 * MiB }],
    ] as const) {
      // The idle limit is short only where the test needs it, because a busy machine may be silent too.
      const reader = then === 'hangs' ? open({ idleMs: 1_000 }) : files
      const { from, to } = range ?? { from: 0, to: bytes.length - 1 }
      seen.length = 0
      state.fault = truncate(300_000, then, 2)
      assert.ok(bytes.subarray(from, to + 1).equals(await bytesOf(await reader.read('v/a', range))), then)
      const [first, ...others] = seen.map(({ headers }) => headers)
      assert.equal(first?.['if-match'], undefined)
      assert.ok(others.length >= 2)
      const continues = ({ range: asked = '', 'if-match': etag = '' }: IncomingHttpHeaders) => {
        const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(asked) ?? []
        const isNext = Number(start) > from && Number(start) <= from + 600_000
        return isNext && end === (range ? String(to) : '') && /^"[0-9a-f]{32}/.test(etag)
      }
      // With a short idle limit, a busy machine may repeat a request before its first bytes have arrived.
      const isContinued = then === 'hangs' ? others.some(continues) : others.every(continues)
      assert.ok(isContinued, JSON.stringify(others))
    }
  })

  test('a read survives a connection that is closed while the reader is paused', async (t) => {
    const { files, seen } = await startStore(t)
    const bytes = randomBytes(20 * MiB)
    await files.put('v/a', bytes)
    seen.length = 0
    const stream = await files.read('v/a')
    seen[0]?.socket.destroy()
    await once(seen[0]!.socket, 'close')
    assert.ok(bytes.equals(await bytesOf(stream)))
  })

  test('a read of an object that is replaced fails instead of mixing old and new bytes', async (t) => {
    const { files, state, directly } = await startStore(t)
    const [old, replaced] = [randomBytes(6 * MiB), randomBytes(6 * MiB)]
    await files.put('v/a', old)
    const other = openS3Files({ ...keys, endpoint: directly })
    t.after(() => other.close())
    state.fault = truncate(300_000, 'hangs')
    const stream = await files.read('v/a')
    const chunks: Buffer[] = []
    stream.on('data', (chunk) => chunks.push(chunk))
    const failed = once(stream, 'error')
    await waitFor(() => Buffer.concat(chunks).length >= 300_000)
    await other.put('v/a', replaced)
    state.hung?.destroy()
    const [error] = await failed
    assert.ok(isUnreachable(error), String(error))
    assert.ok(old.subarray(0, 300_000).equals(Buffer.concat(chunks)))
  })

  test('a read fails if the store stays silent in the middle of a body', async (t) => {
    const { files, open, state } = await startStore(t)
    await files.put('v/a', randomBytes(3 * MiB))
    state.fault = truncate(0, 'hangs', Number.POSITIVE_INFINITY)
    const read = async () => bytesOf(await open(shortLimits).read('v/a'))
    await assert.rejects(read(), isUnreachable)
    // A small cached file is read completely before it is sent.
    await assert.rejects(open(shortLimits).acquire('v/a', 3 * MiB, true), isUnreachable)
  })

  test('destroying a reader closes its connection to the store', async (t) => {
    const { files, seen } = await startStore(t)
    await files.put('v/a', randomBytes(20 * MiB))
    const stream = await files.read('v/a')
    await once(stream, 'readable')
    const { socket } = seen.at(-1)!
    stream.destroy()
    await waitFor(() => socket.destroyed)
  })

  test('any number of paused readers do not block other requests', async (t) => {
    const { files } = await startStore(t, { connectMs: defaultLimits.connectMs })
    const bytes = randomBytes(500_000)
    await files.put('v/a', bytes)
    const readers = await Promise.all(Array.from({ length: 60 }, () => files.read('v/a')))
    await files.put('v/b', randomBytes(9 * MiB))
    assert.ok(bytes.equals(await bytesOf(await files.read('v/a'))))
    for (const reader of readers) reader.destroy()
  })
})

test('bodies are signed unless the store is on loopback', async (t) => {
  const { seen, files, open } = await startStore(t)
  const bytes = randomBytes(9 * MiB)
  await files.put('v/a', bytes)
  const hashes = () =>
    seen
      .filter(({ url }) => url?.includes('partNumber='))
      .map(({ headers }) => headers['x-amz-content-sha256'])
  assert.deepEqual(hashes(), ['UNSIGNED-PAYLOAD', 'UNSIGNED-PAYLOAD'])
  seen.length = 0
  await open({}, '0.0.0.0').put('v/a', bytes)
  const parts = [bytes.subarray(0, 8 * MiB), bytes.subarray(8 * MiB)]
  assert.deepEqual(hashes().sort(), parts.map((part) => hash('sha256', part)).sort())
})

describe('a store that fails', () => {
  test('requests to a store that accepts connections but never responds fail after two attempts', async (t) => {
    const paths: string[] = []
    const hung = createServer((incoming) => {
      paths.push(incoming.url ?? '')
      incoming.resume()
    })
    const endpoint = await listen(t, hung)
    const files = openS3Files({ ...keys, endpoint, limits: { ...longLimits, ...shortLimits } })
    t.after(() => files.close())
    const body = () => Readable.from([randomBytes(100_000)])
    const large = () => Readable.from(Array.from({ length: 20 }, () => randomBytes(MiB)))
    const [small, parts] = [await files.beginUpload('v/source'), await files.beginUpload('v/source')]
    for (const [path, work, maxRequests] of [
      ['v/stat', () => files.stat('v/stat'), 2],
      ['v/read', () => files.read('v/read'), 2],
      ['v/hold', () => files.acquire('v/hold', 100, true), 2],
      ['v/remove', () => files.remove('v/remove'), 2],
      ['v/put', () => files.put('v/put', body()), 2],
      ['v/parts', () => files.put('v/parts', large()), 2],
      // One more request cleans up. It is not retried.
      [small, () => files.writeChunk(small, body(), { order: 1, offset: 0 }), 3],
      [parts, () => files.writeChunk(parts, large(), { order: 1, offset: 0 }), 3],
    ] as const) {
      await assert.rejects(work(), isUnreachable, path)
      // On a busy machine, a request may time out before it was sent.
      const requests = paths.filter((requested) => requested.includes(path)).length
      assert.ok(requests <= maxRequests, `${path} took ${requests} requests`)
    }
    const { idleMs, totalMs, cleanUpMs } = defaultLimits
    // Two attempts without a body, or one with a body and a retry. Then the upload is aborted and its chunk removed.
    assert.ok(Math.max(2 * idleMs, totalMs) + 2 * cleanUpMs < 30_000)
  })

  test('a slow upload is not cut off while bytes are sent', async (t) => {
    // Requests without a body time out at once.
    const { files } = await startStore(t, { totalMs: 0 })
    const bytes = randomBytes(6 * MiB)
    await files.put('v/a', bytes)
    await assert.rejects(files.stat('v/a'), isUnreachable)
  })

  test('transient errors are retried: overload, lost connections and a wrong clock', async (t) => {
    const { files, state, seen } = await startStore(t)
    await files.put('v/a', randomBytes(1_000))
    const failTwice = (status: number, code: string, headers: Record<string, string> = {}): Fault => {
      let left = 2
      return (_, response, upstream) => {
        if (left-- <= 0) return false
        upstream.resume()
        response.writeHead(status, { 'content-type': 'application/xml', ...headers })
        response.end(`<Error><Code>${code}</Code></Error>`)
        return true
      }
    }
    const disconnectTwice = (): Fault => {
      let left = 2
      return (_, response) => left-- > 0 && Boolean(response.destroy())
    }
    for (const fault of [
      failTwice(503, 'SlowDown'),
      failTwice(500, 'InternalError'),
      failTwice(400, 'RequestTimeout'),
      disconnectTwice(),
    ]) {
      seen.length = 0
      state.fault = fault
      assert.equal((await Array.fromAsync(files.list('v'))).length, 1)
      assert.equal(seen.length, 3)
      await files.put('v/a', randomBytes(200_000))
    }
    const ahead = new Date(Date.now() + 3_600_000)
    state.fault = failTwice(403, 'RequestTimeTooSkewed', { date: ahead.toUTCString() })
    seen.length = 0
    assert.equal((await Array.fromAsync(files.list('v'))).length, 1)
    const signed = seen.map(({ headers }) => String(headers['x-amz-date']))
    assert.ok(signed.at(-1)! > signed[0]!, String(signed))
    state.fault = (_, response, upstream) => {
      response.writeHead(upstream.statusCode ?? 500, { ...upstream.headers, date: ahead.toUTCString() })
      return Boolean(upstream.pipe(response))
    }
    await files.stat('v/a')
    const headers = { type: 'video/mp4', cacheControl: 'no-store', disposition: undefined }
    const signedUrl = new URL((await files.signedUrl?.('v/a', headers)) ?? '')
    const signedAt = signedUrl.searchParams.get('X-Amz-Date') ?? ''
    assert.ok(signedAt > signed[0]!, `${signedAt} in the presigned URL is not later than ${signed[0]}`)
  })
})
