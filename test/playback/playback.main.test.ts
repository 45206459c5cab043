import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readlink, truncate, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { EncodingPlan } from '../../server/encoding/tables.ts'
import { segmentFile } from '../../server/videos/files.ts'
import {
  assertProblem,
  call,
  callRaw,
  MiB,
  query,
  sandboxKey,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { findGrowthViolations, findViolations } from '../support/media/playlist-validator.ts'
import { createVideo } from '../support/videos.ts'

// Media responses for rows and files as the encoder stores them.

const service = sharedKinora()

const plan: EncodingPlan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  // Segments of 2 s, 4 s, 4 s and 2 s.
  frames: 300,
  rungs: [
    { quality: '240p', width: 426, height: 240, maxKbps: 400 },
    { quality: '360p', width: 640, height: 360, maxKbps: 800 },
  ],
  hasSound: true,
  isWatermarked: false,
}
const silent = { ...plan, hasSound: false }
const codecs: Record<string, string> = { '240p': 'avc1.640015', '360p': 'avc1.64001e', sound: 'mp4a.40.2' }

async function putFile(key: string, content: Buffer): Promise<void> {
  const path = join(service.data, 'files', key)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}

async function insertEncoding(
  videoId: string,
  state = 'encoding',
  planned: EncodingPlan | null = plan,
): Promise<void> {
  await query(
    service.database,
    `insert into encodings (video_id, environment, state, plan, created_at, finished_at)
     values ($1, 'production', $2, $3, now(), case when $2 = 'encoded' then now() end)`,
    [videoId, state, planned],
  )
  for (const { quality, height } of planned?.rungs ?? []) {
    await query(
      service.database,
      `insert into renditions (video_id, type, quality, height, state) values ($1, 'hls', $2, $3, 'encoding')`,
      [videoId, quality, height],
    )
  }
}

/** Stores the segments of one chunk and returns the bytes of each. */
async function addSegments(
  videoId: string,
  rendition: string,
  first: number,
  sizes: number[],
  folder = String(first),
): Promise<Buffer[]> {
  const segments = sizes.map((size) => randomBytes(size))
  const key = `videos/${videoId}/${rendition}/${folder}`
  for (const [i, segment] of segments.entries()) await putFile(segmentFile(key, i), segment)
  await query(
    service.database,
    `insert into initializations (video_id, rendition, codec, bytes) values ($1, $2, $3, $4) on conflict do nothing`,
    [videoId, rendition, codecs[rendition], Buffer.from(`init of ${rendition}`)],
  )
  await query(
    service.database,
    'insert into segments (video_id, rendition, first_segment, sizes, key) values ($1, $2, $3, $4, $5)',
    [videoId, rendition, first, sizes, key],
  )
  return segments
}

async function addMp4(videoId: string, content: Buffer): Promise<string> {
  const key = `videos/${videoId}/mp4`
  await putFile(key, content)
  await query(
    service.database,
    `insert into renditions (video_id, type, quality, height, state, key) values ($1, 'mp4', '360p', 360, 'encoded', $2)`,
    [videoId, key],
  )
  return key
}

const change = (videoId: string, table: 'encodings' | 'renditions', set: string, and = 'true') =>
  query(service.database, `update ${table} set ${set} where video_id = $1 and ${and}`, [videoId])

const hls = (videoId: string, path: string) => `${service.url}/vod/${videoId}/hls/${path}`
const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  call(url, { key: '', headers, method })
const master = (videoId: string) => get(hls(videoId, 'manifest.m3u8'))

