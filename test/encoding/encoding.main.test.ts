import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import {
  call,
  fileExists,
  productionKey,
  query,
  sandboxKey,
  sharedKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import {
  download,
  durationsIn,
  ffmpeg,
  ffprobe,
  makeClip,
  readStreams,
  type Stream,
  startsWithKeyFrame,
} from '../support/media/media.ts'
import { findViolations } from '../support/media/playlist-validator.ts'
import { withoutThumbnails } from '../support/programs.ts'
import {
  assertEncoded,
  createVideo,
  encodingOf,
  eventsOf,
  media,
  uploadVideo,
  waitForEncoding,
  waitForEnds,
} from '../support/videos.ts'

const service = sharedKinora({ KINORA_RESTORE_DAYS: '0', ...withoutThumbnails() })
let folder: string
let clip: string
/** 7 s at 12000/1001. */
const clipFrames = 84
const clipSeconds = (clipFrames * 1001) / 12_000
/** The same duration in two qualities. */
let small: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  small = join(folder, 'small.mp4')
  await makeClip(clip, { rate: '12000/1001', audioCodec: 'aac' })
  await makeClip(small, { size: '640x360', rate: '8' })
})

const all = ['hls 240p', 'hls 360p', 'hls 480p', 'hls 720p', 'mp4 720p']
const ofSmall = ['hls 240p', 'hls 360p', 'mp4 360p']

test('a 720p source emits four HLS events, the lowest quality first, and one MP4 event', async () => {
  const videoId = await uploadVideo(service, clip, { mp4Support: true })
  const { playable, metadata } = await assertEncoded(service, videoId, all)
  assert.equal(playable, true)
  assert.deepEqual(metadata, {
    width: 1280,
    height: 720,
    duration: 7,
    framerate: 12,
    aspectRatio: '16/9',
    samplerate: 48000,
    videoCodec: 'h264',
    audioCodec: 'aac',
    bitrate: metadata.bitrate,
  })
  assert.ok(Number(metadata.bitrate) > 0)
  assert.deepEqual(await eventsOf(service.database, videoId), all)

  const master = await media(service.url, videoId, 'hls/manifest.m3u8')
  assert.equal(master.status, 200)
  assert.deepEqual(findViolations(master.text, 'master'), [])
  assert.match(master.text, /RESOLUTION=1280x720/)
  const heights = { '240p': 240, '360p': 360, '480p': 480, '720p': 720 }
  const qualities = await Promise.all(
    Object.keys(heights).map((quality) => download(service.url, videoId, quality, folder)),
  )
  const sound = await download(service.url, videoId, 'sound', folder)
  const mp4 = await storedMp4(videoId)
  const { streams, warnings } = await readStreams([...[...qualities, sound].map(({ joined }) => joined), mp4])
  assert.equal(warnings, '', 'ffmpeg warns')
  for (const [i, [quality, height]] of Object.entries(heights).entries()) {
    const { playlist, joined } = qualities[i]!
    assert.deepEqual(findViolations(playlist, 'media'), [], quality)
    assert.match(playlist, /#EXT-X-PLAYLIST-TYPE:VOD[\s\S]*#EXT-X-ENDLIST/)
    const sum = durationsIn(playlist).reduce((a, b) => a + b, 0)
    assert.ok(Math.abs(sum - clipSeconds) < 1e-4, `${quality} lasts ${sum} s`)
    const { packets } = streams[i]!
    assert.equal(packets.length, clipFrames, quality)
    for (const time of ['pts', 'dts'] as const) assertSteps(packets, time, 1001, quality)
    const entries = ['-select_streams', 'v', '-show_entries', 'stream=height,pix_fmt,profile']
    const [format] = await ffprobe(joined, ...entries)
    assert.deepEqual(format?.split(',').sort(), ['High', String(height), 'yuv420p'].sort())
  }
  const segments = qualities.flatMap((quality) => quality.segments)
  const isKeyFrame = await startsWithKeyFrame(segments)
  assert.ok(
    isKeyFrame.every((is) => is),
    `a segment does not begin with a key frame: ${isKeyFrame}`,
  )

  assert.deepEqual(findViolations(sound.playlist, 'media'), [])
  const { packets } = streams[qualities.length]!
  assertSteps(packets, 'pts', 1024, 'sound')
  assert.ok(Math.abs((packets.length * 1024) / 48_000 - clipSeconds) < 1024 / 48_000)

  assert.deepEqual(streams.at(-2)!.hashes, streams[qualities.length - 1]!.hashes)
  await assertMp4(videoId, mp4)
})

function assertSteps(packets: Stream['packets'], time: 'pts' | 'dts', step: number, name: string): void {
  const times = packets.map((packet) => packet[time]).sort((a, b) => a - b)
  const steps = times.slice(1).map((time, i) => time - times[i]!)
  assert.ok(
    steps.every((each) => each === step),
    `${name}: a gap or an overlap`,
  )
}

async function storedMp4(videoId: string): Promise<string> {
  const [name] = await readdir(join(service.data, 'files/videos', videoId, 'mp4'))
  return join(service.data, 'files/videos', videoId, 'mp4', name!)
}

async function assertMp4(videoId: string, path: string): Promise<void> {
  const response = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
  assert.equal(response.status, 200)
  await response.body?.cancel()
  const { size } = await stat(path)
  assert.equal(size, Number(response.headers.get('content-length')))
  const stored = `select bytes from renditions where video_id = $1 and type = 'mp4'`
  assert.deepEqual(await query(service.database, stored, [videoId]), [{ bytes: String(size) }])
  const bytes = await readFile(path)
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'), 'the index is at the end')
  const starts = await ffprobe(path, '-show_entries', 'stream=start_time')
  assert.deepEqual(starts, ['0.000000', '0.000000'])
}

test('without mp4Support no MP4 is made, and enabling it later makes the MP4 without encoding again', async () => {
  const videoId = await uploadVideo(service, small, { mp4Support: false })
  await assertEncoded(service, videoId, ofSmall.slice(0, 2))
  assert.deepEqual(await eventsOf(service.database, videoId), ofSmall.slice(0, 2))
  assert.deepEqual(await waitForEnds(service.database, videoId), ['completed'])
  assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 404)
  const segmentsBefore = await readdir(join(service.data, 'files/videos', videoId, 'hls/240p'))

  const video = `${service.url}/videos/${videoId}`
  await call(video, { method: 'PATCH', json: { mp4Support: true } })
  await waitFor(async () =>
    (await encodingOf(service, videoId)).qualities.some(
      ({ type, status }) => type === 'mp4' && status === 'encoded',
    ),
  )
  assert.deepEqual(await eventsOf(service.database, videoId), ofSmall)
  assert.deepEqual(await readdir(join(service.data, 'files/videos', videoId, 'hls/240p')), segmentsBefore)
  const mp4 = await storedMp4(videoId)
  await assertMp4(videoId, mp4)
  const { joined } = await download(service.url, videoId, '360p', folder)
  const { streams } = await readStreams([joined, mp4])
  assert.deepEqual(streams[1]!.hashes, streams[0]!.hashes)

  await call(video, { method: 'PATCH', json: { mp4Support: false } })
  const folderOfMp4 = join(service.data, 'files/videos', videoId, 'mp4')
  await waitFor(async () => (await readdir(folderOfMp4).catch(() => [])).length === 0)
  assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 404)
  assert.ok((await encodingOf(service, videoId)).qualities.every(({ type }) => type === 'hls'))
})

