import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, describe, suite, type TestContext, test } from 'node:test'
import { updateMp4 } from '../../server/encoding/finish/mp4.ts'
import { encodingFailures } from '../../server/encoding/metrics.ts'
import { retryEncoding } from '../../server/encoding/retry.ts'
import { FileNotFoundError, type Files } from '../../server/lib/files/files.ts'
import { createMetrics } from '../../server/lib/metrics.ts'
import { uploadsQueues } from '../../server/uploads/queues.ts'
import { storeSource } from '../../server/uploads/source/store-source.ts'
import {
  assertProblem,
  assertSource,
  call,
  deleteAllVideos,
  identifyStore,
  kinora,
  query,
  type Service,
  sendFile,
  sharedKinora,
  sourcePath,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { createDeployment } from '../support/recovery.ts'
import { patch, tokenUploads } from '../support/token-uploads.ts'
import {
  assertEncoded,
  createVideo,
  encodingOf,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../support/videos.ts'

// The file store has lost files, for example because it was restored from a backup of a running service. Nothing is
// retried forever.

const expected = ['hls 240p', 'mp4 240p']
const missing = 'The source file is missing.'
let folder: string
let clip: string
let film: Buffer
let program: GatedFfmpeg

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '426x240', rate: '6', seconds: 3, audioCodec: 'aac' })
  film = await readFile(clip)
  program = await gatedFfmpeg(folder)
})

const removeSource = ({ data }: Pick<Service, 'data'>, videoId: string) => rm(sourcePath(data, videoId))

const post = (url: string, path: string) => call(url + path, { method: 'POST' })

const failuresOf = async (service: Parameters<typeof waitForEncoding>[0], videoId: string) => {
  const { qualities } = await waitForEncoding(service, videoId)
  return qualities.map(({ type, quality, status, failure }) => [`${type} ${quality} ${status}`, failure])
}

test('a video that is deleted while its MP4 is made does not count as a failure', async (t) => {
  const service = await kinora(t)
  const deps = await openJobContext(t, service)
  const videoId = await uploadVideo(service, clip, { mp4Support: false })
  await waitForEncoding(service, videoId)
  const count = async (beforeRead: () => Promise<void>) => {
    const metrics = createMetrics([encodingFailures])
    const read: Files['read'] = async (key, range) => {
      if (!key.startsWith('videos/')) return deps.files.read(key, range)
      await beforeRead()
      throw new FileNotFoundError(key)
    }
    await query(service.database, 'update all_videos set mp4_support = true')
    await updateMp4({ ...deps, metrics, files: { ...deps.files, read } }, videoId, 0)
    return /\{step="mp4",cause="missing"\} (\d)/.exec(await metrics.text())![1]
  }
  assert.equal(await count(async () => {}), '1')
  assert.equal(await count(async () => void (await query(service.database, deleteAllVideos))), '0')
})