async function getBytes(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

/** Makes a complete public video with 4 segments. */
async function completeVideo(): Promise<string> {
  const videoId = await createVideo(service)
  await insertEncoding(videoId, 'encoded')
  for (const rendition of ['240p', '360p', 'sound']) {
    await addSegments(videoId, rendition, 0, [3000])
    await addSegments(videoId, rendition, 1, [5000, 4000, 1000])
  }
  await change(videoId, 'renditions', `state = 'encoded'`)
  return videoId
}

describe('the master playlist', () => {
  test('returns 202 without a body until the first segments of the lowest quality and the audio are stored', async () => {
    const videoId = await createVideo(service)
    const isWaiting = async () => {
      const response = await master(videoId)
      assert.deepEqual([response.status, response.text], [202, ''])
      assert.equal(response.headers.get('content-length'), '0')
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.equal((await get(hls(videoId, 'manifest.m3u8'), {}, 'HEAD')).status, 202)
    }
    await isWaiting()
    await insertEncoding(videoId)
    await isWaiting()
    await addSegments(videoId, '360p', 0, [100])
    await addSegments(videoId, 'sound', 1, [100])
    await isWaiting()
    await addSegments(videoId, '240p', 0, [100])
    await isWaiting()
    await addSegments(videoId, 'sound', 0, [100])
    const response = await master(videoId)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'application/vnd.apple.mpegurl')
  })

  test('is valid while it grows, and lists a quality once its first segment is stored', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    for (const rendition of ['240p', 'sound']) await addSegments(videoId, rendition, 0, [1000])
    await addSegments(videoId, '360p', 1, [1000])
    const growing = await master(videoId)
    assert.deepEqual(findViolations(growing.text, 'master'), [])
    assert.equal(growing.headers.get('cache-control'), 'public, max-age=0, s-maxage=1')
    assert.equal(
      growing.text,
      [
        '#EXTM3U',
        '#EXT-X-VERSION:7',
        '#EXT-X-INDEPENDENT-SEGMENTS',
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Audio",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="sound/manifest.m3u8"',
        '#EXT-X-STREAM-INF:BANDWIDTH=528000,CODECS="avc1.640015,mp4a.40.2",RESOLUTION=426x240,FRAME-RATE=25.000,AUDIO="sound"',
        '240p/manifest.m3u8',
        '',
      ].join('\n'),
    )
    await addSegments(videoId, '360p', 0, [1000])
    const more = await master(videoId)
    assert.ok(more.text.startsWith(growing.text))
    assert.ok(more.text.endsWith('\n360p/manifest.m3u8\n'))
  })

  test('has the average bandwidth of a complete video and is cached for a minute', async () => {
    const response = await master(await completeVideo())
    assert.deepEqual(findViolations(response.text, 'master'), [])
    assert.equal(response.headers.get('cache-control'), 'public, max-age=60')
    // 13,000 bytes of video and 13,000 bytes of audio in 12 s.
    assert.match(response.text, /BANDWIDTH=528000,AVERAGE-BANDWIDTH=17334,/)
    assert.match(response.text, /BANDWIDTH=928000,AVERAGE-BANDWIDTH=17334,/)
  })

  test('has no audio group if the video has no audio or its audio failed', async () => {
    const [silentId, failed] = [await createVideo(service), await createVideo(service)]
    await insertEncoding(silentId, 'encoding', silent)
    await insertEncoding(failed)
    for (const videoId of [silentId, failed]) await addSegments(videoId, '240p', 0, [1000])
    assert.equal((await master(failed)).status, 202)
    await change(failed, 'encodings', `sound_failure = 'no decoder'`)
    for (const videoId of [silentId, failed]) {
      const { text } = await master(videoId)
      assert.deepEqual(findViolations(text, 'master'), [])
      assert.doesNotMatch(text, /AUDIO|mp4a/)
      assert.match(text, /BANDWIDTH=400000,/)
      assert.equal((await get(hls(videoId, 'sound/manifest.m3u8'))).status, 404)
    }
  })

  test('a failed quality is not listed and does not delay the others', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId, 'encoding', silent)
    for (const quality of ['240p', '360p']) await addSegments(videoId, quality, 0, [1000])
    await change(videoId, 'renditions', `state = 'failed'`, `quality = '240p'`)
    const { status, text } = await master(videoId)
    assert.equal(status, 200)
    assert.doesNotMatch(text, /240p/)
    assert.match(text, /\n360p\/manifest.m3u8\n/)
    assertProblem(await get(hls(videoId, '240p/manifest.m3u8')), 404, 'resource-not-found', 'rendition')
    await change(videoId, 'renditions', `state = 'failed'`)
    assertProblem(await master(videoId), 404, 'resource-not-found', 'videoId')
  })

  test('returns 404 for an unknown video, a failed encoding and a failed source', async () => {
    for (const id of ['vi0000000000000000000000', 'x', 'vi', '%00', "vi'--", 'vi000000000000000000000.'])
      assertProblem(await master(id), 404, 'resource-not-found', 'videoId')
    const [failed, failedSource] = [await createVideo(service), await createVideo(service)]
    await insertEncoding(failed, 'failed', null)
    await query(
      service.database,
      `insert into sources (video_id, form, handle, state, failure, created_at, updated_at)
       values ($1, 'url', 'x', 'failed', 'gone', now(), now())`,
      [failedSource],
    )
    for (const id of [failed, failedSource])
      assertProblem(await master(id), 404, 'resource-not-found', 'videoId')
    assert.equal((await master(failed)).headers.get('cache-control'), 'no-store')
  })

  test('sandbox videos have the same URLs', async () => {
    const videoId = await createVideo({ url: `${service.url}/sandbox`, key: sandboxKey })
    assert.equal((await master(videoId)).status, 202)
  })
})

