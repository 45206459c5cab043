import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { type FlvTag, flvTagType } from '../../server/live/media/flv-stream.ts'
import { encodeAmf } from '../../server/live/rtmp/amf0.ts'
import { encodeMessage, messageType } from '../../server/live/rtmp/chunks.ts'
import { beginHandshake } from '../../server/live/rtmp/handshake.ts'
import { call, query, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeSource, RtmpEncoder, rtmpPort } from '../support/live/encoders.ts'
import { createLiveStream, type LiveStream } from '../support/live/live-streams.ts'
import { durationsIn, frameHashes } from '../support/media/media.ts'

// What encoders and viewers may do wrong, by accident or on purpose. A healthy broadcast runs all the time.

// The encoder that stalls from the start is followed by another one in the last test.
const service = sharedKinora({ KINORA_LIVE_RECONNECT_SECONDS: '3600' })

const show = async (id: string) => (await call(`${service.url}/live-streams/${id}`)).body
const broadcastOf = async (id: string) =>
  (await call(`${service.url}/live-streams/${id}/broadcasts`)).body.data[0]
const problemsOf = async (id: string): Promise<string> =>
  (await broadcastOf(id))?.health?.problems.join() ?? ''

/** Ends the broadcast after everything that was sent has been stored. */
async function finish({ liveStreamId: id }: LiveStream, encoder: RtmpEncoder): Promise<void> {
  await encoder.close()
  await waitFor(async () => (await broadcastOf(id)).state === 'away')
  await complete(id)
}

async function complete(id: string): Promise<void> {
  await call(`${service.url}/live-streams/${id}/complete`, { method: 'PUT' })
  await waitFor(async () => (await broadcastOf(id)).state === 'ended')
}

const linesOf = (playlist: string) => playlist.split('\n').filter((line) => line && !line.startsWith('#'))
const get = (url: string) => call(url, { key: '' })

/** The media playlist of the first quality. */
async function playlistUrl({ assets }: LiveStream): Promise<string> {
  let text = ''
  await waitFor(async () => {
    const master = await get(assets.hls)
    text = master.text
    return master.status === 200
  })
  return new URL(linesOf(text)[0]!, assets.hls).href
}

/** Sends everything, ends the broadcast, and returns its playlist. */
async function broadcast(stream: LiveStream, tags: FlvTag[]): Promise<{ url: string; text: string }> {
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(tags)
  await finish(stream, encoder)
  const url = await playlistUrl(stream)
  return { url, text: (await get(url)).text }
}

async function countFrames(url: string, text: string): Promise<number> {
  const names = text.split('\n').flatMap((line) => {
    const [, map] = /#EXT-X-MAP:URI="([^"]+)"/.exec(line) ?? []
    return map ? [map] : line && !line.startsWith('#') ? [line] : []
  })
  const load = async (name: string) => Buffer.from(await (await fetch(new URL(name, url))).arrayBuffer())
  const path = join(await temporaryFolder({ after }), 'a.mp4')
  await writeFile(path, Buffer.concat(await Promise.all(names.map(load))))
  return (await frameHashes(path)).length
}

let source: FlvTag[]
let healthy: { stream: LiveStream; encoder: RtmpEncoder; timer: NodeJS.Timeout }
let stalled: { stream: LiveStream; encoder: RtmpEncoder }

/** The service is not started yet when hooks of the file are called, so the first test does this. */
let started: Promise<void> | undefined
beforeEach(() => {
  started ??= start()
  return started
})

async function start(): Promise<void> {
  source = makeSource({ frameRate: 10 })
  const stream = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  let sent = 0
  const send = () => {
    const round = Math.floor(sent / source.length)
    const from = sent % source.length
    // Less than half a second, because an encoder that is faster than real time has to wait at some point.
    const tags = source.slice(from, from + 20)
    sent += tags.length
    void encoder.send(tags, 6_000 * round)
  }
  healthy = { stream, encoder, timer: setInterval(send, 500) }
  const silent = await createLiveStream(service)
  stalled = { stream: silent, encoder: await RtmpEncoder.connect(service, silent.streamKey) }
  await stalled.encoder.send(source)
}
after(async () => {
  clearInterval(healthy.timer)
  await healthy.encoder.close()
})

afterEach(async () => {
  const { stream } = healthy
  const url = await playlistUrl(stream)
  const before = linesOf((await get(url)).text).length
  await waitFor(async () => linesOf((await get(url)).text).length > before)
  assert.equal(await problemsOf(stream.liveStreamId), '')
  assert.equal(service.process.exitCode, null)
})

