import assert from 'node:assert/strict'
import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, beforeEach, test } from 'node:test'
import type { FlvTag } from '../../server/live/media/flv-stream.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  query,
  sandboxKey,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder, stayConnected } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { ffprobe, frameHashes } from '../support/media/media.ts'
import { client } from '../support/published-client.ts'

// Broadcasts from the encoder to the playlists and segments that viewers get.

const service = sharedKinora({ KINORA_LIVE_SANDBOX_SECONDS: '3' })
const streams = () => `${service.url}/live-streams`

let source: FlvTag[]
let otherSize: FlvTag[]
before(() => {
  source = makeSource()
  otherSize = makeSource({ size: '192x144', seconds: 4 })
})
beforeEach(() =>
  query(service.database, 'delete from broadcasts; delete from live_streams; delete from events'),
)

const show = async (id: string) => (await call(`${streams()}/${id}`)).body
const complete = (id: string) => call(`${streams()}/${id}/complete`, { method: 'PUT' })
const broadcastsOf = async (id: string) => (await call(`${streams()}/${id}/broadcasts`)).body.data
const get = (url: string) => call(url, { key: '' })

async function eventsOf(id: string): Promise<string[]> {
  const rows = await query(
    service.database,
    `select type from events where payload ->> 'liveStreamId' = $1 order by position`,
    [id],
  )
  return rows.map(({ type }) => type)
}

/** The URLs in a playlist, absolute. */
const urlsIn = (playlist: string, base: string) =>
  playlist
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => new URL(line, base).href)

/** Waits until viewers can watch, and returns the URLs of the qualities. */
async function waitForMaster(url: string): Promise<string[]> {
  let master: ApiResponse | undefined
  await waitFor(async () => {
    master = await get(url)
    return master.status === 200
  })
  return urlsIn(master!.text, url)
}

async function waitForSegments(url: string, count: number): Promise<string> {
  let text = ''
  await waitFor(
    async () => {
      text = (await get(url)).text
      return urlsIn(text, url).length >= count
    },
    () => text,
  )
  return text
}

/** Everything that a media playlist refers to, as one file per init segment. */
async function download(playlistUrl: string): Promise<Buffer[]> {
  const files: Buffer[][] = []
  const { text } = await get(playlistUrl)
  const load = async (uri: string) => {
    const response = await fetch(new URL(uri, playlistUrl))
    assert.equal(response.status, 200, uri)
    return Buffer.from(await response.arrayBuffer())
  }
  for (const line of text.split('\n')) {
    const [, map] = /#EXT-X-MAP:URI="([^"]+)"/.exec(line) ?? []
    if (map) files.push([await load(map)])
    if (line !== '' && !line.startsWith('#')) files.at(-1)!.push(await load(line))
  }
  return files.map((parts) => Buffer.concat(parts))
}