test('the last of many changes to mp4Support takes effect', async () => {
  const path = join(folder, 'short.mp4')
  await makeClip(path, { seconds: 3, size: '320x240', rate: '8' })
  const videoId = await uploadVideo(service, path)
  await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
  const change = (mp4Support: boolean) =>
    call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { mp4Support } })
  for (let round = 0; round < 3; round++) {
    for (const mp4Support of [false, true, false, true]) await change(mp4Support)
    await waitFor(async () => (await query(service.database, unfinished, ['finish-encoding'])).length === 0)
    await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
    assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 200)
    assert.equal((await readdir(join(service.data, 'files/videos', videoId, 'mp4'))).length, 1)
  }
})

const unfinished = "select 1 from pgboss.job where name = $1 and state in ('created', 'active', 'retry')"

test('of an empty video, the manifest returns 202 without a body and the MP4 returns 404', async () => {
  const videoId = await createVideo(service)
  const empty = await media(service.url, videoId, 'hls/manifest.m3u8')
  assert.deepEqual([empty.status, empty.text], [202, ''])
  // Programs that download files take a 202 for an empty file.
  assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 404)
  const { encoding } = (await call(`${service.url}/videos/${videoId}/status`)).body
  assert.deepEqual([encoding.playable, encoding.qualities], [false, []])
})

test('a source that cannot be read is reported as a failed quality', async () => {
  const image = join(folder, 'picture.png')
  await ffmpeg('-f', 'lavfi', '-i', 'color', '-frames:v', '1', '-f', 'image2', image)
  const text = join(folder, 'text.mp4')
  await writeFile(text, 'This is not a video.\n'.repeat(100))
  for (const source of [image, text]) {
    const videoId = await uploadVideo(service, source)
    const { playable, qualities } = await waitForEncoding(service, videoId)
    assert.equal(playable, false)
    assert.equal(qualities.length, 1)
    assert.equal(qualities[0]?.status, 'failed')
    assert.match(qualities[0]?.failure ?? '', /^[A-Z].*\.$/)
    assert.ok(!JSON.stringify(qualities).includes(service.data))
    assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 404)
    assert.deepEqual(await eventsOf(service.database, videoId), [])
    assert.deepEqual(await waitForEnds(service.database, videoId), [`failed: ${qualities[0]?.failure}`])
  }
})