async function open(): Promise<Socket> {
  const socket = connect(rtmpPort(service), '127.0.0.1')
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  return socket
}

const handshake = () => Buffer.concat([beginHandshake(), Buffer.alloc(1536)])
const message = (type: number, payload: Buffer, chunkSize = 128) =>
  encodeMessage({ type, streamId: 1, timestamp: 0, payload }, chunkSize)
const command = (...values: Parameters<typeof encodeAmf>) =>
  message(messageType.command, encodeAmf(...values))
const connectCommand = command('connect', 1, { app: 's' })
const uint32 = (value: number) =>
  Buffer.from([value >>> 24, value >>> 16, value >>> 8, value].map((b) => b & 255))

test('connections that break the protocol are closed', async () => {
  const frame = message(messageType.video, Buffer.from([0x17, 1, 0, 0, 0]))
  const empty = message(messageType.command, Buffer.alloc(0))
  const nested = Buffer.concat([Buffer.from([3]), Buffer.alloc(60_000, Buffer.from([0, 1, 97, 3]))])
  const { streamKey } = await createLiveStream(service)
  const published = [connectCommand, command('createStream', 2, null), command('publish', 3, null, streamKey)]
  const cases: Record<string, Buffer[]> = {
    'another protocol': [Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    garbage: [Buffer.alloc(100_000, 0xa7)],
    'garbage after the handshake': [handshake(), Buffer.alloc(100_000, 0xa7)],
    'a giant chunk size': [handshake(), message(messageType.setChunkSize, uint32(0x7fffffff))],
    'a chunk size of 0': [handshake(), message(messageType.setChunkSize, uint32(0))],
    'a giant message': [handshake(), Buffer.from([3, 0, 0, 0, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0])],
    'nested values': [handshake(), message(messageType.command, nested)],
    'a frame before the stream key': [handshake(), connectCommand, frame],
    'a connection without an address': [handshake(), command('connect', 1)],
    'a stream key before the connection': [handshake(), command('publish', 1, null, streamKey)],
    'no stream key': [handshake(), connectCommand, command('publish', 3, null)],
    'a second connection': [handshake(), connectCommand, connectCommand],
    'a second stream key': [handshake(), ...published, command('publish', 4, null, streamKey)],
    'a player that sends frames': [handshake(), connectCommand, command('play', 3, null, streamKey), frame],
    'empty messages without end': [handshake(), connectCommand, empty, Buffer.alloc(1_000_000, 0xc3)],
    'thousands of streams': [
      handshake(),
      connectCommand,
      ...Array(5_000).fill(command('createStream', 2, null)),
    ],
  }
  const closed = Object.entries(cases).map(async ([name, parts]) => {
    const socket = await open()
    socket.write(Buffer.concat(parts))
    // Also after an error.
    if (!socket.closed) await new Promise((done) => socket.once('close', done))
    return name
  })
  assert.deepEqual(await Promise.all(closed), Object.keys(cases))
})

test('a session in single bytes with changing chunk sizes is accepted', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const socket = await open()
  socket.setNoDelay(true)
  const session = [
    ...[handshake(), connectCommand, message(messageType.setChunkSize, uint32(1))],
    ...[message(messageType.command, encodeAmf('createStream', 2, null), 1)],
    ...[message(messageType.setChunkSize, uint32(65_536), 1), command('publish', 3, null, streamKey)],
  ]
  for (const byte of Buffer.concat(session)) socket.write(Buffer.from([byte]))
  await waitFor(async () => (await broadcastOf(id))?.state === 'live')
  const tags = source.slice(0, 20)
  for (const { type, timestamp, payload } of tags)
    socket.write(encodeMessage({ type, streamId: 1, timestamp, payload }, 65_536, 4))
  await waitFor(async () => (await broadcastOf(id)).health?.width === 160)
  socket.destroy()
})