test('an encoding whose source is lost fails, and the file can be uploaded again', async (t) => {
  const deployment = await createDeployment(t, { KINORA_FFMPEG: program.path, KINORA_ENCODE_SLOTS: '1' })
  const { database, data } = deployment
  const stopped = await deployment.start()
  await program.encodeUntil(0)
  const videoId = await uploadVideo(stopped, clip)
  await waitFor(
    async () => (await query(database, 'select from chunks where lease_owner is not null')).length > 0,
  )
  await stopped.stop()
  await removeSource({ data }, videoId)
  await program.encodeAll()
  const service = await deployment.start()

  assert.deepEqual(await failuresOf(service, videoId), [
    ['hls 240p failed', missing],
    ['mp4 240p failed', missing],
  ])
  assert.deepEqual(await query(database, 'select from chunks'), [])
  const listed = await call(`${service.url}/videos?status=failed&include[]=status`)
  assert.deepEqual(
    listed.body.data
      .map(({ status }: { status: object }) => status)
      .map(({ failure }: { failure: string }) => failure),
    [missing],
  )
  assertProblem(await post(service.url, `/videos/${videoId}/retry`), 409, 'source-missing')

  const sent = await sendFile(`${service.url}/videos/${videoId}/source`, film)
  assert.equal(sent.status, 201, sent.text)
  const { body } = await call(`${service.url}/videos/${videoId}/status`)
  assert.ok(
    body.encoding.qualities.every(({ status }: { status: string }) => status !== 'failed'),
    sent.text,
  )
  await assertEncoded(service, videoId, expected)
  await assertSource(data, videoId, film)
  // Caches may have segments of the lost file.
  const playlist = await call(`${service.url}/vod/${videoId}/hls/240p/manifest.m3u8`)
  assert.match(playlist.text, /^#EXT-X-MAP:URI="init\.mp4\?r=1"$/m)
  assert.match(playlist.text, /^video-0\.m4s\?r=1$/m)
  const segment = await fetch(`${service.url}/vod/${videoId}/hls/240p/video-0.m4s?r=1`)
  assert.equal(segment.status, 200)
  await segment.arrayBuffer()
})

suite('a service whose files are lost', { concurrency: false }, () => {
  let service: Service
  const ends: (() => unknown)[] = []

  before(async () => {
    const settings = { KINORA_FFMPEG: program.path, KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }
    service = await kinora({ after: (end) => ends.push(end) }, settings)
    await identifyStore(service)
  })
  beforeEach(() => query(service.database, deleteAllVideos))
  after(async () => {
    for (const end of ends) await end()
  })

  async function encode(json: object = {}): Promise<string> {
    const videoId = await uploadVideo(service, clip, json)
    await waitForEncoding(service, videoId)
    return videoId
  }

  /** Loses the source of an encoded video, as if its only quality had failed. */
  async function loseSource(videoId: string): Promise<void> {
    await removeSource(service, videoId)
    for (const statement of [
      `update renditions set state = 'failed', failure = 'x' where video_id = $1 and type = 'hls'`,
      `delete from segments where video_id = $1 and rendition = '240p'`,
    ])
      await query(service.database, statement, [videoId])
  }

  test('a source that is lost before it is examined makes the video fail', async (t) => {
    const videoId = await encode()
    await removeSource(service, videoId)
    await query(service.database, 'delete from encodings')
    const { queue, db } = await openJobContext(t, service)
    await queue.send(db, 'plan-encoding', { videoId })
    assert.deepEqual(await failuresOf(service, videoId), [['hls 240p failed', missing]])
    assertProblem(await post(service.url, `/videos/${videoId}/retry`), 409, 'source-missing')
  })

  test('a retry works again once the lost source is back', async () => {
    const videoId = await encode()
    await loseSource(videoId)
    assertProblem(await post(service.url, `/videos/${videoId}/retry`), 409, 'source-missing')
    await writeFile(sourcePath(service.data, videoId), film)
    assert.equal((await post(service.url, `/videos/${videoId}/retry`)).status, 202)
    await assertEncoded(service, videoId, expected)
  })

  test('a lost source can be uploaded again over tus, and only by its owner', async () => {
    const { newToken, createTus, send } = tokenUploads(service)
    const [token, other] = [await newToken(), await newToken()]
    const { videoId } = (await send(token, film)).body
    await waitForEncoding(service, videoId)
    await loseSource(videoId)
    assert.equal((await createTus(other, videoId)).status, 404)
    const created = await createTus(token, videoId, film.length)
    assert.equal(created.status, 201, created.text)
    assert.equal(await patch(created.headers.get('location'), film), 204)
    await assertEncoded(service, videoId, expected)
    await assertSource(service.data, videoId, film)
  })

  /** Creates a video from a URL, and a copy of it. The server answers 404 while `isGone`. */
  async function ingest(t: TestContext) {
    const state = { isGone: false }
    const server = createServer((_, response) => response.writeHead(state.isGone ? 404 : 200).end(film))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const encodeFrom = async (source: string): Promise<string> => {
      const videoId = await createVideo(service, { source })
      await waitForEncoding(service, videoId)
      return videoId
    }
    const original = await encodeFrom(`http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`)
    return { state, original, clone: await encodeFrom(original) }
  }

  async function assertEncodedAnew(videoId: string): Promise<void> {
    const revisions = 'select from encoding_revisions where video_id = $1'
    await waitFor(async () => (await query(service.database, revisions, [videoId])).length > 0)
    await assertEncoded(service, videoId, expected)
    await assertSource(service.data, videoId, film)
  }

  test('a retry fetches or copies a lost source again', async (t) => {
    const { original, clone } = await ingest(t)
    for (const videoId of [original, clone]) {
      await loseSource(videoId)
      const response = await post(service.url, `/videos/${videoId}/retry`)
      assert.equal(response.status, 202, response.text)
      await assertEncodedAnew(videoId)
    }
  })

  test('a retry that cannot fetch or copy the source keeps what is playable, and can be repeated', async (t) => {
    const { state, original, clone } = await ingest(t)
    state.isGone = true
    for (const videoId of [original, clone]) {
      await removeSource(service, videoId)
      await query(service.database, `update encodings set sound_failure = 'x' where video_id = $1`, [videoId])
    }
    for (const [videoId, reason] of [
      [original, /responded with status 404/],
      [clone, /was deleted, or its file is missing|has no content/],
    ] as const) {
      assert.equal((await post(service.url, `/videos/${videoId}/retry`)).status, 202)
      await waitFor(async () => (await videoStatus(service, videoId)).ingest.failure !== undefined)
      const { ingest, encoding } = await videoStatus(service, videoId)
      assert.match(ingest.failure, reason)
      assert.equal(encoding.playable, true)
      const playlist = await call(`${service.url}/vod/${videoId}/hls/manifest.m3u8`, { key: '' })
      assert.match(playlist.text, /240p/)
    }
    const listed = async (status: string) =>
      (await call(`${service.url}/videos?status=${status}`)).body.data.length
    assert.deepEqual([await listed('ready'), await listed('failed')], [2, 0])

    state.isGone = false
    for (const videoId of [original, clone]) {
      assert.equal((await post(service.url, `/videos/${videoId}/retry`)).status, 202)
      await assertEncodedAnew(videoId)
      assert.equal((await videoStatus(service, videoId)).ingest.failure, undefined)
    }
  })

  test('a retry that is late does not delete the encoding of another retry', async (t) => {
    const videoId = await encode()
    const statement = `update encodings set state = 'failed', failure = 'x', plan = null where video_id = $1`
    await query(service.database, statement, [videoId])
    await query(service.database, 'delete from renditions where video_id = $1', [videoId])
    const deps = await openJobContext(t, service)
    let other: Promise<unknown> | undefined
    const stat = async (key: string) => {
      other ??= post(service.url, `/videos/${videoId}/retry`).then(async ({ status }) => {
        assert.equal(status, 202)
        await assertEncoded(service, videoId, expected)
      })
      await other
      return deps.files.stat(key)
    }
    assert.equal(await retryEncoding({ ...deps, files: { ...deps.files, stat } }, videoId), false)
    assert.equal((await encodingOf(service, videoId)).playable, true)
  })

  test('a video that is encoded needs no source, and another upload does not replace it', async () => {
    const videoId = await encode()
    await removeSource(service, videoId)
    const sent = await sendFile(`${service.url}/videos/${videoId}/source`, film)
    assertProblem(sent, 400, 'video-source-already-uploaded')
    assertProblem(await post(service.url, `/videos/${videoId}/retry`), 409, 'nothing-to-retry')
    assert.equal((await encodingOf(service, videoId)).playable, true)
  })

  test('an MP4 whose segments are lost fails', async () => {
    const videoId = await encode({ mp4Support: false })
    await rm(join(service.data, 'files/videos', videoId, 'hls'), { recursive: true })
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { mp4Support: true } })
    const mp4 = async () => (await encodingOf(service, videoId)).qualities.find(({ type }) => type === 'mp4')
    await waitFor(async () => (await mp4())?.status === 'failed')
    assert.equal((await mp4())?.failure, 'Segments of the encoded video are missing.')
  })

  test('a video whose watermark is lost fails', async () => {
    const image = join(folder, 'red.png')
    await ffmpeg('-f', 'lavfi', '-i', 'color=red:s=20x10', '-frames:v', '1', image)
    const { watermarkId } = (await sendFile(`${service.url}/watermarks`, await readFile(image))).body
    const videoId = await createVideo(service, { watermark: { id: watermarkId, top: '0px', left: '0px' } })
    await rm(join(service.data, 'files/videos', videoId, 'watermark.png'))
    assert.equal((await sendFile(`${service.url}/videos/${videoId}/source`, film)).status, 201)
    const reason = 'The image of the watermark is missing.'
    assert.deepEqual(await failuresOf(service, videoId), [
      ['hls 240p failed', reason],
      ['mp4 240p failed', reason],
    ])
  })
})

