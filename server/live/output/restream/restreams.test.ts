import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { pino } from 'pino'
import {
  makeCertificate,
  type Publication,
  type Received,
  startRawServer,
  startRtmpServer,
  startStalledServer,
  until,
} from '../../ingest/rtmp/test-server.ts'
import { defaultRetryDelayMs, Restreams } from './restreams.ts'

const secretKey = 'very-secret-key'
const videoConfig = (n = 0) => Buffer.from([0x17, 0, 0, 0, 0, 1, n])
const audioConfig = Buffer.from([0xaf, 0, 0x12, 0x10])
const metadata = { videocodecid: 7, audiocodecid: 10, width: 640 }

type Options = Partial<ConstructorParameters<typeof Restreams>[0]> & { ports?: number[] }

const targetAt = (port: number, streamKey = secretKey) => ({
  name: `to ${port}`,
  serverUrl: `rtmp://127.0.0.1:${port}/s`,
  streamKey,
})

function open(t: TestContext, { ports = [], ...options }: Options) {
  const printed: string[] = []
  const changes: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void printed.push(line) })
  const restreams = new Restreams({
    targets: ports.map((port) => targetAt(port)),
    allowPrivateNetworks: true,
    now: () => new Date(),
    log,
    onChange(states) {
      const shown = states
        .map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`))
        .join(', ')
      if (changes.at(-1) !== shown) changes.push(shown)
    },
    retryDelayMs: () => 1,
    ...options,
  })
  t.after(async () => {
    await restreams.close()
    assert.ok(![...printed, ...changes].some((line) => line.includes(secretKey)), 'the stream key is shown')
  })
  return { restreams, changes, states: () => restreams.states.map(({ state }) => state) }
}

type Frame = { kind: 'video' | 'audio'; timestamp: number; payload: Buffer }

/** Groups of five frames of video, each with a frame of audio. */
function* frames(fromMs: number, groups: number, size = 100): Generator<Frame> {
  for (let i = 0; i < groups * 5; i++) {
    const timestamp = fromMs + i * 40
    const head = [i % 5 === 0 ? 0x17 : 0x27, 1, 0, 0, 0]
    const body = Buffer.alloc(size, i)
    yield { kind: 'video', timestamp, payload: Buffer.concat([Buffer.from(head), body]) }
    yield { kind: 'audio', timestamp: timestamp + 5, payload: Buffer.from([0xaf, 1, i & 255, i >> 8]) }
  }
}

function beginWith(restreams: Restreams, config = videoConfig()): void {
  restreams.metadata(metadata)
  restreams.video(0, config)
  restreams.audio(0, audioConfig)
}

function send(restreams: Restreams, sent: Iterable<Frame>): Frame[] {
  const all = [...sent]
  for (const { kind, timestamp, payload } of all) restreams[kind](timestamp, payload)
  return all
}

/** What a server receives: the headers at the time of the first frame, then the frames. */
const expected = (sent: Frame[], config = videoConfig(), shiftMs = -sent[0]!.timestamp): Received[] => {
  const timestamp = sent[0]!.timestamp + shiftMs
  return [
    { kind: 'video', timestamp, payload: config },
    { kind: 'audio', timestamp, payload: audioConfig },
    ...sent.map((each) => ({ ...each, timestamp: each.timestamp + shiftMs })),
  ]
}

async function assertReceived({ messages }: Publication, media: Received[]): Promise<void> {
  // A connection can be closed here before the server has read everything.
  const isMedia = ({ kind }: Received) => kind !== 'metadata'
  await until(() => messages.filter(isMedia).length >= media.length)
  const [first, ...rest] = messages
  assert.ok(first?.kind === 'metadata')
  assert.deepEqual({ ...first.values }, metadata)
  assert.deepEqual(rest.filter(isMedia).map(summaryOf), media.map(summaryOf))
}

/** The difference of large payloads would take gigabytes to print. */
const summaryOf = (each: Received): string =>
  each.kind === 'metadata'
    ? each.kind
    : `${each.kind} ${each.timestamp} ${each.payload.length} ${createHash('sha1').update(each.payload).digest('hex')}`

test('every server receives the payloads of the encoder byte for byte, from a key frame on', async (t) => {
  const servers = [await startRtmpServer(t), await startRtmpServer(t)]
  const { restreams, changes, states } = open(t, { ports: servers.map(({ port }) => port) })
  assert.deepEqual(states(), ['connecting', 'connecting'])
  beginWith(restreams)
  await until(() => states().every((state) => state === 'live'))
  const [inter, ...rest] = [...frames(90_000, 6, 20_000)].slice(2)
  const sent = send(restreams, [inter!, ...rest])
  await restreams.close()
  const firstKeyFrame = sent.findIndex(({ payload }) => payload[0] === 0x17)
  for (const { publications, ends } of servers) {
    assert.equal(publications.length, 1)
    assert.equal(publications[0]!.streamKey, secretKey)
    const shiftMs = -sent[0]!.timestamp
    await assertReceived(publications[0]!, expected(sent.slice(firstKeyFrame), videoConfig(), shiftMs))
    await until(() => ends.length > 0)
    assert.deepEqual(ends, ['The encoder ended the stream.'])
  }
  assert.equal(changes.at(-1), 'stopped, stopped')
})

test('times go on when the encoder connects again, and a new configuration is followed by a key frame', async (t) => {
  const server = await startRtmpServer(t)
  const { restreams, states } = open(t, { ports: [server.port] })
  beginWith(restreams)
  await until(() => states()[0] === 'live')
  const first = send(restreams, frames(5_000, 2))
  beginWith(restreams, videoConfig(1))
  const all = [...frames(0, 2)]
  const keyFrame = all.findIndex(({ timestamp, payload }) => timestamp > 0 && payload[0] === 0x17)
  const second = send(restreams, all.slice(1)).slice(keyFrame - 1)
  await restreams.close()
  const lastMs = first.at(-1)!.timestamp - 5_000
  // The first frame of the second connection is the audio frame at 5 ms.
  const again = expected(second, videoConfig(1), lastMs + 33 - 5)
  await assertReceived(server.publications[0]!, [...expected(first), ...again])
})

test('a stream of audio alone is sent as well', async (t) => {
  const server = await startRtmpServer(t)
  const { restreams, states } = open(t, { ports: [server.port] })
  restreams.metadata({ audiocodecid: 10 })
  restreams.audio(0, audioConfig)
  await until(() => states()[0] === 'live')
  const sent = send(
    restreams,
    [...frames(0, 2)].filter(({ kind }) => kind === 'audio'),
  )
  await restreams.close()
  const kinds = server.publications[0]!.messages.map(({ kind }) => kind)
  assert.deepEqual(kinds, ['metadata', ...Array(sent.length + 1).fill('audio')])
})

test('a server that does not read delays no other server, holds little memory and gets a new connection', async (t) => {
  const [healthy, stalled] = [await startRtmpServer(t), await startStalledServer(t)]
  const { restreams, changes, states } = open(t, { ports: [healthy.port, stalled.port] })
  beginWith(restreams)
  await until(() => states().every((state) => state === 'live'))
  const size = 250_000
  let sent = 0
  let [dropped, lastMs] = [0, 0]
  // The healthy server is given time to read, so that only the other one is slow.
  for (; lastMs < 40_000 && dropped === 0; lastMs += 200) {
    sent += send(restreams, frames(lastMs, 1, size)).length
    await until(() => healthy.publications[0]?.messages.length === 3 + sent)
    dropped = restreams.states[1]!.droppedFrames
  }
  assert.ok(dropped > 0)
  assert.equal(changes.at(-1), 'live, live: The server receives too slowly. Frames are dropped.')
  const kernelBuffers = 16
  const heldMiB = ((sent / 2 - dropped / 2) * size) / 1024 ** 2
  assert.ok(heldMiB < 8 + kernelBuffers, `${heldMiB} MiB`)
  for (const end = lastMs + 16_000; lastMs < end; lastMs += 200) send(restreams, frames(lastMs, 1))
  await until(() => changes.includes('live, retrying: The server receives too slowly.'))
  await until(() => stalled.stalled.size === 2)
  assert.equal(restreams.states[0]?.droppedFrames, 0)
  assert.equal(healthy.publications.length, 1)
})

test('a server that reads again continues with a key frame', async (t) => {
  const server = await startStalledServer(t)
  const { restreams, states } = open(t, { ports: [server.port] })
  beginWith(restreams)
  await until(() => states()[0] === 'live')
  let lastMs = 0
  for (; restreams.states[0]!.droppedFrames === 0; lastMs += 200) send(restreams, frames(lastMs, 1, 250_000))
  const { messages } = server
  server.resume()
  // The server empties the queue, until a key frame finds room again.
  await until(() => {
    send(restreams, frames(lastMs, 1))
    lastMs += 200
    return restreams.states[0]!.reason === null
  })
  await restreams.close()
  await until(() => server.sockets.size === 0)
  const restart = messages.findLastIndex(({ kind }) => kind === 'metadata')
  assert.ok(restart > 0)
  const heads = messages
    .slice(restart, restart + 4)
    .map((each) => ('payload' in each ? each.payload.subarray(0, 2) : each.kind))
  assert.deepEqual(heads, [
    'metadata',
    videoConfig().subarray(0, 2),
    audioConfig.subarray(0, 2),
    Buffer.from([0x17, 1]),
  ])
})

test('a refused stream key is retried, and the reason is visible', async (t) => {
  let refusals = 0
  const refuse = (key: string) => (refusals++ < 3 ? `The key ${key} is blocked.` : undefined)
  const server = await startRtmpServer(t, { refuse })
  const { restreams, changes, states } = open(t, { ports: [server.port] })
  const before = new Date()
  beginWith(restreams)
  await until(() => states()[0] === 'live')
  const refused = 'retrying: The server refused the stream: The key [stream key] is blocked.'
  assert.deepEqual(changes, [refused, 'live'])
  const [{ since, ...state }] = restreams.states as [(typeof restreams.states)[number]]
  assert.deepEqual(state, { name: `to ${server.port}`, state: 'live', reason: null, droppedFrames: 0 })
  assert.ok(since >= before && since <= new Date())
})

test('a server that comes back receives the headers and a key frame', async (t) => {
  const first = await startRtmpServer(t)
  const { restreams, changes, states } = open(t, { ports: [first.port] })
  beginWith(restreams)
  await until(() => states()[0] === 'live')
  send(restreams, frames(0, 1))
  await first.stop()
  await until(() => states()[0] === 'retrying')
  await until(() => changes.includes('retrying: No connection to 127.0.0.1 could be made.'))
  send(restreams, frames(200, 1))
  const second = await startRtmpServer(t, { port: first.port })
  await until(() => states()[0] === 'live')
  const sent = send(restreams, [...frames(400, 2)].slice(2))
  await restreams.close()
  const keyFrame = sent.findIndex(({ payload }) => payload[0] === 0x17)
  await assertReceived(second.publications[0]!, expected(sent.slice(keyFrame), videoConfig(), 0))
})

test('private addresses are never connected to', async (t) => {
  const server = await startRawServer(t, () => assert.fail('connected'))
  const lookup: Options['lookup'] = (_host, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }])
  const targets = ['127.0.0.1', '[::1]', 'name.example', '0x7f000001'].map((host) => ({
    ...targetAt(server.port),
    serverUrl: `rtmp://${host}:${server.port}/s`,
  }))
  const { restreams, states } = open(t, { targets, allowPrivateNetworks: false, lookup })
  beginWith(restreams)
  await until(() => states().every((state) => state === 'stopped'))
  for (const { reason } of restreams.states)
    assert.match(reason!, /is in a private or reserved network, which is not allowed\.$/)
})

