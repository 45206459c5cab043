import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { Turns } from '../../lib/turns.ts'
import { RtmpSession } from '../ingest/rtmp/session.ts'
import {
  startRawServer,
  startRtmpServer,
  startStalledServer,
  timeoutMs,
  until,
} from '../ingest/rtmp/test-server.ts'
import { AmfError, decodeAmf, encodeAmf } from './amf0.ts'
import { ChunkReader, encodeMessage, messageType, RtmpError, type RtmpMessage } from './chunks.ts'
import { RtmpClient, RtmpClientError, type RtmpClientOptions } from './client.ts'
import { ClientSession, encodeMetadata, RtmpRefused, type Step } from './client-session.ts'
import { beginHandshake, Handshake } from './handshake.ts'

const names = { app: 's', tcUrl: 'rtmp://127.0.0.1/s', streamKey: 'secret-key' }

function open(t: TestContext, port: number, options: Partial<RtmpClientOptions> = {}): Promise<RtmpClient> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  return RtmpClient.publish(socket, { ...names, answerTimeoutMs: timeoutMs, onDrain() {}, ...options })
}

const isFailure = (pattern: RegExp) => (error: unknown) =>
  error instanceof RtmpClientError && error.cause === undefined && pattern.test(error.message)

test('a server receives metadata, video and audio as they were sent, with timestamps of 32 bits', async (t) => {
  const server = await startRtmpServer(t)
  const client = await open(t, server.port)
  const frames = [0, 40, 0xfffffe, 0xffffff, 0x1000000, 2 ** 32 - 1, 2 ** 32 + 7].map((timestamp, i) => ({
    timestamp,
    payload: Buffer.alloc([0, 1, 4095, 4096, 4097, 300_000, 5][i]!, i),
  }))
  const values = { width: 1280, encoder: 'test', stereo: true, nothing: null }
  client.send('data', 0, encodeMetadata(values))
  for (const { timestamp, payload } of frames) {
    client.send('video', timestamp, payload)
    client.send('audio', timestamp, payload)
  }
  await client.close()
  await until(() => server.ends.length === 1)
  const [publication] = server.publications
  assert.equal(publication?.streamKey, names.streamKey)
  const expected = frames.flatMap(({ timestamp, payload }) =>
    (['video', 'audio'] as const).map((kind) => ({ kind, timestamp: timestamp % 2 ** 32, payload })),
  )
  const [metadata, ...media] = publication!.messages
  assert.deepEqual({ ...(metadata as { values: object }).values }, values)
  assert.deepEqual(media, expected)
  assert.deepEqual(server.ends, ['The encoder ended the stream.'])
})

test('the reason of a refusal is that of the server, without the stream key', async (t) => {
  const refuse = (key: string) => `The key ${key} is\nunknown.${'!'.repeat(1_000)}`
  const { port } = await startRtmpServer(t, { refuse })
  const begin = /^The server refused the stream: The key \[stream key\] is unknown\.!+$/
  const refused = await open(t, port).catch((error) => error)
  assert.match(refused.message, begin)
  assert.ok(refused.message.length < 300)
  const withParameters = await open(t, port, { streamKey: 'secret-key?a=b' }).catch((error) => error)
  assert.match(withParameters.message, begin)
  await assert.rejects(
    open(t, port, { app: 'other' }),
    isFailure(/^The server refused the stream: The URL must be rtmp:\/\/host\/s\.$/),
  )
})

test('a connection that the server closes ends with a reason, before and after the stream key', async (t) => {
  const closing = await startRawServer(t, (socket) => void socket.end())
  await assert.rejects(open(t, closing.port), isFailure(/closed the connection/))
  const half = await startRawServer(t, (socket) => void socket.end(beginHandshake()))
  await assert.rejects(open(t, half.port), isFailure(/closed the connection/))
  const resetting = await startRawServer(t, (socket) => {
    socket.once('data', () => socket.resetAndDestroy())
  })
  await assert.rejects(open(t, resetting.port), isFailure(/was lost/))
  const server = await startRtmpServer(t)
  const client = await open(t, server.port)
  server.publications[0]!.close()
  assert.match((await client.ended).message, /closed the connection|was lost/)
  client.send('video', 0, Buffer.alloc(10))
  await client.close()
})

test('a server that never answers is left, at every step', async (t) => {
  const silent = await startRawServer(t, () => {})
  const answerTimeoutMs = 20
  await assert.rejects(open(t, silent.port, { answerTimeoutMs }), isFailure(/did not respond in time/))
  const afterHandshake = await startRawServer(t, (socket) => {
    socket.once('data', (bytes) => socket.write(Buffer.concat([beginHandshake(), bytes.subarray(1)])))
  })
  await assert.rejects(open(t, afterHandshake.port, { answerTimeoutMs }), isFailure(/did not respond/))
  await until(() => silent.sockets.size === 0 && afterHandshake.sockets.size === 0)
})