describe('the playable state of a video', () => {
  /** The manifest, the status and the player must agree. */
  async function isPlayable(videoId: string): Promise<boolean> {
    const [{ status }, { body: video }, { body: player }] = [
      await master(videoId),
      await call(`${service.url}/videos/${videoId}/status`),
      await get(`${service.url}/vod/${videoId}/config.json`),
    ]
    assert.equal(video.encoding.playable, status === 200, `the manifest returns ${status}`)
    assert.equal(player.state === 'ready', status === 200, `the player says ${player.state}`)
    return status === 200
  }

  test('the status, the manifest and the player agree at every step of an encoding', async () => {
    const videoId = await createVideo(service)
    assert.equal(await isPlayable(videoId), false)
    await insertEncoding(videoId)
    assert.equal(await isPlayable(videoId), false)
    await addSegments(videoId, 'sound', 0, [100])
    await addSegments(videoId, '240p', 1, [100])
    assert.equal(await isPlayable(videoId), false, 'the first segment is missing')
    await addSegments(videoId, '360p', 0, [100])
    assert.equal(await isPlayable(videoId), true, 'any quality is enough')
    await addSegments(videoId, '240p', 0, [100])
    assert.equal(await isPlayable(videoId), true)
    await change(videoId, 'renditions', `state = 'failed'`, `quality = '240p'`)
    assert.equal(await isPlayable(videoId), true, 'the other quality is playable')
    await change(videoId, 'renditions', `state = 'failed'`)
    assert.equal(await isPlayable(videoId), false)
    await change(videoId, 'encodings', `state = 'failed'`)
    assert.equal(await isPlayable(videoId), false)
  })

  const remove = (videoId: string, rendition: string) =>
    query(service.database, 'delete from segments where video_id = $1 and rendition = $2', [
      videoId,
      rendition,
    ])

  test('a complete quality stays playable while the lowest quality is retried', async () => {
    const videoId = await completeVideo()
    await remove(videoId, '240p')
    await change(videoId, 'renditions', `state = 'failed'`, `quality = '240p'`)
    assert.equal(await isPlayable(videoId), true)
    await change(videoId, 'renditions', `state = 'waiting'`, `quality = '240p'`)
    await change(videoId, 'encodings', `state = 'encoding', finished_at = null`)
    assert.equal(await isPlayable(videoId), true)
    const retried = await master(videoId)
    assert.deepEqual(findViolations(retried.text, 'master'), [])
    assert.doesNotMatch(retried.text, /240p/)
    assert.match(retried.text, /\n360p\/manifest.m3u8\n/)
    await addSegments(videoId, '240p', 0, [100])
    assert.match((await master(videoId)).text, /\n240p\/manifest.m3u8\n/)
    assert.equal(await isPlayable(videoId), true)
  })

  test('a complete quality stays playable without audio while the audio is retried', async () => {
    const videoId = await completeVideo()
    await remove(videoId, 'sound')
    await change(videoId, 'encodings', `sound_failure = 'no decoder'`)
    assert.equal(await isPlayable(videoId), true)
    await change(videoId, 'encodings', `sound_failure = null, state = 'encoding', finished_at = null`)
    for (const sizes of [[], [100], [100, 100]]) {
      if (sizes.length > 0) await addSegments(videoId, 'sound', sizes.length === 1 ? 0 : 1, sizes)
      assert.equal(await isPlayable(videoId), true)
      const { text } = await master(videoId)
      assert.deepEqual(findViolations(text, 'master'), [])
      assert.doesNotMatch(text, /AUDIO/)
    }
    await addSegments(videoId, 'sound', 3, [100])
    assert.equal(await isPlayable(videoId), true)
    assert.match((await master(videoId)).text, /AUDIO="sound"/)
  })
})