test('other codecs are refused with a reason that the encoder and the owner see', async () => {
  const hevc = Buffer.from([0x90, 0x68, 0x76, 0x63, 0x31, 0, 0, 0])
  const cases: [number, Buffer, RegExp][] = [
    [flvTagType.video, Buffer.from([0x1c, 0, 0, 0, 0, 1]), /sends HEVC video\. Set it to H\.264\./],
    [flvTagType.video, hevc, /sends HEVC video/],
    [flvTagType.audio, Buffer.from([0xb2, 1, 2, 3]), /sends Speex audio\. Set it to AAC or MP3\./],
    [
      flvTagType.video,
      Buffer.from([0x17, 0, 0, 0, 0, 1, 2, 3]),
      /configuration of the H\.264 video is damaged/,
    ],
  ]
  for (const [type, payload, reason] of cases) {
    const { liveStreamId: id, streamKey } = await createLiveStream(service)
    const encoder = await RtmpEncoder.connect(service, streamKey)
    await encoder.send([{ type, timestamp: 0, payload }])
    assert.match((await encoder.ended).message, reason)
    await waitFor(async () => reason.test((await show(id)).lastRefusal?.reason ?? ''))
  }
})

test('a clock that jumps, stands still, runs backwards or wraps around leaves the stream playable', async () => {
  const wrapped = (ms: number) => (2 ** 32 - 3_000 + ms) % 2 ** 32
  const clocks: Record<string, (ms: number) => number> = {
    jumps: (ms) => (ms < 2_000 ? ms : ms < 4_000 ? ms + 500_000 : ms - 1_000),
    'stands still': (ms) => Math.min(ms, 1_000),
    'runs backwards': (ms) => 100_000 - ms,
    'wraps around': wrapped,
  }
  for (const [name, clock] of Object.entries(clocks)) {
    const stream = await createLiveStream(service)
    const tags = source.map((tag) => ({ ...tag, timestamp: clock(tag.timestamp) }))
    const { url, text } = await broadcast(stream, tags)
    const durations = durationsIn(text)
    const seconds = durations.reduce((sum, each) => sum + each, 0)
    assert.ok(Math.min(...durations) > 0 && Math.max(...durations) <= 10, `${name}: ${durations.join()}`)
    assert.ok(seconds > 1 && seconds < 12, `${name}: ${seconds} s`)
    assert.equal(await countFrames(url, text), 60, name)
  }
})

/** Sends hours as fast as possible: key frames of a few bytes, 2,999 ms apart. */
async function flood({ liveStreamId: id, streamKey }: LiveStream): Promise<Socket> {
  const socket = await open()
  const { payload } = source.find(({ type }) => type === flvTagType.video)!
  const publish = [connectCommand, command('createStream', 2, null), command('publish', 3, null, streamKey)]
  const frame = Buffer.from([0x17, 1, 0, 0, 0, 0, 0, 0, 1, 0x65])
  const frames = Array.from({ length: 20_000 }, (_, i) =>
    encodeMessage({ type: messageType.video, streamId: 1, timestamp: i * 2_999, payload: frame }, 128, 4),
  )
  socket.write(Buffer.concat([handshake(), ...publish, message(messageType.video, payload), ...frames]))
  await waitFor(async () => (await problemsOf(id)).includes('faster than real time'))
  return socket
}

/** The duration of everything that is stored. */
async function storedMinutes({ liveStreamId: id }: LiveStream): Promise<number> {
  const select = `select coalesce(sum(s.duration_ms), 0)::float8 / 60000 as minutes from live_segments s
    join broadcasts b on b.id = s.broadcast_id where b.live_stream_id = $1`
  return (await query(service.database, select, [id]))[0].minutes
}

test('an encoder that sends hours at once has to wait, and its broadcast ends with its connection', async () => {
  const stream = await createLiveStream(service)
  const socket = await flood(stream)
  // It has not read everything, so it learns of the end only when it sends something.
  socket.destroy()
  await waitFor(async () => (await broadcastOf(stream.liveStreamId)).state === 'away')
  const minutes = await storedMinutes(stream)
  assert.ok(minutes > 1 && minutes < 60, `${minutes}`)
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.close()
})

test('a broadcast that is completed ends at once, whatever its encoder has sent', async () => {
  const stream = await createLiveStream(service)
  const socket = await flood(stream)
  await complete(stream.liveStreamId)
  const minutes = await storedMinutes(stream)
  assert.ok(minutes < 60, `${minutes}`)
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.close()
  socket.destroy()
})

test('one and 120 frames per second are broadcast', async () => {
  for (const frameRate of [1, 120]) {
    const stream = await createLiveStream(service)
    const { url, text } = await broadcast(
      stream,
      makeSource({ frameRate, keyFrames: 2 * frameRate, seconds: 4 }),
    )
    assert.equal(await countFrames(url, text), 4 * frameRate)
    assert.ok(Math.max(...durationsIn(text)) < 3, text)
  }
})