describe('an upload whose chunks are lost', () => {
  const service = sharedKinora({ KINORA_ROLES: 'api' })

  test('fails, and the file can be uploaded again', async (t) => {
    const deps = await openJobContext(t, service)
    const videoId = await createVideo(service)
    const send = () => sendFile(`${service.url}/videos/${videoId}/source`, film)
    assert.equal((await send()).status, 201)
    await rm(join(service.data, 'files/.uploads'), { recursive: true })
    await assert.rejects(storeSource(deps, { videoId }))
    await storeSource(deps, { videoId }, 3)
    const { ingest } = (await call(`${service.url}/videos/${videoId}/status`)).body
    assert.equal(ingest.failure, 'Parts of the uploaded file are missing. Upload it again.')
    assert.equal((await send()).status, 201)
    await storeSource(deps, { videoId })
    await assertSource(service.data, videoId, film)
  })

  test('fails after the last attempt, whatever the reason is', async (t) => {
    const context = await openJobContext(t, service)
    const finishUpload = () => Promise.reject(new Error('a fault of the store'))
    const deps = { ...context, files: { ...context.files, finishUpload } }
    const videoId = await createVideo(service)
    assert.equal((await sendFile(`${service.url}/videos/${videoId}/source`, film)).status, 201)
    const { retryLimit } = uploadsQueues['store-source']
    await assert.rejects(storeSource(deps, { videoId }, retryLimit - 1))
    await storeSource(deps, { videoId }, retryLimit)
    const { ingest } = (await call(`${service.url}/videos/${videoId}/status`)).body
    assert.equal(ingest.failure, 'The uploaded file could not be stored. Upload it again.')
  })
})
