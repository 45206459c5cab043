import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../rtmp/test-server.ts'
import { phase, readHandshake, rejection } from './handshake.ts'
import { controlType, typeOf, writeControl } from './packets.ts'
import { Caller, extension, handshake, live, type Sent, textOf } from './test-caller.ts'
import {
  createRandom,
  lacksSrt,
  type Message,
  makeTs,
  readTs,
  sendTs,
  startLossyRelay,
  startSrtServer,
} from './test-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinora-srt-'))
after(() => rmSync(folder, { recursive: true }))
const film = join(folder, 'film.ts')
const bytes = makeTs()
writeFileSync(film, bytes)

/** Hashes of payloads, and times since the first one. */
const contentOf = (messages: Message[], kind: Message['kind']) => {
  const ofKind = messages.filter((each) => each.kind === kind)
  const hashOf = (payload: Buffer) => createHash('md5').update(payload).digest('hex')
  return ofKind.map(({ timestamp, payload }) => [timestamp - ofKind[0]!.timestamp, hashOf(payload)])
}

function assertComplete(messages: Message[]): void {
  for (const kind of ['video', 'audio'] as const)
    assert.deepEqual(contentOf(messages, kind), contentOf(readTs(bytes), kind), kind)
}

const ffmpegOnly = { skip: lacksSrt, concurrency: 2 }

test(
  'ffmpeg publishes over SRT, several encoders on one port, with both forms of the stream id',
  ffmpegOnly,
  async (t) => {
    const { port, publications, ends } = await startSrtServer(t)
    const streamIds = ['key1', '#!::r=key2,m=publish']
    const sent = await Promise.all(streamIds.map((streamid) => sendTs(t, film, port, { streamid })))
    for (const { code, output } of sent) assert.equal(code, 0, output)
    await until(() => publications.every(({ hasEnded }) => hasEnded))
    assert.deepEqual(publications.map(({ streamKey }) => streamKey).sort(), ['key1', 'key2'])
    for (const { messages } of publications) assertComplete(messages)
    assert.deepEqual(ends, [])
  },
)

test(
  'packets are decrypted with keys of all lengths, and with new keys during the broadcast',
  ffmpegOnly,
  async (t) => {
    const passphrase = 'correct-horse'
    const { port, publications } = await startSrtServer(t, { passphrase })
    const renewed = { kmrefreshrate: 64, kmpreannounce: 16 }
    const keys = [{ pbkeylen: 16, ...renewed }, { pbkeylen: 24 }, { pbkeylen: 32 }]
    const send = (more: object) => sendTs(t, film, port, { streamid: 'key', passphrase, ...more })
    for (const { code, output } of await Promise.all(keys.map(send))) assert.equal(code, 0, output)
    await until(() => publications.every(({ hasEnded }) => hasEnded))
    assert.equal(publications.length, 3)
    for (const { messages } of publications) assertComplete(messages)
  },
)

const lacksTransmit =
  spawnSync('srt-live-transmit', ['-version'], { stdio: 'ignore' }).error !== undefined &&
  'srt-live-transmit is not installed'