test('a new size within one connection begins with its own init segment', async () => {
  const stream = await createLiveStream(service)
  const other = makeSource({ frameRate: 10, size: '192x144', seconds: 2 })
  const later = other.map((tag) => ({ ...tag, timestamp: tag.timestamp + 6_000 }))
  const { text } = await broadcast(stream, [...source, ...later])
  assert.match(text, /#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-2\.mp4"/)
  assert.match((await get(stream.assets.hls)).text, /RESOLUTION=192x144/)
})

test('an encoder that changes its size all the time is slowed down, and its broadcast goes on', async () => {
  const stream = await createLiveStream(service)
  const sizes = [source, makeSource({ frameRate: 10, size: '192x144', seconds: 1, audio: 'none' })]
  const isStart = ({ type, payload }: FlvTag) =>
    type === flvTagType.video && (payload[1] === 0 || payload[0] === 0x17)
  const starts = sizes.map((tags) => tags.filter(isStart).slice(0, 2))
  const tags = Array.from({ length: 400 }, (_, i) =>
    starts[i % 2]!.map((tag) => ({ ...tag, timestamp: i * 40 })),
  ).flat()
  const { text } = await broadcast(stream, [
    ...source.filter(({ type }) => type === flvTagType.audio).slice(0, 1),
    ...tags,
  ])
  assert.ok(text.split('#EXT-X-DISCONTINUITY\n').length > 300, text)
})

test('the owner learns that no key frame has arrived', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(
    source.filter(
      ({ type, payload }) => type === flvTagType.audio || payload[0] !== 0x17 || payload[1] === 0,
    ),
  )
  await waitFor(async () => (await problemsOf(id)).includes('has not sent a key frame yet'))
  await encoder.send(source, 6_000)
  await waitFor(async () => (await problemsOf(id)) === '')
  await encoder.close()
})

test('a store that cannot write delays nothing, is reported, and gets everything later', async () => {
  const stream = await createLiveStream(service)
  const { liveStreamId: id, streamKey } = stream
  const encoder = await RtmpEncoder.connect(service, streamKey)
  const { broadcastId } = await broadcastOf(id)
  // A file where a folder has to be.
  const folder = join(service.data, 'files/live', broadcastId)
  await mkdir(join(folder, '..'), { recursive: true })
  await writeFile(folder, '')
  await encoder.send(source)
  await waitFor(async () => (await problemsOf(id)).includes('cannot be stored at the moment'))
  await rm(folder)
  await waitFor(async () => (await problemsOf(id)) === '')
  await finish(stream, encoder)
  const url = await playlistUrl(stream)
  assert.equal(await countFrames(url, (await get(url)).text), 60)
})

test('viewers that leave while they wait, or stop reading, affect nobody', async () => {
  const stream = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(source)
  const url = await playlistUrl(stream)
  const { text } = await get(url)
  const last = Number(/(\d+)-1\.m4s\n(?![\s\S]*\.m4s\n)/.exec(text)?.[1])
  const blocked = `${url}?_HLS_msn=${last + 1}&_HLS_part=9`
  const { port, pathname } = new URL(url)
  const open = async (path: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  }
  const { search } = new URL(blocked)
  const waiting = await Promise.all(Array.from({ length: 300 }, () => open(pathname + search)))
  const slow = await open(pathname.replace('index.m3u8', linesOf(text)[0]!))
  const reload = get(blocked)
  for (const each of waiting) each.destroy()
  await encoder.send(source, 6_000)
  assert.equal((await reload).status, 200)
  const hint = get(`${url}?_HLS_msn=${last + 5}`)
  // Whoever waits is answered when the broadcast ends, and who asks afterwards is answered at once.
  await complete(stream.liveStreamId)
  assert.ok([200, 400].includes((await hint).status))
  assert.match((await get(`${url}?_HLS_msn=${last + 1}`)).text, /#EXT-X-ENDLIST/)
  slow.destroy()
  await encoder.close()
})

test('an encoder that stalls is disconnected, and another one continues', async () => {
  const { stream, encoder } = stalled
  await encoder.ended
  const second = await RtmpEncoder.connect(service, stream.streamKey)
  await second.send(source)
  const url = await playlistUrl(stream)
  await waitFor(async () => /init-2\.mp4/.test((await get(url)).text))
  await second.close()
})