test('a broadcast is visible to viewers, and every frame that was sent is in its segments', async (t) => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  assert.equal((await get(assets.hls)).status, 404)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const [playlist, ...others] = await waitForMaster(assets.hls)
  assert.deepEqual(others, [], 'nothing is encoded for a source of 120p')
  const master = (await get(assets.hls)).text
  assert.match(master, /CODECS="avc1\.[0-9a-f]{6},mp4a\.40\.2",RESOLUTION=160x120\n/)
  assert.equal((await show(id)).broadcasting, true)
  await encoder.close()
  const text = await waitForSegments(playlist!, 3)
  assert.match(text, /#EXT-X-TARGETDURATION:2\n/)
  assert.match(text, /#EXT-X-PART:DURATION=0\.48,URI="2-1\.0\.m4s",INDEPENDENT=YES\n/)
  const folder = await temporaryFolder(t)
  const [file] = await download(playlist!)
  const path = join(folder, 'a.mp4')
  await writeFile(path, file!)
  assert.equal((await frameHashes(path)).length, 150)
  const [codecs] = [await ffprobe(path, '-show_entries', 'stream=codec_name', '-of', 'csv=p=0')]
  assert.deepEqual(codecs, ['h264', 'aac'])
  assert.deepEqual(await eventsOf(id), ['live-stream.broadcast.started'])
})

test('a request for a part that does not exist yet is answered when it does', async () => {
  const { streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const stopSending = stayConnected(encoder, source)
  const [playlist] = await waitForMaster(assets.hls)
  const text = await waitForSegments(playlist!, 2)
  const [, hint] = /PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/.exec(text) ?? []
  const part = fetch(new URL(hint!, playlist))
  const [, sequence, index] = /^(\d+)-1\.(\d+)\.m4s$/.exec(hint!) ?? []
  const reload = get(`${playlist}?_HLS_msn=${sequence}&_HLS_part=${index}`)
  await encoder.send(source, 6_000)
  assert.equal((await part).status, 200)
  const reloaded = await reload
  assert.ok(reloaded.text.includes(`URI="${hint}"`), reloaded.text)
  assert.equal(reloaded.headers.get('cache-control'), 'public, max-age=0, s-maxage=1')
  const delta = await get(`${playlist}?_HLS_msn=1&_HLS_skip=YES`)
  assert.equal(delta.status, 200)
  stopSending()
  await encoder.close()
})

test('requests for what can never exist are rejected at once', async () => {
  const { streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const [playlist] = await waitForMaster(assets.hls)
  for (const query of ['_HLS_msn=99', '_HLS_msn=x', '_HLS_part=1', '_HLS_msn=-1', '_HLS_msn=1&_HLS_part=1e3'])
    assert.equal((await get(`${playlist}?${query}`)).status, 400, query)
  const missing = [
    '99-1.m4s',
    '0-2.m4s',
    '0-1.99.m4s',
    '9-1.0.m4s',
    'init-9.mp4',
    '..%2f0-1.m4s',
    'x.mp4',
    '0-1.m4s.bak',
  ]
  for (const file of missing) assert.equal((await get(new URL(file, playlist).href)).status, 404, file)
  assert.equal((await get(playlist!.replace('/source/', '/720p/'))).status, 404)
  const other = await createLiveStream(service)
  const foreign = playlist!.replace(/\/li[0-9A-Za-z]{22}\//, `/${other.liveStreamId}/`)
  assert.equal((await get(foreign)).status, 404, 'the broadcast of another live stream')
  await encoder.close()
})

test('an unknown stream key is refused', async () => {
  await assert.rejects(RtmpEncoder.connect(service, 'nobody'), /The stream key is unknown\./)
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const rotated = await call(`${streams()}/${id}/stream-key`, { method: 'POST' })
  await assert.rejects(RtmpEncoder.connect(service, streamKey), /unknown/)
  const encoder = await RtmpEncoder.connect(service, rotated.body.streamKey)
  await encoder.close()
})

test('a second encoder is refused while the first one sends, and accepted as soon as it is gone', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const first = await RtmpEncoder.connect(service, streamKey)
  await first.send(source)
  const stopSending = stayConnected(first, source)
  await assert.rejects(RtmpEncoder.connect(service, streamKey), /Another encoder is sending/)
  assert.match((await show(id)).lastRefusal.reason, /Another encoder is sending/)
  stopSending()
  await first.abort()
  const second = await RtmpEncoder.connect(service, streamKey)
  await second.close()
  assert.equal((await broadcastsOf(id)).length, 1)
})

test('an encoder that returns with another size continues the broadcast', async () => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  const first = await RtmpEncoder.connect(service, streamKey)
  await first.send(source)
  const [playlist] = await waitForMaster(assets.hls)
  await first.abort()
  await waitFor(async () => (await broadcastsOf(id))[0].state === 'away')
  assert.equal((await show(id)).broadcasting, true)
  const second = await RtmpEncoder.connect(service, streamKey)
  await second.send(otherSize)
  await second.close()
  const text = await waitForSegments(playlist!, 5)
  const tags = text.split('\n').filter((line) => /DISCONTINUITY|MAP|^\d/.test(line))
  assert.deepEqual(tags, [
    '#EXT-X-MAP:URI="init-1.mp4"',
    ...['0-1.m4s', '1-1.m4s', '2-1.m4s'],
    ...['#EXT-X-DISCONTINUITY', '#EXT-X-MAP:URI="init-2.mp4"'],
    ...['3-2.m4s', '4-2.m4s'],
  ])
  assert.deepEqual(await waitForMaster(assets.hls), [playlist], 'the same playlist')
  assert.match((await get(assets.hls)).text, /RESOLUTION=192x144/)
  assert.deepEqual(await eventsOf(id), ['live-stream.broadcast.started'])
})

test('complete ends the broadcast at once, and the published client calls it', async () => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  const { liveStreams } = client(service.url)
  await liveStreams.complete(id)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const [playlist] = await waitForMaster(assets.hls)
  await liveStreams.complete(id)
  await waitFor(async () => (await broadcastsOf(id))[0].state === 'ended')
  // The database knows of the end first.
  await waitFor(async () => /#EXT-X-ENDLIST/.test((await get(playlist!)).text))
  const text = await waitForSegments(playlist!, 3)
  assert.match(text, /2-1\.m4s\n#EXT-X-ENDLIST\n$/)
  assert.doesNotMatch(text, /#EXT-X-PART/)
  // Earlier playlists have parts, and have announced one that does not come.
  const part = await get(new URL('2-1.0.m4s', playlist).href)
  assert.deepEqual([part.status, part.text.length > 0], [200, true])
  const announced = await get(new URL('3-1.0.m4s', playlist).href)
  assert.deepEqual([announced.status, announced.text], [200, ''])
  assert.equal(announced.headers.get('cache-control'), 'public, max-age=0, s-maxage=1')
  assert.equal((await get(new URL('4-1.0.m4s', playlist).href)).status, 404)
  assert.equal((await show(id)).broadcasting, false)
  // The recording may already be a video.
  assert.deepEqual((await eventsOf(id)).slice(0, 2), [
    'live-stream.broadcast.started',
    'live-stream.broadcast.ended',
  ])
  // What this connection still sends begins no other broadcast, but a new connection does.
  await encoder.send(otherSize, 6_000)
  const next = await RtmpEncoder.connect(service, streamKey)
  await next.send(source)
  await waitFor(async () => (await broadcastsOf(id)).length === 2)
  await next.close()
  await encoder.close()
  assert.equal((await broadcastsOf(id)).length, 2)
  assert.deepEqual([(await complete(id)).status, (await complete(id)).text], [202, ''])
  const foreign = await call(`${streams()}/${id}/complete`, { method: 'PUT', key: sandboxKey })
  assertProblem(foreign, 404, 'resource-not-found', 'liveStreamId')
})

test('health shows what the encoder sends, also after the broadcast, to its own environment only', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  await encoder.close()
  await complete(id)
  await waitFor(async () => (await broadcastsOf(id))[0].state === 'ended')
  const [{ health, broadcastId }] = await broadcastsOf(id)
  assert.deepEqual([health.width, health.height, health.keyFrameInterval], [160, 120, 2])
  assert.deepEqual([health.protocol, health.link], ['rtmp', null])
  assert.ok(Math.abs(health.frameRate - 25) < 0.5 && health.bitRate > 10_000, JSON.stringify(health))
  const url = `${streams()}/${id}/broadcasts`
  assert.equal((await call(`${url}/${broadcastId}`)).body.broadcastId, broadcastId)
  assertProblem(await call(url, { key: sandboxKey }), 404, 'resource-not-found', 'liveStreamId')
  assertProblem(
    await call(`${url}/${broadcastId}`, { key: sandboxKey }),
    ...([404, 'resource-not-found', 'liveStreamId'] as const),
  )
  assertProblem(await call(`${url}/br${'0'.repeat(22)}`), 404, 'resource-not-found', 'broadcastId')
})

test('streams of audio only, of video only, and with MP3 are broadcast', async () => {
  const cases = [
    [{ video: false }, /CODECS="mp4a\.40\.2"\n/],
    [{ audio: 'none' }, /CODECS="avc1\.\w+",RESOLUTION=160x120\n/],
    [{ audio: 'mp3' }, /CODECS="avc1\.\w+,mp4a\.40\.2",RESOLUTION=160x120\n/],
  ] as const
  for (const [options, codecs] of cases) {
    const { streamKey, assets } = await createLiveStream(service)
    const encoder = await RtmpEncoder.connect(service, streamKey)
    await encoder.send(makeSource({ seconds: 5, ...options }))
    const [playlist] = await waitForMaster(assets.hls)
    await encoder.close()
    await waitForSegments(playlist!, 2)
    assert.match((await get(assets.hls)).text, codecs)
    const [file] = await download(playlist!)
    assert.ok(file!.length > 10_000)
  }
})

test('no segment is longer than the target duration, although the encoder adds key frames', async () => {
  const { streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(makeSource({ seconds: 8, scenes: '2.72,5.2' }))
  const [playlist] = await waitForMaster(assets.hls)
  await encoder.close()
  const text = await waitForSegments(playlist!, 4)
  assert.match(text, /#EXT-X-TARGETDURATION:2\n/)
  const durations = [...text.matchAll(/#EXTINF:([\d.]+),/g)].map(([, seconds]) => Number(seconds))
  // Key frames at 0, 2, 2.72, 4.72, 5.2 and 7.2 s. The one at 5.2 s is not needed.
  assert.deepEqual(durations.slice(0, 4), [2, 0.72, 2, 2.48])
})

test('a source whose key frames are far apart is encoded for viewers, and the health says why', async () => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(makeSource({ seconds: 12, keyFrames: 250 }))
  // After the end, a busy machine might not encode the rest in time.
  const stopSending = stayConnected(encoder, source)
  const [playlist] = await waitForMaster(assets.hls)
  assert.match(playlist!, /\/top\/index\.m3u8$/)
  const text = await waitForSegments(playlist!, 5)
  const durations = [...text.matchAll(/#EXTINF:([\d.]+),/g)].map(([, seconds]) => Number(seconds))
  assert.ok(Math.max(...durations) < 2.5, durations.join())
  // The health is stored with the next renewal of the lease.
  const problems = async () => String((await broadcastsOf(id))[0].health?.problems)
  await waitFor(async () => /Key frames are more than 4 s apart/.test(await problems()))
  assert.equal((await get(playlist!.replace('/top/', '/source/'))).status, 404)
  stopSending()
  await encoder.close()
})

test('a lower quality goes on with a new number when its encoder begins anew because key frames have become rare', async () => {
  const { streamKey, assets } = await createLiveStream(service, { record: false })
  const encoder = await RtmpEncoder.connect(service, streamKey)
  const size = { size: '352x288', frameRate: 10 }
  const tags = makeSource({ ...size, seconds: 14, keyFrames: 250, scenes: '2,4' })
  const isEarly = ({ timestamp }: FlvTag) => timestamp < 7_500
  await encoder.send(tags.filter(isEarly))
  const stopSending = stayConnected(encoder, source)
  let lower: string | undefined
  await waitFor(async () => {
    lower = urlsIn((await get(assets.hls)).text, assets.hls).find((url) => /\/240p\//.test(url))
    return lower !== undefined && (await get(lower)).text.includes('URI="2-1.0.m4s"')
  })
  await encoder.send(tags.filter((tag) => !isEarly(tag)))
  let text = ''
  await waitFor(
    async () => {
      text = (await get(lower!)).text
      return /^4-1\.m4s$/m.test(text)
    },
    () => text,
  )
  // Viewers have seen parts of another segment with this number.
  assert.match(text, /#EXT-X-GAP\n#EXTINF:1,\n2-1\.m4s\n/)
  stopSending()
  await encoder.close()
})

test('a source that most devices cannot decode is encoded for viewers, and the health says why', async () => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  const unplayable = makeSource({ pixelFormat: 'yuv444p' })
  await encoder.send(unplayable)
  const stopSending = stayConnected(encoder, source)
  const [playlist] = await waitForMaster(assets.hls)
  assert.match(playlist!, /\/top\/index\.m3u8$/)
  assert.match((await get(assets.hls)).text, /CODECS="avc1\.(42|4d|64)/)
  await waitForSegments(playlist!, 2)
  const problems = async () => String((await broadcastsOf(id))[0].health?.problems)
  await waitFor(async () =>
    /cannot play H\.264 with 4:4:4 chroma, so the source is encoded for viewers/.test(await problems()),
  )
  assert.equal((await get(playlist!.replace('/top/', '/source/'))).status, 404)
  stopSending()
  await encoder.close()
  // Viewers keep what they can watch until the encoded qualities of the next connection have begun.
  const bitRate = async () => (await broadcastsOf(id))[0].health.bitRate
  const before = await bitRate()
  const second = await RtmpEncoder.connect(service, streamKey)
  await second.send(unplayable.slice(0, 10))
  await waitFor(async () => (await bitRate()) !== before)
  assert.match((await get(assets.hls)).text, /\/top\/index\.m3u8/)
  // With a usual format, the reason is gone.
  await second.send(otherSize, 6_000)
  await waitFor(async () => (await problems()) === '')
  await second.close()
})

test('a private live stream needs its token, for every file', async () => {
  const stream = await createLiveStream(service, { public: false })
  const { liveStreamId: id, streamKey } = stream
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  await waitFor(async () => (await show(id)).broadcasting)
  const bare = `${service.url}/live/${id}.m3u8`
  assert.equal((await get(bare)).status, 403)
  const other = await createLiveStream(service, { public: false })
  const [, foreignToken] = /private\/([^/]+)\//.exec(other.assets.hls)!
  assert.equal((await get(`${service.url}/live/private/${foreignToken}/${id}.m3u8`)).status, 404)
  const { assets } = await show(id)
  const [playlist] = await waitForMaster(assets.hls)
  assert.match(playlist!, /\/live\/private\/[^/]+\/li\w+\/br\w+\/source\/index\.m3u8\?avh=\w+$/)
  const { text } = await get(playlist!)
  const [segment] = urlsIn(text, playlist!)
  assert.equal((await get(segment!)).status, 200)
  assert.equal((await get(segment!.split('?')[0]!)).status, 404, 'without the session')
  const reloaded = await get(`${playlist}&_HLS_msn=0`)
  assert.equal(reloaded.headers.get('cache-control'), 'private, max-age=0')
  assert.equal((await get(segment!.replace(/private\/[^/]+\//, ''))).status, 403)
  const { token } = await sessionOf((await show(id)).assets.hls)
  assert.match(token, /^\w{22}$/)
  await encoder.close()
})

test('a file of a private live stream that does not exist does not use up the token', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service, { public: false })
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  await waitFor(async () => (await show(id)).broadcasting)
  const [{ broadcastId }] = await broadcastsOf(id)
  const { hls } = (await show(id)).assets
  const files = hls.replace(/\.m3u8$/, '')
  for (const missing of [
    `${files}/${broadcastId}/source/99999-1.m4s`,
    `${files}/${broadcastId}/source/init-9.mp4`,
    `${files}/${broadcastId}/source/other.txt`,
    `${files}/${broadcastId}/4320p/index.m3u8`,
    `${files}/br000000000000000000000/source/index.m3u8`,
  ]) {
    const { status, headers } = await get(missing)
    assert.deepEqual([status, headers.get('set-cookie')], [404, null], missing)
  }
  const [playlist] = await waitForMaster(hls)
  assert.match(playlist!, /\?avh=\w+$/)
  await encoder.close()
})

/** The session of a token, as native players request it. */
async function sessionOf(hls: string): Promise<{ token: string }> {
  const { body } = await get(hls.replace(/\.m3u8$/, '/session'))
  return { token: body.session_token }
}

test('deleting a live stream ends its broadcast', async () => {
  const { liveStreamId: id, streamKey, assets } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const [playlist] = await waitForMaster(assets.hls)
  assert.equal((await call(`${streams()}/${id}`, { method: 'DELETE' })).status, 204)
  await waitFor(async () => (await eventsOf(id)).includes('live-stream.broadcast.ended'))
  // The recording may already be a video.
  assert.deepEqual((await eventsOf(id)).slice(0, 2), [
    'live-stream.broadcast.started',
    'live-stream.broadcast.ended',
  ])
  await waitFor(async () => (await get(playlist!)).status === 404)
  await encoder.close()
})

test('a broadcast in the sandbox ends after its time', async () => {
  const { liveStreamId: id, streamKey } = await createLiveStream({ url: service.url, key: sandboxKey })
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(source)
  const state = async () =>
    (await query(service.database, 'select state from broadcasts where live_stream_id = $1', [id]))[0]?.state
  await waitFor(async () => (await state()) === 'ended')
  await encoder.close()
})

test('a thumbnail is uploaded, shown and deleted', async () => {
  const { liveStreamId: id, assets } = await createLiveStream(service)
  const { liveStreams } = client(service.url)
  const placeholder = await get(assets.thumbnail)
  assert.deepEqual([placeholder.status, placeholder.headers.get('content-type')], [200, 'image/jpeg'])
  const image = join(import.meta.dirname, '../../docs/images/player.png')
  const form = new FormData()
  form.append('file', await openAsBlob(image), 'player.png')
  const created = await call(`${service.url}/live-streams/${id}/thumbnail`, { method: 'POST', body: form })
  assert.deepEqual([created.status, created.body.assets.thumbnail], [201, assets.thumbnail])
  const uploaded = await liveStreams.uploadThumbnail(id, image)
  assert.equal(uploaded.assets?.thumbnail, assets.thumbnail)
  const shown = await get(assets.thumbnail)
  assert.equal(shown.headers.get('content-type'), 'image/jpeg')
  assert.notEqual(shown.text, placeholder.text)
  await liveStreams.deleteThumbnail(id)
  assert.equal((await get(assets.thumbnail)).text, placeholder.text)
})
