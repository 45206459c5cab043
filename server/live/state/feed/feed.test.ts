import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { renderPlaylist } from '../../hls/playlist-requests.ts'
import { Bytes } from '../../media/bytes.ts'
import { LiveBroadcast } from '../live-broadcast.ts'
import { encodeFrame, FeedError, type FeedMessage, FrameReader } from './frames.ts'
import { sendFeed } from './routes.ts'
import { snapshotOf } from './snapshot.ts'

const identity = { id: 'br1', liveStreamId: 'li1', fence: 3, windowMs: 60_000 }
const quality = 'source'
const toBuffer = (text: string) => Buffer.from(text)

/** Two epochs, with a gap between them, a segment that is not stored yet, and one that is being received. */
function createBroadcast(): LiveBroadcast {
  const live = new LiveBroadcast(identity)
  const init = (epoch: number) => ({ epoch, data: Buffer.from(`init ${epoch}`), codecs: 'avc1.42c00b' })
  const size = { width: 160, height: 120 }
  live.apply({ kind: 'init', quality, ...init(3), ...size })
  addSegments(live, { from: 5, to: 7, epoch: 3 })
  live.apply({ kind: 'init', quality, ...init(4), ...size })
  addSegments(live, { from: 10, to: 16, epoch: 4 })
  addPart(live, { sequence: 17, epoch: 4, index: 0 })
  live.apply({ kind: 'visible', targetSeconds: 2, qualities: [quality] })
  return live
}

function addSegments(live: LiveBroadcast, { from, to, epoch }: { from: number; to: number; epoch: number }) {
  for (let sequence = from; sequence <= to; sequence++) {
    for (let index = 0; index < 4; index++) addPart(live, { sequence, epoch, index })
    const times = { receivedAt: sequence * 2_000, durationMs: 2_000 }
    live.apply({ kind: 'segment', quality, sequence, epoch, ...times, bytes: 40, fence: 3 })
    if (sequence < 12) live.apply({ kind: 'stored', quality, sequence })
  }
}

const addPart = (live: LiveBroadcast, part: { sequence: number; epoch: number; index: number }, size = 0) =>
  live.apply({
    kind: 'part',
    quality,
    sequence: part.sequence,
    epoch: part.epoch,
    receivedAt: part.sequence * 2_000,
    durationMs: 500,
    isIndependent: part.index === 0,
    // Its samples are in buffers of their own.
    data: new Bytes(
      size > 0 ? [Buffer.alloc(size)] : ['part ', `${part.sequence}.${part.index}`].map(toBuffer),
    ),
  })

const render = (live: LiveBroadcast) =>
  renderPlaylist({ live, liveStreamId: 'li1', hasParts: true }, quality, { skips: false, query: '' })

/** Applies what a feed sends, in chunks of this size. */
function receive(bytes: Buffer, chunkSize: number): LiveBroadcast {
  const copy = new LiveBroadcast(identity)
  const reader = new FrameReader()
  for (let at = 0; at < bytes.length; at += chunkSize)
    for (const message of reader.read(bytes.subarray(at, at + chunkSize)))
      if (message.kind !== 'ping' && message.kind !== 'complete') copy.apply(message)
  return copy
}

const encode = (messages: FeedMessage[]) => Buffer.concat(messages.flatMap((message) => encodeFrame(message)))

test('a copy that is made from a feed has the same playlists, parts and segments, and continues the same', () => {
  const live = createBroadcast()
  const text = render(live)
  assert.match(text, /#EXT-X-DISCONTINUITY-SEQUENCE:2\n/)
  assert.equal(text.match(/#EXT-X-GAP\n/g)?.length, 2)
  for (const chunkSize of [1, 7, 1_000_000]) {
    const copy = receive(encode(snapshotOf(live)), chunkSize)
    assert.equal(render(copy), text)
    assert.deepEqual([copy.targetSeconds, copy.qualities], [2, [quality]])
    const [original, copied] = [live.rendition(quality)!, copy.rendition(quality)!]
    assert.deepEqual(copied.inits, original.inits)
    for (const [sequence, index] of [
      [17, 0],
      [16, 3],
      [14, 0],
    ] as const)
      assert.deepEqual(copied.findPart(sequence, index)?.join(), original.findPart(sequence, index)?.join())
    // Without its file, the segment is only in memory.
    for (const sequence of [12, 16])
      assert.deepEqual(copied.findSegment(sequence)?.join(), original.findSegment(sequence)?.join())
    addPart(copy, { sequence: 17, epoch: 4, index: 1 })
    assert.match(render(copy), /PRELOAD-HINT:TYPE=PART,URI="17-4\.2\.m4s"/)
  }
})

test('a copy of a broadcast that has ended has ended', () => {
  const live = createBroadcast()
  live.apply({ kind: 'end' })
  const copy = receive(encode(snapshotOf(live)), 100)
  assert.ok(copy.isEnded)
  assert.match(render(copy), /#EXT-X-ENDLIST/)
})

test('something that is not a feed does not fill the memory', () => {
  assert.throws(() => [...new FrameReader().read(Buffer.from('HTTP/1.1 200 OK\r\n'))], FeedError)
})

test('a process that does not read is disconnected instead of filling the memory of the owner', async (t) => {
  const live = createBroadcast()
  const server = createServer((_request, response) => sendFeed(response, live)).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const connect = async () => {
    const sent = get({ port: (server.address() as AddressInfo).port, agent: false })
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }
  const [slow, fast] = [await connect(), await connect()]
  slow.on('error', () => {})
  const closed = new Promise((done) => slow.once('close', done))
  let received = 0
  fast.on('data', (chunk) => {
    received += chunk.length
  })
  const MiB = 1024 * 1024
  let sent = 0
  const isDisconnected = async () =>
    (await new Promise<number>((done) => server.getConnections((_, n) => done(n)))) < 2
  while (!(await isDisconnected())) {
    assert.ok(sent < 200 * MiB)
    addPart(live, { sequence: 17, epoch: 4, index: 1 }, MiB)
    sent += MiB
    // The fast one reads everything before more is sent.
    while (received < sent) await once(fast, 'data')
  }
  slow.resume()
  await closed
  assert.ok(!slow.complete)
  live.close()
  await once(fast, 'end')
})
