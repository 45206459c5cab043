import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  assertNothingLeft,
  earlyClip,
  heavyH264,
  keepAlive,
  pauseUpload,
  rowsOf,
  segmentKeys,
  uploadBeginning,
  waitForBeginning,
} from '../support/early-uploads.ts'
import {
  call,
  kinora,
  listFiles,
  openUpload,
  productionKey,
  query,
  sendFile,
  settingsOf,
  sharedKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { download, ffmpeg } from '../support/media/media.ts'
import { frames, readFrameNumbers, splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import {
  createVideo,
  encodingOf,
  media,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../support/videos.ts'

// What happens to the beginning of a source that is encoded while the rest arrives.

const settings = { ...withoutThumbnails(), KINORA_ENCODE_DURING_UPLOAD: 'on', KINORA_RESTORE_DAYS: '0' }
const service = sharedKinora(settings)
let content: Buffer
let other: Buffer

before(async () => {
  const folder = await temporaryFolder({ after() {} })
  const make = async (name: string, filter: string) => {
    const path = join(folder, name)
    const args = splitArgs('-c:a aac -movflags +faststart')
    await ffmpeg(...earlyClip(14, { filter }), ...heavyH264(), ...args, path)
    return readFile(path)
  }
  ;[content, other] = await Promise.all([make('film.mp4', ''), make('other.mp4', 'vflip')])
})

async function framesOf(videoId: string): Promise<number[]> {
  await waitForEncoding(service, videoId)
  const folder = await temporaryFolder({ after() {} })
  const { joined } = await download(service.url, videoId, '240p', folder)
  return (await readFrameNumbers(joined)).numbers
}

test('an upload whose client leaves leaves nothing behind, and the file can be sent again', async () => {
  const { videoId, upload } = await uploadBeginning(service, content)
  await upload.abort()
  await assertNothingLeft(service, videoId)
  assert.equal((await encodingOf(service, videoId)).playable, false)
  const sent = await sendFile(sourceUrl(service, videoId), content)
  assert.equal(sent.status, 201, sent.text)
  assert.deepEqual(await framesOf(videoId), frames(350))
})

test('a video that is deleted during its upload leaves nothing behind', async () => {
  const { videoId, upload } = await uploadBeginning(service, content)
  const url = `${service.url}/videos/${videoId}`
  assert.equal((await call(url, { method: 'DELETE', key: productionKey })).status, 204)
  await upload.end().catch(() => {})
  await assertNothingLeft(service, videoId)
})

test('a file that is sent again with other content replaces what was encoded', async () => {
  const { videoId, upload } = await uploadBeginning(service, content)
  const keys = await segmentKeys(service.database, videoId)
  await upload.abort()
  const again = await pauseUpload(service, videoId, other)
  await waitFor(async () => {
    const replaced = await segmentKeys(service.database, videoId)
    return replaced.length > 0 && replaced.every((key) => !keys.includes(key))
  })
  assert.equal((await again.end()).status, 201)
  await waitForEncoding(service, videoId)
  assert.ok((await listFiles(service)).every((path) => keys.every((key) => !path.includes(key))))
})

test('a file whose rest cannot be read is encoded as far as it can be, as it would have been without', async () => {
  const damaged = Buffer.concat([content.subarray(0, Math.floor(0.8 * content.length)), randomBytes(400_000)])
  const { videoId, upload } = await uploadBeginning(service, damaged)
  assert.equal((await upload.end()).status, 201)
  const { qualities } = await waitForEncoding(service, videoId)
  const expected = await waitForEncoding(service, await uploadVideo(service, damaged))
  assert.deepEqual(
    qualities.map(({ quality, status }) => [quality, status]),
    expected.qualities.map(({ quality, status }) => [quality, status]),
  )
})

test('a sender who stalls holds no lease, and complete uploads come first', async () => {
  const { videoId, upload } = await uploadBeginning(service, content)
  assert.equal(await rowsOf(service, 'chunks', videoId), 0)
  const finished = await uploadVideo(service, other)
  await waitForEncoding(service, finished)
  assert.equal((await videoStatus(service, videoId)).ingest.status, 'uploading')
  await upload.end()
  await waitForEncoding(service, videoId)
})

test('an upload with a token is not playable before it is complete, unless its owner wants it', async () => {
  const json = {}
  const { body } = await call(`${service.url}/upload-tokens`, { method: 'POST', json, key: productionKey })
  const videoId = await createVideo(service)
  const url = `${service.url}/upload?token=${body.token}`
  const opened = openUpload(url, content, { before: { videoId }, key: '' })
  await opened.write(Math.ceil(0.7 * content.length))
  const upload = keepAlive(opened)
  await waitForBeginning(service, videoId)
  const isPlayable = async () => (await encodingOf(service, videoId)).playable
  assert.equal(await isPlayable(), false)
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 202)
  for (const file of ['240p/manifest.m3u8', '240p/init.mp4', '240p/video-0.m4s', 'sound/sound-0.m4s'])
    assert.equal((await media(service.url, videoId, `hls/${file}`)).status, 404, file)
  const thumbnailOf = (id: string) => media(service.url, id, 'thumbnail.jpg')
  const empty = await createVideo(service)
  assert.equal((await thumbnailOf(videoId)).text, (await thumbnailOf(empty)).text)
  for (const file of ['mp4/source.mp4', 'sprites.vtt'])
    assert.equal((await media(service.url, videoId, file)).status, 404, file)
  const config = (await media(service.url, videoId, 'config.json')).body
  assert.deepEqual(
    [config.state, config.durationSeconds, config.isUploading, config.encodedSeconds],
    ['processing', null, false, null],
  )
  for (const path of ['', '/status', '/source'])
    assert.equal(
      (await call(`${service.url}/videos/${videoId}${path}`, { key: body.token })).status,
      401,
      path,
    )
  const change = async (playableDuringUpload: boolean | null) => {
    const path = `${service.url}/videos/${videoId}`
    const changed = await call(path, { method: 'PATCH', key: productionKey, json: { playableDuringUpload } })
    assert.equal(changed.body.playableDuringUpload, playableDuringUpload)
  }
  await change(true)
  assert.equal(await isPlayable(), true)
  assert.equal((await media(service.url, videoId, 'hls/240p/video-0.m4s')).status, 200)
  await change(null)
  assert.equal(await isPlayable(), false)
  assert.equal((await upload.end()).status, 201)
  await waitForEncoding(service, videoId)
  assert.equal(await isPlayable(), true)
})

test('an upload with an API key is not playable before it is complete if its owner does not want it', async () => {
  const { videoId, upload } = await uploadBeginning(service, content, { playableDuringUpload: false })
  assert.equal((await encodingOf(service, videoId)).playable, false)
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 202)
  await upload.end()
  await waitForEncoding(service, videoId)
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 200)
})

test('the beginning of a private video is private', async () => {
  const { videoId, upload } = await uploadBeginning(service, content, { public: false })
  assert.equal((await encodingOf(service, videoId)).playable, true)
  for (const file of ['manifest.m3u8', '240p/manifest.m3u8', '240p/video-0.m4s'])
    assert.equal((await media(service.url, videoId, `hls/${file}`)).status, 403, file)
  await upload.end()
})

test('after a process is killed, the upload goes on, and the result is that of its file', async (t) => {
  const first = await kinora(t, settings)
  const { videoId } = await uploadBeginning(first, content)
  first.process.kill('SIGKILL')
  await new Promise((done) => first.process.once('exit', done))
  const second = await startKinora({ ...settings, ...settingsOf(first) })
  t.after(() => second.stop())
  const sent = await sendFile(sourceUrl(second, videoId), other)
  assert.equal(sent.status, 201, sent.text)
  await waitForEncoding(second, videoId)
  const [{ plan }] = await query(first.database, 'select plan from encodings where video_id = $1', [videoId])
  assert.equal(plan.partial, undefined)
})
