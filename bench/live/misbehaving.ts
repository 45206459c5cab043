import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { encodeAmf } from '../../server/live/rtmp/amf0.ts'
import { encodeMessage, messageType } from '../../server/live/rtmp/chunks.ts'
import { beginHandshake } from '../../server/live/rtmp/handshake.ts'
import { Resources, withTemporaryFolder } from '../servers.ts'
import type { Row } from '../table.ts'
import { memoryAddedBy, startInspected } from './memory.ts'
import { misbehaveOverSrt } from './misbehaving-srt.ts'

const connections = 1_000
const atOnce = 100
const handshakeLength = 1 + 2 * 1536

const message = (type: number, payload: Buffer) =>
  encodeMessage({ type, streamId: 0, timestamp: 0, payload }, 128)
const command = (...values: Parameters<typeof encodeAmf>) =>
  message(messageType.command, encodeAmf(...values))
const connectCommand = command('connect', 1, { app: 's', tcUrl: 'rtmp://localhost/s' })
const giantChunks = message(messageType.setChunkSize, Buffer.from([0x7f, 0xff, 0xff, 0xff]))
const largeChunks = message(messageType.setChunkSize, Buffer.from([0, 0xff, 0xff, 0xff]))
const ping = message(messageType.userControl, Buffer.from([0, 6, 0, 0, 0, 0]))

/** The header of a message of 64 KiB on a chunk stream, with the first 60 KiB of it. */
const unfinished = (chunkStream: number) =>
  Buffer.concat([
    Buffer.from([chunkStream, 0, 0, 0, 1, 0, 0, messageType.command, 0, 0, 0, 0]),
    Buffer.alloc(60 * 1024),
  ])

/** An object in an object in an object: AMF0 names the type 3 and ends each with 9. */
const nested = message(
  messageType.command,
  Buffer.concat([encodeAmf('connect', 1), ...Array(10_000).fill(Buffer.from([3, 0, 1, 97]))]),
)

/** What is sent after the handshake, unless it is no handshake at all. */
const behaviors: { bytes: () => Buffer; isHandshake?: boolean }[] = [
  { bytes: () => randomBytes(64 * 1024), isHandshake: false },
  { bytes: () => beginHandshake().subarray(0, 700), isHandshake: false },
  { bytes: () => Buffer.alloc(0), isHandshake: false },
  { bytes: () => randomBytes(64 * 1024) },
  { bytes: () => Buffer.concat([connectCommand, giantChunks]) },
  { bytes: () => Buffer.concat([connectCommand, largeChunks, unfinished(4)]) },
  { bytes: () => Buffer.concat([largeChunks, ...Array.from({ length: 30 }, (_, i) => unfinished(3 + i))]) },
  { bytes: () => nested },
  { bytes: () => command('connect', 1, null) },
  { bytes: () => Buffer.concat([connectCommand, command('publish', 2, null, 'unknown', 'live')]) },
  { bytes: () => Buffer.concat([connectCommand, command('play', 2, null, 'unknown')]) },
  { bytes: () => Buffer.concat([connectCommand, message(messageType.video, randomBytes(10_000))]) },
  // It asks again and again, and never reads the answers.
  { bytes: () => Buffer.concat([connectCommand, ...Array(5_000).fill(ping)]) },
]

async function misbehave(port: number, which: number): Promise<void> {
  const { bytes, isHandshake = true } = behaviors[which % behaviors.length]!
  const socket = connect(port, '127.0.0.1')
  // An error also closes the socket.
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  if (isHandshake) {
    socket.write(beginHandshake())
    await receive(socket, handshakeLength)
    socket.write(Buffer.alloc(1536))
  }
  socket.write(bytes())
  // Some are closed by the service. The others stay for a while, and leave.
  setTimeout(() => socket.destroy(), 300)
  await closed
}

/** Resolves when this many bytes were received, or when the connection is closed. The rest is not read. */
function receive(socket: Socket, length: number): Promise<void> {
  return new Promise((resolve) => {
    let received = 0
    socket.once('close', resolve)
    socket.on('data', (bytes) => {
      received += bytes.length
      if (received < length) return
      socket.pause()
      resolve()
    })
  })
}

async function round(port: number): Promise<void> {
  for (let i = 0; i < connections; i += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, n) => misbehave(port, i + n)))
}

/** The memory of the service after connections that misbehave and leave. A first round warms up. */
export async function misbehaving(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const { service, inspector } = await startInspected(resources, folder, {
      // Broadcasts end soon after their encoders have left.
      KINORA_LIVE_RECONNECT_SECONDS: '1',
    })
    const streams = await service.createStreams(connections)
    const keys = streams.map(({ streamKey }) => streamKey)
    const rounds = {
      RTMP: () => round(service.rtmpPort),
      SRT: () => misbehaveOverSrt(service.srtPort, connections, keys),
    }
    for (const [protocol, run] of Object.entries(rounds)) {
      await run()
      const whom = `${connections} connections over ${protocol} that misbehave and leave`
      rows.push(await memoryAddedBy(inspector, whom, run))
    }
  })
  return rows
}
