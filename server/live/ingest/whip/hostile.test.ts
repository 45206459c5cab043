import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { writeIceCheck } from '../../../../test/support/live/ice-check.ts'
import { sampleOffer } from '../../../../test/support/live/offer.ts'
import { createSelfSigned } from '../../../certificates/acme/x509.ts'
import { until } from '../rtmp/test-server.ts'
import { createRandom } from '../srt/test-server.ts'
import { WhipServer } from './server.ts'

async function open(t: TestContext) {
  const errors: unknown[] = []
  const server = await WhipServer.open({
    ...{ host: '127.0.0.1', port: 0, tcpPort: 0, addresses: [], publicHost: undefined },
    certificate: createSelfSigned(['kinora'], new Date()),
    tools: { ffmpeg: 'ffmpeg' },
    log: pino({ level: 'silent' }),
    admit: async (key) => ({ environment: key.startsWith('sandbox') ? 'sandbox' : 'production' }),
    publish: async () => ({ refused: 'The test publishes nothing.', kind: 'unauthorized' }),
    onRefused() {},
    onError: (error) => errors.push(error),
  })
  assert.ok(server)
  const answer = await offer(server, 'key')
  t.after(() => {
    server.end(answer.sessionId)
    server.close()
  })
  const attributeOf = (name: string) => new RegExp(`a=${name}:(\\S+)`).exec(answer.sdp)?.[1] ?? ''
  const check = writeIceCheck(`${attributeOf('ice-ufrag')}:abcd`, attributeOf('ice-pwd'))
  const tcpPort = Number(/tcp \d+ \S+ (\d+)/.exec(answer.sdp)?.[1])
  return { server, sessionId: answer.sessionId, errors, check, tcpPort }
}

async function offer(server: WhipServer, streamKey: string) {
  const answer = await server.offer(streamKey, sampleOffer())
  assert.ok('sdp' in answer)
  return answer
}

/** Changed checks, and what begins like DTLS, RTP or RTCP. */
function* garbage(check: Buffer, count: number): Generator<Buffer> {
  const next = createRandom()
  const random = (below: number) => Math.floor(below * next())
  const firsts = [22, 20, 23, 128, 144, 191, 0]
  for (let i = 0; i < count; i++) {
    const isCheck = i % 2 === 0
    const bytes = isCheck
      ? Buffer.from(check)
      : Buffer.from(Array.from({ length: random(200) }, () => random(256)))
    if (isCheck) for (let n = 0; n < 2; n++) bytes[random(bytes.length)] = random(256)
    else bytes[0] = firsts[random(firsts.length)]!
    // A record of DTLS 1.2 with a handshake message.
    if (!isCheck && bytes[0] === 22) Buffer.from('16fefd', 'hex').copy(bytes)
    yield bytes.subarray(0, random(4) === 0 ? random(bytes.length + 1) : bytes.length)
  }
}

test('garbage over UDP ends nothing but its own session', async (t) => {
  const { server, errors, check } = await open(t)
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  t.after(() => socket.close())
  let answers = 0
  socket.on('message', (bytes) => {
    if (bytes[0] === 1) answers++
  })
  await once(socket, 'listening')
  const send = (bytes: Buffer) => socket.send(bytes, server.port, '127.0.0.1')
  send(check)
  await until(() => answers === 1)
  for (const bytes of garbage(check, 3_000)) {
    send(bytes)
    if (bytes.length % 16 === 0) await new Promise(setImmediate)
  }
  const another = await offer(server, 'key')
  server.end(another.sessionId)
  assert.deepEqual(errors, [])
})

test('a connection over TCP ends with its session', async (t) => {
  const { server, errors, check, tcpPort, sessionId } = await open(t)
  const framed = (bytes: Buffer) =>
    Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
  const sockets: Socket[] = []
  let closed = 0
  while (sockets.length < 20) {
    const socket = connect(tcpPort, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('close', () => closed++)
    socket.resume()
    await once(socket, 'connect')
    const answered = once(socket, 'data')
    socket.write(framed(check))
    await answered
  }
  // A session has few paths. The oldest ones are closed.
  await until(() => closed === 4)
  for (const bytes of garbage(check, 500)) sockets.at(-1)!.write(framed(bytes))
  server.end(sessionId)
  await until(() => closed === sockets.length)
  assert.deepEqual(errors, [])
})

test('many stream keys of one environment displace no encoder of another one', async (t) => {
  const { server, sessionId } = await open(t)
  const sessions: string[] = []
  for (let i = 0; i < 200; i++) sessions.push((await offer(server, `sandbox ${Math.floor(i / 4)}`)).sessionId)
  const another = await offer(server, 'another key')
  assert.ok(server.has(sessionId))
  assert.ok(server.has(another.sessionId))
  assert.equal(sessions.filter((id) => server.has(id)).length, 98, 'the oldest have given up their places')
  for (const id of [...sessions, another.sessionId]) server.end(id)
})