test('rtmps is encrypted, and the certificate has to be valid for the host', async (t) => {
  const { cert, key } = makeCertificate(t, 'good.example')
  const authorities = getCACertificates('default')
  setDefaultCACertificates([...authorities, cert.toString()])
  t.after(() => setDefaultCACertificates(authorities))
  const server = await startRtmpServer(t, { tls: { cert, key } })
  const lookup: Options['lookup'] = (_host, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }])
  const targets = ['good.example', 'evil.example'].map((host) => ({
    ...targetAt(server.port),
    serverUrl: `rtmps://${host}:${server.port}/s`,
  }))
  const { restreams, changes, states } = open(t, { targets, lookup })
  beginWith(restreams)
  const code = 'ERR_TLS_CERT_ALTNAME_INVALID'
  await until(() =>
    changes.includes(`live, retrying: No secure connection to evil.example could be made (${code}).`),
  )
  assert.equal(states()[0], 'live')
  const sent = send(restreams, frames(0, 3, 50_000))
  await restreams.close()
  await assertReceived(server.publications[0]!, expected(sent))
})

test('restreams in the sandbox end at their time, and the broadcast goes on', async (t) => {
  const server = await startRtmpServer(t)
  let time = 0
  const now = () => new Date(time)
  const { restreams, changes, states } = open(t, { ports: [server.port], now, endsAt: new Date(120_000) })
  beginWith(restreams)
  await until(() => states()[0] === 'live')
  time = 119_999
  send(restreams, frames(0, 1))
  assert.equal(states()[0], 'live')
  time = 120_000
  send(restreams, frames(200, 1))
  assert.equal(changes.at(-1), 'stopped: Restreams in the sandbox end after 2 minutes.')
  await restreams.close()
  assert.equal(server.publications[0]?.messages.filter(({ kind }) => kind === 'video').length, 1 + 5)
})