test('a server of another protocol, or with garbage or endless data, is left', async (t) => {
  const http = await startRawServer(t, (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  await assert.rejects(open(t, http.port), isFailure(/version 72 is not supported/))
  const afterHandshake = (bytes: Buffer, isEndless: boolean) =>
    startRawServer(t, (socket) => {
      socket.write(Buffer.concat([beginHandshake(), Buffer.alloc(1536)]))
      const flood = () => {
        while (!socket.destroyed && socket.write(bytes) && isEndless);
      }
      socket.on('drain', flood)
      flood()
    })
  const garbage = await afterHandshake(Buffer.alloc(1_000, 0xff), false)
  await assert.rejects(open(t, garbage.port), isFailure(/does not follow the protocol/))
  const endless = await afterHandshake(message(messageType.data, Buffer.alloc(60_000)), true)
  await assert.rejects(open(t, endless.port), isFailure(/sends more than it receives/))
  const empty = Buffer.concat([message(messageType.data, Buffer.alloc(0)), Buffer.alloc(2_000, 0xc2)])
  const { port } = await afterHandshake(empty, false)
  await assert.rejects(open(t, port), isFailure(/sends more than it receives/))
  const large = Buffer.from([3, 0, 0, 0, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0])
  await assert.rejects(open(t, (await afterHandshake(large, false)).port), isFailure(/too large/))
})

const message = (type: number, payload: Buffer) =>
  encodeMessage({ type, streamId: 0, timestamp: 0, payload }, 128)
const command = (...values: Parameters<typeof encodeAmf>) =>
  message(messageType.command, encodeAmf(...values))
const ping = message(messageType.userControl, Buffer.from([0, 6, 0, 0, 0, 9]))

test('a full socket is reported, and its end as well', async (t) => {
  const server = await startStalledServer(t)
  let drained = 0
  const client = await open(t, server.port, { onDrain: () => drained++ })
  const payload = Buffer.alloc(1_000_000, 7)
  let sent = 0
  for (; !client.isFull; sent++) client.send('video', sent, payload)
  assert.equal(drained, 0)
  server.resume()
  await until(() => drained > 0)
  assert.equal(client.isFull, false)
  await until(() => server.messages.length === sent)
})

/** A session of the client that has not received anything, and what it has sent. */
function begin() {
  const sent: Buffer[] = []
  const steps: Step[] = []
  const session = new ClientSession({
    ...names,
    send: (bytes) => sent.push(bytes),
    onStep: (step) => steps.push(step),
  })
  session.begin()
  return { session, steps, sentMessages: () => readAll(sent) }
}

function readAll(parts: Buffer[]): RtmpMessage[] {
  const reader = new ChunkReader()
  return parts.flatMap((part) => [...reader.read(part)])
}

const publishStart = { level: 'status', code: 'NetStream.Publish.Start' }
const session = [
  message(messageType.windowSize, Buffer.from([0, 0, 4, 0])),
  message(messageType.peerBandwidth, Buffer.from([0, 0, 4, 0, 2])),
  command('onBWDone', 0, null),
  command('_result', 1, { fmsVer: 'x' }, { code: 'NetConnection.Connect.Success' }),
  command('_error', 2, null, { level: 'error', description: 'unknown method' }),
  command('_error', 3, null, { level: 'error', description: 'unknown method' }),
  command('_result', 4, null, 17),
  ping,
  command('onStatus', 0, null, publishStart),
]

test('a server that asks but does not read gets a few answers only', async () => {
  // Never finishes a write, as a socket whose peer does not read.
  const stuck = Object.assign(new Duplex({ read() {}, write() {} }), { setNoDelay() {} })
  const options = { ...names, answerTimeoutMs: timeoutMs, onDrain() {} }
  const publishing = RtmpClient.publish(stuck as unknown as Socket, options)
  stuck.push(Buffer.concat([beginHandshake(), Buffer.alloc(1536), ...session]))
  const client = await publishing
  stuck.push(Buffer.concat(Array(900).fill(ping)))
  await until(() => stuck.readableLength === 0)
  assert.ok(stuck.writableLength < 3_073 + 64 * 200, `${stuck.writableLength} bytes`)
  client.abort('The test has ended.')
  assert.equal((await client.ended).message, 'The test has ended.')
})

for (const [what, reads, expectedChecks] of [
  ['reads nothing is given two seconds', 0, 4],
  ['stops reading is given two more seconds', 5, 9],
  ['reads slowly is given ten seconds', 100, 20],
] as const)
  test(`at the end of a stream, a server that ${what}`, async (t) => {
    const written: (() => void)[] = []
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => void written.push(done) })
    const options = { ...names, answerTimeoutMs: timeoutMs, onDrain() {} }
    const slow = Object.assign(socket, { setNoDelay() {} }) as unknown as Socket
    const publishing = RtmpClient.publish(slow, options)
    socket.push(Buffer.concat([beginHandshake(), Buffer.alloc(1536), ...session]))
    const client = await publishing
    for (let i = 0; i < 100; i++) client.send('video', i, Buffer.alloc(1_000))
    t.mock.timers.enable({ apis: ['setInterval'] })
    const closed = client.close()
    let checks = 0
    for (; !socket.destroyed; checks++) {
      if (checks < reads) written.shift()?.()
      await setImmediate()
      t.mock.timers.tick(500)
    }
    assert.equal(checks, expectedChecks)
    await closed
  })