describe('media playlists', () => {
  test('grow at their end without gaps and finish with EXT-X-ENDLIST', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    const read = async (rendition: string) => {
      const response = await get(hls(videoId, `${rendition}/manifest.m3u8`))
      assert.deepEqual(findViolations(response.text, 'media'), [])
      return response
    }
    for (const [rendition, prefix] of [
      ['240p', 'video'],
      ['sound', 'sound'],
    ] as const) {
      assert.equal((await get(hls(videoId, `${rendition}/manifest.m3u8`))).status, 404)
      await addSegments(videoId, rendition, 0, [1000])
      const first = await read(rendition)
      assert.match(first.text, /PLAYLIST-TYPE:EVENT\n#EXT-X-START:TIME-OFFSET=0\n/)
      assert.equal(first.headers.get('cache-control'), 'public, max-age=0, s-maxage=1')
      assert.equal(first.headers.get('content-type'), 'application/vnd.apple.mpegurl')
      await addSegments(videoId, rendition, 3, [1000])
      assert.equal((await read(rendition)).text, first.text)
      await addSegments(videoId, rendition, 1, [1000, 1000])
      const last = await read(rendition)
      assert.deepEqual(findGrowthViolations(first.text, last.text), [])
      assert.match(last.text, /PLAYLIST-TYPE:VOD\n.*#EXT-X-ENDLIST\n$/s)
      assert.equal(last.headers.get('cache-control'), 'public, max-age=60')
      const uris = last.text.split('\n').filter((line) => line && !line.startsWith('#'))
      assert.deepEqual(
        uris,
        [0, 1, 2, 3].map((n) => `${prefix}-${n}.m4s`),
      )
      for (const uri of uris) assert.equal((await get(hls(videoId, `${rendition}/${uri}`))).status, 200)
    }
    const video = (await read('240p')).text
    assert.match(
      video,
      /INF:2\.000000,\n.*\n#EXTINF:4\.000000,\n.*\n#EXTINF:4\.000000,\n.*\n#EXTINF:2\.000000,/,
    )
  })

  test('every URI in the playlists returns a file', async () => {
    const videoId = await completeVideo()
    const { text } = await master(videoId)
    const lists = [...text.matchAll(/^(?!#)(.+)$|URI="(.+?)"/gm)].map(([, line, uri]) => line ?? uri!)
    assert.equal(lists.length, 3)
    for (const list of lists) {
      const url = new URL(list, hls(videoId, 'manifest.m3u8'))
      const media = await get(url.href)
      const files = [...media.text.matchAll(/^(?!#)(.+)$|URI="(.+?)"/gm)].map(([, line, uri]) => line ?? uri!)
      assert.equal(files.length, 5)
      for (const file of files) assert.equal((await get(new URL(file, url).href)).status, 200, file)
    }
  })
})

describe('segments', () => {
  test('each segment has its own bytes, regardless of its chunk, and is immutable', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    const segments = [
      ...(await addSegments(videoId, '240p', 0, [3000])),
      ...(await addSegments(videoId, '240p', 1, [5000, 1, 300_000])),
    ]
    for (const [n, expected] of segments.entries()) {
      const { status, bytes, headers } = await getBytes(hls(videoId, `240p/video-${n}.m4s`))
      assert.equal(status, 200)
      assert.ok(bytes.equals(expected))
      assert.equal(headers.get('content-length'), String(expected.length))
      assert.equal(headers.get('content-type'), 'video/mp4')
      assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    }
    const init = await get(hls(videoId, '240p/init.mp4'))
    assert.deepEqual([init.text, init.headers.get('content-type')], ['init of 240p', 'video/mp4'])
    await addSegments(videoId, 'sound', 0, [10])
    for (const file of ['init.mp4', 'sound-0.m4s'])
      assert.equal((await get(hls(videoId, `sound/${file}`))).headers.get('content-type'), 'audio/mp4')
    assertProblem(await get(hls(videoId, '240p/video-4.m4s')), 404, 'resource-not-found', 'file')
    assertProblem(await get(hls(videoId, '360p/init.mp4')), 404, 'resource-not-found', 'rendition')
  })

  test('a range request returns bytes of that segment', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    const [, segment] = await addSegments(videoId, '240p', 0, [1000, 1000, 1000])
    const url = hls(videoId, '240p/video-1.m4s')
    for (const [range, from, to] of [
      ['bytes=0-', 0, 999],
      ['bytes=10-2000', 10, 999],
      ['bytes=-100', 900, 999],
      ['bytes=5-5', 5, 5],
    ] as const) {
      const { status, bytes, headers } = await getBytes(url, { range })
      assert.equal(status, 206)
      assert.equal(headers.get('content-range'), `bytes ${from}-${to}/1000`)
      assert.ok(bytes.equals(segment!.subarray(from, to + 1)))
    }
    const outside = await get(url, { range: 'bytes=1000-' })
    assertProblem(outside, 416, 'range-not-satisfiable')
    assert.equal(outside.headers.get('content-range'), 'bytes */1000')
    assert.equal(outside.headers.get('cache-control'), 'no-store')
  })

  test('any other path returns 404', async () => {
    const videoId = await completeVideo()
    for (const path of [
      '240p/video-01.m4s',
      '240p/video--1.m4s',
      '240p/video-1e0.m4s',
      '240p/video-99999999.m4s',
      '240p/video-0.m4s%00',
      '240p/sound-0.m4s',
      'sound/video-0.m4s',
      '240p/0',
      '240p/..%2f..%2fmp4',
      '..%2f240p/init.mp4',
      '240p%2f..%2f360p/init.mp4',
      '%2e%2e/init.mp4',
      '../hls/240p/../../../../etc/passwd',
      '240P/init.mp4',
      '240p/INIT.mp4',
      "240p'/init.mp4",
      `${'9'.repeat(5000)}p/init.mp4`,
    ]) {
      const response = await callRaw(service.url, `/vod/${videoId}/hls/${path}`)
      assertProblem(response, 404, 'unrecognized-request-url')
    }
    assertProblem(await callRaw(service.url, `/vod/${videoId}/hls/240p/%zz`), 400, 'invalid-url')
    const post = await get(hls(videoId, '240p/init.mp4'), {}, 'POST')
    assertProblem(post, 405, 'method-not-allowed')
  })

  test('pipelined requests are answered in order', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    const segments = await addSegments(videoId, '240p', 0, [2_000_000, 700_000, 1])
    const head = (n: number, end = 'keep-alive') =>
      `GET /vod/${videoId}/hls/240p/video-${n}.m4s HTTP/1.1\r\nhost: x\r\nconnection: ${end}\r\n\r\n`
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write(head(0) + head(1) + head(2, 'close'))
    const all = await buffer(socket)
    let at = 0
    for (const segment of segments) {
      at = all.indexOf('\r\n\r\n', at) + 4
      assert.ok(all.subarray(at, at + segment.length).equals(segment))
      at += segment.length
    }
    assert.equal(at, all.length)
  })

  test('a video that was encoded again returns its new files, not cached ones', async () => {
    const videoId = await completeVideo()
    const [list, segment] = [hls(videoId, '240p/manifest.m3u8'), hls(videoId, '240p/video-0.m4s')]
    const first = [await get(list), await getBytes(segment)] as const
    const again = [await get(list), await getBytes(segment)] as const
    assert.equal(again[0].text, first[0].text)
    assert.ok(again[1].bytes.equals(first[1].bytes))
    const { database } = service
    await query(database, 'delete from segments where video_id = $1', [videoId])
    const [other] = await addSegments(videoId, '240p', 0, [777], 'again')
    await query(database, `update encodings set finished_at = now() where video_id = $1`, [videoId])
    // Until the process is notified, it repeats what it has sent.
    await waitFor(async () => (await getBytes(segment)).bytes.equals(other!))
    assert.notEqual((await get(list)).text, first[0].text)
    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    for (const url of [list, segment]) assertProblem(await get(url), 404, 'resource-not-found', 'videoId')
  })

  test('a missing file returns 404, and a file that is too short ends the connection', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId)
    await addSegments(videoId, '240p', 0, [200_000])
    await truncate(join(service.data, 'files/videos', videoId, '240p/0/0.m4s'), 150_000)
    await assert.rejects(getBytes(hls(videoId, '240p/video-0.m4s')))
    await query(service.database, `update segments set key = 'videos/none' where video_id = $1`, [videoId])
    assertProblem(await get(hls(videoId, '240p/video-0.m4s')), 404, 'resource-not-found', 'videoId')
  })
})

describe('the MP4', () => {
  const content = randomBytes(100_000)
  const mp4 = (videoId: string, query = '') => `${service.url}/vod/${videoId}/mp4/source.mp4${query}`

  test('is served completely, in ranges, and as a download', async () => {
    const videoId = await createVideo(service, { title: 'Ein "schöner" Film/1' })
    assertProblem(await get(mp4(videoId)), 404, 'resource-not-found', 'videoId')
    await insertEncoding(videoId, 'encoded')
    await addMp4(videoId, content)
    const complete = await getBytes(mp4(videoId))
    assert.ok(complete.bytes.equals(content))
    assert.equal(complete.headers.get('content-type'), 'video/mp4')
    assert.equal(complete.headers.get('accept-ranges'), 'bytes')
    assert.equal(complete.headers.get('content-disposition'), null)
    const part = await getBytes(mp4(videoId), { range: 'bytes=50000-50099' })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 50000-50099/100000'])
    assert.ok(part.bytes.equals(content.subarray(50_000, 50_100)))
    const several = await getBytes(mp4(videoId), { range: 'bytes=0-1,5-6' })
    assert.deepEqual([several.status, several.bytes.length], [200, content.length])
    assert.equal((await get(mp4(videoId), { range: 'bytes=100000-' })).status, 416)
    const download = await getBytes(mp4(videoId, '?dl=1'))
    assert.equal(
      download.headers.get('content-disposition'),
      `attachment; filename="Ein -sch_ner- Film-1.mp4"; filename*=UTF-8''Ein%20-sch%C3%B6ner-%20Film-1.mp4`,
    )
    assert.ok(download.bytes.equals(content))
    assert.equal((await getBytes(mp4(videoId, '?dl=0'))).headers.get('content-disposition'), null)
  })

  test('a range request for another version returns the entire file', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId, 'encoded')
    await addMp4(videoId, content)
    const range = 'bytes=0-9'
    const etag = (await get(mp4(videoId), {}, 'HEAD')).headers.get('etag') ?? ''
    assert.match(etag, /^"[\w-]+"$/)
    for (const [ifRange, status] of [
      [etag, 206],
      ['"other"', 200],
      [`W/${etag}`, 200],
      [new Date().toUTCString(), 200],
    ] as const) {
      assert.equal((await getBytes(mp4(videoId), { range, 'if-range': ifRange })).status, status, ifRange)
    }
  })

  test('returns 404 without MP4 support', async () => {
    const videoId = await createVideo(service, { mp4Support: false })
    await insertEncoding(videoId, 'encoded')
    await addMp4(videoId, content)
    assert.equal((await get(mp4(videoId))).status, 404)
  })

  test('files are closed when their viewers disconnect', async () => {
    const videoId = await createVideo(service)
    await insertEncoding(videoId, 'encoded')
    await addMp4(videoId, Buffer.alloc(32 * MiB))
    const folder = `/proc/${service.process.pid}/fd`
    const openFiles = async () => {
      const targets = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => ''))
      return (await Promise.all(targets)).filter((target) => target.includes(videoId)).length
    }
    const viewers = Array.from({ length: 20 }, () => request(mp4(videoId), { agent: false }))
    for (const viewer of viewers) viewer.on('error', () => {}).end()
    await Promise.all(viewers.map((viewer) => once(viewer, 'response')))
    assert.equal(await openFiles(), 20, 'each viewer has an open file')
    for (const viewer of viewers) viewer.destroy()
    await waitFor(async () => (await openFiles()) === 0)
    assert.equal((await getBytes(mp4(videoId), { range: 'bytes=-1' })).status, 206)
  })
})