test('a sandbox video is cut to 30 s and has a watermark', async () => {
  const path = join(folder, 'long.mp4')
  await ffmpeg('-f', 'lavfi', '-i', 'color=gray:s=320x240:r=4', '-t', '40', '-c:v', 'libx264', path)
  const where = { url: `${service.url}/sandbox`, key: sandboxKey }
  const videoId = await uploadVideo(where, path)
  await assertEncoded(where, videoId, ['hls 240p', 'mp4 240p'])
  const { playlist, joined } = await download(service.url, videoId, '240p', folder)
  assert.equal(
    durationsIn(playlist).reduce((a, b) => a + b, 0),
    30,
  )
  // The source is plain gray, so all other levels belong to the watermark.
  const { brightest, plain } = await levels(joined, 'sandbox.gray')
  assert.ok(brightest - plain > 40, `no watermark: ${brightest} against ${plain}`)
  const withoutWatermark = await uploadVideo({ url: service.url, key: productionKey }, path)
  await assertEncoded(service, withoutWatermark, ['hls 240p', 'mp4 240p'])
  const complete = await download(service.url, withoutWatermark, '240p', folder)
  assert.equal(
    durationsIn(complete.playlist).reduce((a, b) => a + b, 0),
    40,
  )
  const flat = await levels(complete.joined, 'production.gray')
  assert.ok(flat.brightest - flat.plain < 5)
})

async function levels(video: string, name: string) {
  const path = join(folder, name)
  await ffmpeg('-ss', '20', '-i', video, '-frames:v', '1', '-f', 'rawvideo', '-pix_fmt', 'gray', path)
  const pixels = await readFile(path)
  return { brightest: pixels.reduce((a, b) => Math.max(a, b), 0), plain: pixels.at(-1)! }
}

test('sandbox videos are deleted after 24 hours, and production videos are not', async () => {
  const sandbox = { url: `${service.url}/sandbox`, key: sandboxKey }
  const [old, young] = [await uploadVideo(sandbox, small), await createVideo(sandbox)]
  const kept = await createVideo(service)
  await query(
    service.database,
    `update videos set created_at = created_at - interval '24 hours' where id = any($1)`,
    [[old, kept]],
  )
  // Scheduled tasks also run at the start of a service.
  const other = await startKinora({ KINORA_DATABASE_URL: service.database, KINORA_DATA_DIR: service.data })
  try {
    const status = async ({ url, key = productionKey }: { url: string; key?: string }, videoId: string) =>
      (await call(`${url}/videos/${videoId}`, { key })).status
    await waitFor(async () => (await status(sandbox, old)) === 404)
    await waitFor(
      async () => (await readdir(join(service.data, 'files/videos', old)).catch(() => [])).length === 0,
    )
    assert.deepEqual([await status(sandbox, young), await status(service, kept)], [200, 200])
  } finally {
    await other.stop()
  }
})

test('a change of mp4Support before the encoding is planned keeps the copy of the source', async () => {
  const videoId = await createVideo(service)
  const copy = join(service.data, 'files/videos', videoId, 'copy/source.mkv')
  await mkdir(dirname(copy), { recursive: true })
  await writeFile(copy, 'a copy')
  const json = { mp4Support: false }
  assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })).status, 200)
  const finished = `select from pgboss.job where name = 'finish-encoding' and state = 'completed' and data->>'videoId' = $1`
  await waitFor(async () => (await query(service.database, finished, [videoId])).length > 0)
  assert.equal(await fileExists(copy), true)
})

test('deleting a video stops its encoding and leaves no files and rows behind', async () => {
  const path = join(folder, 'minute.mp4')
  await ffmpeg('-stream_loop', '8', '-i', small, '-c', 'copy', path)
  const videoId = await uploadVideo(service, path)
  await waitFor(async () => (await encodingOf(service, videoId)).playable)
  assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
  await waitFor(async () => {
    const work = await readdir(join(service.data, 'work')).catch(() => [])
    const files = await readdir(join(service.data, 'files/videos', videoId)).catch(() => [])
    return work.length === 0 && files.length === 0
  })
  for (const table of ['encodings', 'renditions', 'chunks', 'segments', 'initializations'])
    assert.deepEqual(
      await query(service.database, `select * from ${table} where video_id = $1`, [videoId]),
      [],
    )
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 404)
})

test('a video created from a clip contains only that part of the source', async () => {
  const original = await uploadVideo(service, small)
  await assertEncoded(service, original, ofSmall)
  const { body } = await call(`${service.url}/videos`, {
    method: 'POST',
    json: { title: 'clip', source: original, clip: { startTimecode: '00:00:02', endTimecode: '00:00:05' } },
  })
  const { qualities, metadata } = await waitForEncoding(service, body.videoId)
  assert.ok(
    qualities.every(({ status }) => status === 'encoded'),
    JSON.stringify(qualities),
  )
  assert.equal(metadata.duration, 3)
  const listed = await call(`${service.url}/videos?title=clip&include[]=status`)
  assert.equal(listed.body.data[0].status.duration, 3)
  const { playlist } = await download(service.url, body.videoId, '240p', folder)
  const sum = durationsIn(playlist).reduce((a, b) => a + b, 0)
  assert.ok(Math.abs(sum - 3) < 0.05, `${sum}`)
})