test('the client announces itself as an encoder does, and answers pings and windows', () => {
  const { session: client, steps, sentMessages } = begin()
  client.receive(Buffer.concat(session))
  client.receive(Buffer.concat(Array(60).fill(ping)))
  const sent = sentMessages()
  const commands = sent.filter(({ type }) => type === messageType.command)
  assert.deepEqual(
    commands.map(({ payload, streamId }) => [streamId, ...decodeAmf(payload)].map((each) => plain(each))),
    [
      [
        0,
        'connect',
        1,
        { app: 's', type: 'nonprivate', flashVer: 'FMLE/3.0 (compatible; Kinora)', tcUrl: names.tcUrl },
      ],
      [0, 'releaseStream', 2, null, names.streamKey],
      [0, 'FCPublish', 3, null, names.streamKey],
      [0, 'createStream', 4, null],
      [17, 'publish', 5, null, names.streamKey, 'live'],
    ],
  )
  assert.deepEqual(steps, ['createStream', 'publish', 'live'])
  const pongs = sent.filter(({ type }) => type === messageType.userControl)
  assert.equal(pongs.length, 61)
  assert.deepEqual(pongs[0]?.payload, Buffer.from([0, 7, 0, 0, 0, 9]))
  assert.equal(sent.filter(({ type }) => type === messageType.acknowledgement).length, 1)
})

const plain = (value: unknown) => (value && typeof value === 'object' ? { ...value } : value)

test('answers to other steps, streams without a number and the end of a stream are handled', () => {
  const early = begin()
  early.session.receive(
    Buffer.concat([command('_result', 4, null, 1), command('onStatus', 0, null, publishStart)]),
  )
  assert.deepEqual(early.steps, [])
  const connected = session.slice(0, 4)
  for (const id of [0, -1, 1.5, 2 ** 32, Number.NaN, null, 'x'] as const) {
    const bytes = Buffer.concat([...connected, command('_result', 4, null, id)])
    assert.throws(() => begin().session.receive(bytes), /without a number/)
  }
  const throwing = (pattern: RegExp, ...more: Buffer[]) =>
    assert.throws(
      () => begin().session.receive(Buffer.concat([...session, ...more])),
      (error) => error instanceof RtmpRefused && pattern.test(error.message),
    )
  throwing(/ended the stream/, command('onStatus', 0, null, { code: 'NetStream.Unpublish.Success' }))
  throwing(/ended the stream/, command('close', 0, null))
  throwing(/: NetStream\.Failed$/, command('onStatus', 0, null, { level: 'error', code: 'NetStream.Failed' }))
  throwing(/it gave no reason\.$/, command('_error', 5))
})

test('damaged bytes of a server throw a known error and nothing else, and cause bounded answers', () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 })
  const size = fc.integer({ min: 1, max: 400 })
  fc.assert(
    fc.property(damage, size, fc.shuffledSubarray(session), (changes, size, parts) => {
      const bytes = Buffer.concat(parts.length > 0 ? parts : session)
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      const { session: client, sentMessages } = begin()
      try {
        for (let at = 0; at < bytes.length; at += size) client.receive(bytes.subarray(at, at + size))
      } catch (error) {
        const isKnown = [RtmpError, AmfError, RtmpRefused].some((kind) => error instanceof kind)
        assert.ok(isKnown, String(error))
      }
      assert.ok(sentMessages().length < 20)
    }),
    { numRuns: 1_000 },
  )
})

test('both sides of the handshake and of a session understand each other, however the bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 2_000 }), async (size) => {
      const toServer: Buffer[] = [beginHandshake()]
      const toClient: Buffer[] = []
      const [server, client] = [new Handshake('server'), new Handshake('client')]
      const steps: Step[] = []
      const serverSession = new RtmpSession({
        turns: new Turns(),
        send: (bytes) => toClient.push(bytes),
        publish: async () => ({ publisher: { video() {}, audio() {}, metadata() {} } }),
      })
      const clientSession = new ClientSession({
        ...names,
        send: (bytes) => toServer.push(bytes),
        onStep: (step) => steps.push(step),
      })
      let [isServerReady, isClientReady] = [false, false]
      while (toServer.length > 0 || toClient.length > 0) {
        for (const bytes of take(toServer, size)) {
          const rest = isServerReady ? bytes : server.receive(bytes, (answer) => toClient.push(answer))
          isServerReady ||= rest !== undefined
          if (rest) await serverSession.receive(rest)
        }
        for (const bytes of take(toClient, size)) {
          const rest = isClientReady ? bytes : client.receive(bytes, (answer) => toServer.push(answer))
          if (rest && !isClientReady) clientSession.begin()
          isClientReady ||= rest !== undefined
          if (rest) clientSession.receive(rest)
        }
      }
      assert.deepEqual(steps, ['createStream', 'publish', 'live'])
    }),
    { numRuns: 20 },
  )
})

/** Empties the list and returns its bytes in pieces. */
function take(list: Buffer[], size: number): Buffer[] {
  const bytes = Buffer.concat(list.splice(0))
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}