describe('every media route', () => {
  async function mediaUrls(videoId: string) {
    const paths = [
      'manifest.m3u8',
      '240p/manifest.m3u8',
      'sound/manifest.m3u8',
      '240p/init.mp4',
      '240p/video-1.m4s',
    ]
    return [...paths.map((path) => hls(videoId, path)), `${service.url}/vod/${videoId}/mp4/source.mp4`]
  }

  test('HEAD returns the headers of GET without the body', async () => {
    const videoId = await completeVideo()
    await addMp4(videoId, Buffer.from('film'))
    for (const url of await mediaUrls(videoId)) {
      const [full, head] = [await getBytes(url), await get(url, { range: 'bytes=0-0' }, 'HEAD')]
      assert.deepEqual([head.status, head.text], [200, ''], url)
      for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'accept-ranges'])
        assert.equal(head.headers.get(name), full.headers.get(name), `${url} ${name}`)
      assert.equal(Number(head.headers.get('content-length')), full.bytes.length)
    }
  })

  test('a conditional request with a current ETag returns 304', async () => {
    const videoId = await completeVideo()
    await addMp4(videoId, Buffer.from('film'))
    const tags = new Set<string>()
    for (const url of await mediaUrls(videoId)) {
      const etag = (await get(url)).headers.get('etag') ?? ''
      tags.add(etag)
      for (const known of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
        const again = await get(url, { 'if-none-match': known })
        assert.deepEqual([again.status, again.text], [304, ''], url)
        assert.equal(again.headers.get('etag'), etag)
        assert.match(again.headers.get('cache-control') ?? '', /max-age/)
      }
      assert.equal((await get(url, { 'if-none-match': '"other"' })).status, 200)
    }
    assert.equal(tags.size, 6)
  })

  test('pages of any origin may load media', async () => {
    const videoId = await completeVideo()
    await addMp4(videoId, Buffer.from('film'))
    for (const url of [...(await mediaUrls(videoId)), hls('vi0000000000000000000000', 'manifest.m3u8')]) {
      const { headers } = await get(url, { origin: 'https://page.example' })
      assert.equal(headers.get('access-control-allow-origin'), '*')
      assert.match(headers.get('access-control-expose-headers') ?? '', /content-length, content-range.*etag/)
      assert.equal(headers.get('timing-allow-origin'), '*')
      const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'range' }
      const preflight = await get(url, { origin: 'https://page.example', ...asked }, 'OPTIONS')
      assert.equal(preflight.status, 204)
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
      assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /GET, HEAD/)
      assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /range, if-range/)
    }
  })

  test('a private video returns 403, with or without media', async () => {
    const [complete, empty] = [await completeVideo(), await createVideo(service, { public: false })]
    await addMp4(complete, Buffer.from('film'))
    await call(`${service.url}/videos/${complete}`, { method: 'PATCH', json: { public: false } })
    for (const videoId of [complete, empty]) {
      for (const url of [...(await mediaUrls(videoId)), hls(videoId, '360p/video-7.m4s')]) {
        const response = await get(url)
        assertProblem(response, 403, 'private-video')
        assert.equal(response.headers.get('cache-control'), 'no-store')
        assert.equal((await get(url, { 'if-none-match': '*' })).status, 403)
      }
    }
  })

  test('a deleted video returns 404', async () => {
    const videoId = await completeVideo()
    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    for (const url of await mediaUrls(videoId))
      assertProblem(await get(url), 404, 'resource-not-found', 'videoId')
  })
})
