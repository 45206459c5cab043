import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { writeIceCheck } from '../../test/support/live/ice-check.ts'
import { sampleOffer } from '../../test/support/live/offer.ts'
import { Resources, withTemporaryFolder } from '../servers.ts'
import type { Row } from '../table.ts'
import { memoryAddedBy, startInspected } from './memory.ts'
import type { LiveService } from './service.ts'

const connections = 1_000
const atOnce = 50
const answerMs = 2_000
/** The service waits 20 s for an encoder that does not connect. */
const settleMs = 25_000

type Answer = { port: number; tcpPort: number; username: string; password: string }
type Target = { service: LiveService; streamKey: string }

/** What an encoder does wrong. Each ends by itself. */
const behaviors: Record<string, (target: Target) => Promise<void>> = {
  'send an offer and nothing else': async (target) => void (await offer(target)),
  'answer from their address, but do not begin DTLS': (target) => misbehave(target, () => []),
  'send garbage instead of DTLS': (target) => misbehave(target, garbage),
  'send RTP without keys': (target) => misbehave(target, unprotected),
  'offer a megabyte': (target) => sendOffer(target, 'a=x\r\n'.repeat(200_000)).then(() => {}),
  'offer 1,900 candidates with internal addresses': async (target) => {
    const addresses = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '[::1]']
    const candidates = Array.from(
      { length: 1_900 },
      (_, i) => `a=candidate:${i} 1 udp 1 ${addresses[i % addresses.length]} ${1 + i} typ host`,
    )
    await offer(target, candidates)
  },
  'send one byte over TCP': async (target) => {
    const { tcpPort } = await offer(target)
    const socket = connect(tcpPort, '127.0.0.1')
    // An error also closes the socket.
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(Buffer.alloc(1))
    await delay(300)
    socket.destroy()
  },
}

function sendOffer({ service, streamKey }: Target, body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${streamKey}`, 'content-type': 'application/sdp' }
  return fetch(`${service.url}/whip`, { method: 'POST', headers, body })
}

async function offer(target: Target, lines?: string[]): Promise<Answer> {
  const sdp = await (await sendOffer(target, sampleOffer(lines))).text()
  const find = (pattern: RegExp) => pattern.exec(sdp)?.[1] ?? ''
  return {
    port: Number(find(/ udp \d+ \S+ (\d+)/)),
    tcpPort: Number(find(/ tcp \d+ \S+ (\d+)/)),
    username: `${find(/a=ice-ufrag:(\S+)/)}:abcd`,
    password: find(/a=ice-pwd:(\S+)/),
  }
}

/** Answers from its address, and sends datagrams then. */
async function misbehave(target: Target, datagrams: () => Iterable<Buffer>): Promise<void> {
  const { port, username, password } = await offer(target)
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const answered = once(socket, 'message', { signal: AbortSignal.timeout(answerMs) }).catch(() => {})
  socket.send(writeIceCheck(username, password), port, '127.0.0.1')
  await answered
  for (const bytes of datagrams()) socket.send(bytes, port, '127.0.0.1')
  await delay(50)
  socket.close()
}

/** Records of DTLS 1.2 with handshake messages, most of which are damaged. */
function* garbage(): Generator<Buffer> {
  for (let i = 0; i < 20; i++) {
    const body = randomBytes(200)
    const record = Buffer.concat([Buffer.from('16fefd0000000000000000', 'hex'), Buffer.alloc(2), body])
    record.writeUInt16BE(i % 2 === 0 ? body.length : 16_000, 11)
    // The first fragment of a long message from a client.
    Buffer.from('0100ffff00000000000000bc', 'hex').copy(record, 13)
    yield record
  }
}

function* unprotected(): Generator<Buffer> {
  for (let i = 0; i < 50; i++) {
    const packet = randomBytes(1_000)
    Buffer.from([128, 96]).copy(packet)
    packet.writeUInt16BE((i * 997) & 0xffff, 2)
    yield packet
  }
}

async function round(service: LiveService, keys: string[], behave: (target: Target) => Promise<void>) {
  for (let i = 0; i < connections; i += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, (_, n) => behave({ service, streamKey: keys[n % keys.length]! })),
    )
}

/** The memory of the service after encoders over WebRTC that misbehave. A first round warms up. */
export async function misbehavingWhip(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const { service, inspector } = await startInspected(resources, folder, { KINORA_WEBRTC_TCP_PORT: '0' })
    const keys = (await service.createStreams(25)).map(({ streamKey }) => streamKey)
    for (const behave of Object.values(behaviors)) await round(service, keys, behave)
    await delay(settleMs)
    for (const [name, behave] of Object.entries(behaviors)) {
      const whom = `${connections} encoders over WebRTC that ${name}`
      const run = async () => {
        await round(service, keys, behave)
        await delay(settleMs)
      }
      rows.push(await memoryAddedBy(inspector, whom, run))
    }
  })
  return rows
}