test('restreams are closed at any moment', async (t) => {
  const silent = await startRawServer(t, () => {})
  const unused = open(t, { ports: [silent.port] })
  await unused.restreams.close()
  const connecting = open(t, { ports: [silent.port] })
  beginWith(connecting.restreams)
  await until(() => silent.sockets.size === 1)
  await connecting.restreams.close()
  await until(() => silent.sockets.size === 0)
  const stopped = await startRtmpServer(t)
  await stopped.stop()
  const waiting = open(t, { ports: [stopped.port], retryDelayMs: () => 1e9 })
  beginWith(waiting.restreams)
  await until(() => waiting.states()[0] === 'retrying')
  const { reason } = waiting.restreams.states[0]!
  await waiting.restreams.close()
  beginWith(waiting.restreams)
  assert.equal(waiting.restreams.states[0]?.reason, reason)
  assert.match(reason!, /^No connection/)
  assert.deepEqual(
    [unused, connecting, waiting].map(({ states }) => states()[0]),
    Array(3).fill('stopped'),
  )
})

test('the delay before an attempt grows from half a second to half a minute', () => {
  for (const [attempt, fromMs, toMs] of [
    [0, 500, 1_000],
    [3, 4_000, 8_000],
    [40, 15_000, 30_000],
    [5_000, 15_000, 30_000],
  ] as const) {
    const delayMs = defaultRetryDelayMs(attempt)
    assert.ok(delayMs >= fromMs && delayMs <= toMs, `${attempt}: ${delayMs} ms`)
  }
})