test('srt-live-transmit publishes what it receives, with a passphrase', {
  skip: lacksTransmit,
}, async (t) => {
  const passphrase = 'correct-horse'
  const { port, publications } = await startSrtServer(t, { passphrase })
  const [input, output] = [createSocket('udp4'), createSocket('udp4')]
  input.bind(0, '127.0.0.1')
  await once(input, 'listening')
  const inputPort = input.address().port
  input.close()
  const url = `srt://127.0.0.1:${port}?streamid=key&passphrase=${passphrase}&pbkeylen=32`
  const args = ['-a:no', '-chunk:1316', `udp://127.0.0.1:${inputPort}`, url]
  const child = spawn('srt-live-transmit', args, { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await until(() => publications.length === 1)
  let at = 0
  const sending = setInterval(() => {
    output.send(bytes.subarray(at, at + 1_316), inputPort, '127.0.0.1')
    at = at + 1_316 < bytes.length ? at + 1_316 : 0
  }, 2)
  t.after(() => {
    clearInterval(sending)
    output.close()
  })
  const { messages } = publications[0]!
  await until(() => messages.filter(({ kind }) => kind === 'video').length > 20)
  child.kill('SIGINT')
  await until(() => publications[0]!.hasEnded)
  const known = new Set(readTs(bytes).map(({ payload }) => payload.toString('base64')))
  for (const { payload } of messages) assert.ok(known.has(payload.toString('base64')))
})

test('wrong keys and passphrases, and other modes, are refused in the handshake', ffmpegOnly, async (t) => {
  const refuse = () => ({ refused: 'The stream key is unknown.', kind: 'unauthorized' }) as const
  const open = await startSrtServer(t, { refuse })
  const encrypted = await startSrtServer(t, { passphrase: 'correct-horse' })
  const streamid = 'key'
  const refused = await Promise.all([
    sendTs(t, film, open.port, { streamid }),
    sendTs(t, film, open.port, { streamid: '#!::r=key,m=request' }),
    sendTs(t, film, open.port, { streamid, passphrase: 'another-horse' }),
    sendTs(t, film, encrypted.port, { streamid }),
    sendTs(t, film, encrypted.port, { streamid, passphrase: 'another-horse' }),
  ])
  for (const { code, output } of refused) {
    assert.notEqual(code, 0)
    assert.match(output, /REJECT/)
  }
  assert.match(refused[3]!.output, /Password required/)
  assert.match(refused[4]!.output, /Incorrect passphrase/)
  assert.equal(open.publications.length + encrypted.publications.length, 0)
  assert.deepEqual(encrypted.ends.sort(), ['The encoder has no passphrase.', 'The passphrase is wrong.'])
})

const phaseOf = (packet: Buffer) => readHandshake(packet)!.phase

test('before an address is proven, no more is sent than was received, and nothing is kept', async (t) => {
  const { port, publications } = await startSrtServer(t)
  const caller = await Caller.open(t, port)
  const induction = handshake({ phase: phase.induction })
  caller.send(induction)
  assert.equal((await caller.receive()).length, induction.length)
  const extensions = [live, textOf(5, 'key')]
  for (const cookie of [0, 1, 0xffffffff])
    caller.send(handshake({ phase: phase.conclusion, cookie, extensions }))
  // The cookie of another port.
  const other = await Caller.open(t, port)
  caller.send(handshake({ phase: phase.conclusion, cookie: await other.induce(), extensions }))
  for (const garbage of [Buffer.alloc(0), Buffer.alloc(15), Buffer.alloc(64), Buffer.alloc(1_400, 0xff)])
    caller.send(garbage)
  caller.send(induction.subarray(0, 40))
  const known = await other.connect('key')
  assert.equal(publications.length, 1)
  // The id of a connection from another address.
  caller.send(writeControl({ type: controlType.shutdown, timestamp: 0, destination: known }))
  other.send(writeControl({ type: controlType.keepAlive, timestamp: 0, destination: known }))
  await caller.induce()
  assert.deepEqual([caller.received.length, publications[0]!.hasEnded], [0, false])
})

test('an answer that was lost is repeated, and a second connection needs no second cookie', async (t) => {
  const { port, publications } = await startSrtServer(t)
  const caller = await Caller.open(t, port)
  const cookie = await caller.induce()
  const conclusion = handshake({ phase: phase.conclusion, cookie, extensions: [live, textOf(5, 'key')] })
  caller.send(conclusion)
  const answer = await caller.receive()
  caller.send(conclusion)
  assert.deepEqual(await caller.receive(), answer)
  assert.deepEqual([publications.length, phaseOf(answer)], [1, phase.conclusion])
})

test('callers with another version, another mode, a filter or a group are refused', async (t) => {
  const { port, publications } = await startSrtServer(t)
  const caller = await Caller.open(t, port)
  const cookie = await caller.induce()
  const stream = extension(1, Buffer.from('000105000000007f00780078', 'hex'))
  const cases = [
    [{ version: 4 }, rejection.version],
    [{ extensions: [] }, rejection.malformed],
    [{ extensions: [live.subarray(0, 12)] }, rejection.malformed],
    [{ extensions: [stream] }, rejection.messageApi],
    [{ extensions: [live, textOf(6, 'file')] }, rejection.congestion],
    [{ extensions: [live, textOf(7, 'fec,cols:10')] }, rejection.filter],
    [{ extensions: [live, extension(8, Buffer.alloc(8))] }, rejection.group],
    [{ extensions: [live, textOf(5, '#!::r=key,m=request')] }, rejection.wrongMode],
  ] as const
  for (const [more, reason] of cases) {
    caller.send(
      handshake({
        phase: phase.conclusion,
        cookie,
        ...more,
        extensions: [...((more as Sent).extensions ?? [])],
      }),
    )
    assert.equal(phaseOf(await caller.receive()), 1_000 + reason)
  }
  assert.equal(publications.length, 0)
})

test('garbage of a caller ends nothing', async (t) => {
  const { port, publications } = await startSrtServer(t)
  const caller = await Caller.open(t, port)
  const id = await caller.connect('key')
  const random = createRandom()
  const below = (limit: number) => Math.floor(limit * random())
  const types = Object.values(controlType).filter((type) => type !== controlType.shutdown)
  const bytesOf = (length: number) => Buffer.from(Array.from({ length }, () => below(256)))
  for (let i = 0; i < 3_000; i++) {
    const isControl = i % 2 === 0
    const type = types[below(types.length)]!
    const body = bytesOf(below(120))
    const header = { type, subtype: below(9), detail: below(100), timestamp: 0, destination: id }
    const packet = isControl ? writeControl({ ...header, body }) : Buffer.concat([bytesOf(16), body])
    if (!isControl) packet.writeUInt32BE(below(20_000))
    packet.writeUInt32BE(id, 12)
    caller.send(packet)
    if (i % 50 === 0) await new Promise(setImmediate)
  }
  const another = await Caller.open(t, port)
  assert.notEqual(await another.connect('another'), id)
  assert.deepEqual(
    publications.map(({ streamKey, hasEnded }) => [streamKey, hasEnded]),
    [
      ['key', false],
      ['another', false],
    ],
  )
})

test('an encoder that is closed gets a shutdown, and one that sends nothing is closed', async (t) => {
  const { port, publications } = await startSrtServer(t)
  const [first, second] = [await Caller.open(t, port), await Caller.open(t, port)]
  await first.connect('first')
  await second.connect('second')
  publications[0]!.connection.close()
  await until(() => first.received.some((packet) => typeOf(packet) === controlType.shutdown))
  await until(() => publications.every(({ hasEnded }) => hasEnded))
  await until(() => second.received.some((packet) => typeOf(packet) === controlType.shutdown))
})

test(
  'what was sent while the publisher waits is published afterwards, although the encoder has disconnected',
  ffmpegOnly,
  async (t) => {
    const waiting = Promise.withResolvers<void>()
    let isWaiting = true
    const drain = () => (isWaiting && publications[0]!.messages.length > 0 ? waiting.promise : undefined)
    const { port, publications } = await startSrtServer(t, { drain })
    const sending = sendTs(t, film, port, { streamid: 'key' })
    await until(() => (publications[0]?.messages.length ?? 0) > 0)
    const { messages } = publications[0]!
    const received = messages.length
    const { code, output } = await sending
    assert.equal(code, 0, output)
    assert.deepEqual([messages.length, publications[0]!.hasEnded], [received, false])
    isWaiting = false
    waiting.resolve()
    await until(() => publications[0]!.hasEnded)
    assertComplete(messages)
  },
)

test('a codec that cannot be broadcast ends the connection with a reason', ffmpegOnly, async (t) => {
  const { port, publications, ends } = await startSrtServer(t)
  const path = join(folder, 'mpeg2.ts')
  writeFileSync(path, makeTs('-c:v', 'mpeg2video'))
  await sendTs(t, path, port, { streamid: 'key' })
  const reason = 'The encoder sends video with a codec that is not supported. Set it to H.264.'
  await until(() => ends.length === 1)
  assert.deepEqual([ends, publications[0]!.refusals], [[reason], [reason]])
})

test(
  'all frames arrive over networks that lose up to 10 %, and with 50 ms of jitter',
  ffmpegOnly,
  async (t) => {
    const { port, publications } = await startSrtServer(t)
    const networks = [{ loss: 0.01 }, { loss: 0.05 }, { loss: 0.1 }, { loss: 0.05, jitterMs: 50 }]
    // Packets have up to 1,316 bytes of the film.
    const lossyPackets = Math.floor(bytes.length / 1_316 / 2)
    const sent = networks.map(async (network, i) => {
      const relay = await startLossyRelay(t, { to: port, lossyPackets, ...network })
      // The latency is far above the round trip, so that a busy machine decides nothing.
      const { code, output } = await sendTs(t, film, relay.port, { streamid: i, latency: 8_000_000 })
      assert.equal(code, 0, output)
      await until(() => publications.some(({ streamKey, hasEnded }) => streamKey === `${i}` && hasEnded))
      const { connection, messages } = publications.find(({ streamKey }) => streamKey === `${i}`)!
      const { link } = connection.link!()
      assert.ok(relay.dropped === 0 || link.retransmittedPackets > 0, JSON.stringify(link))
      assert.equal(link.lostPackets, 0)
      assertComplete(messages)
    })
    await Promise.all(sent)
  },
)
