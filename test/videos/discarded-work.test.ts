import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import {
  assertProblem,
  assertSource,
  call,
  fileExists,
  type Kinora,
  listFiles,
  MiB,
  openUpload,
  productionKey,
  query,
  runKinora,
  sendFile,
  sharedKinora,
  sourcePath,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutEncoding, withoutThumbnails } from '../support/programs.ts'
import { assertComplete, createDeployment, expireLeases, processesWith } from '../support/recovery.ts'
import { makeVideo, onDisk } from '../support/stored-video.ts'
import { assertEncoded, createVideo, encodingOf, uploadVideo, videoStatus } from '../support/videos.ts'
import { createViewableVideo, viewing } from '../support/viewings.ts'

// What happens to uploads, downloads, encodings and files of discarded videos.

const restoring = { KINORA_RESTORE_DAYS: '30' }

const service = sharedKinora({
  ...restoring,
  ...withoutEncoding(),
  KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
})

const discard = async ({ url }: Pick<Kinora, 'url'>, videoId: string) =>
  assert.equal((await call(`${url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)

async function restore({ url }: Pick<Kinora, 'url'>, videoId: string) {
  const json = { discarded: false }
  const { status, text } = await call(`${url}/discarded/videos/${videoId}`, { method: 'PATCH', json })
  assert.equal(status, 200, text)
}

const ingestOf = async (videoId: string) => (await videoStatus(service, videoId)).ingest

describe('uploads', () => {
  const film = randomBytes(6 * MiB)
  const first = film.subarray(0, 5 * MiB)
  const second = film.subarray(5 * MiB)
  const ranges = [`bytes 0-${5 * MiB - 1}/${6 * MiB}`, `bytes ${5 * MiB}-${6 * MiB - 1}/${6 * MiB}`]

  test('an interrupted upload accepts no chunk while its video is discarded, and continues once it is restored', async () => {
    const videoId = await createVideo(service)
    const send = (content: Buffer, range: string) =>
      sendFile(`${service.url}/videos/${videoId}/source`, content, { range })
    assert.equal((await send(first, ranges[0]!)).status, 201)
    await discard(service, videoId)
    assertProblem(await send(second, ranges[1]!), 404, 'resource-not-found', 'videoId')
    await restore(service, videoId)
    assert.equal((await ingestOf(videoId)).receivedBytes[0].to, 5 * MiB - 1)
    assert.equal((await send(second, ranges[1]!)).status, 201)
    await assertSource(service.data, videoId, film)
  })

  test('a chunk of a delegated upload without a video id does not reach a discarded video', async () => {
    const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
    const send = (content: Buffer, range: string) =>
      sendFile(`${service.url}/upload?token=${token}`, content, { range, key: '' })
    const { videoId } = (await send(first, ranges[0]!)).body
    await discard(service, videoId)
    assertProblem(await send(second, ranges[1]!), 400, 'attribute-required', 'videoId')
    await restore(service, videoId)
    assert.equal((await send(second, ranges[1]!)).body.videoId, videoId)
    await assertSource(service.data, videoId, film)
  })

  test('a tus upload returns 404 while its video is discarded, and keeps its offset', async () => {
    const headers = { 'tus-resumable': '1.0.0' }
    const created = await call(`${service.url}/tus`, {
      method: 'POST',
      headers: { ...headers, 'upload-length': '10' },
    })
    const location = created.headers.get('location')!
    const patch = (offset: number, body: string) =>
      call(location, {
        method: 'PATCH',
        headers: {
          ...headers,
          'content-type': 'application/offset+octet-stream',
          'upload-offset': `${offset}`,
        },
        body,
      })
    assert.equal((await patch(0, '01234')).status, 204)
    const [{ video_id: videoId }] = (await query(service.database, 'select video_id from sources')) as [
      { video_id: string },
    ]
    await discard(service, videoId)
    assert.equal((await patch(5, '56789')).status, 404)
    for (const method of ['HEAD', 'DELETE'])
      assert.equal((await call(location, { method, headers })).status, 404, method)
    await restore(service, videoId)
    assert.equal((await patch(5, '56789')).status, 204)
    await assertSource(service.data, videoId, Buffer.from('0123456789'))
  })

  test('a request that is uploading when the video is discarded returns 404, and its bytes are kept', async () => {
    const videoId = await createVideo(service)
    const upload = openUpload(`${service.url}/videos/${videoId}/source`, film)
    await upload.write(3 * MiB)
    const isWriting = async () =>
      (await query(service.database, 'select from source_pieces where lease_owner is not null')).length === 1
    await waitFor(isWriting)
    await discard(service, videoId)
    assertProblem(await upload.end(), 404, 'resource-not-found', 'videoId')
    await restore(service, videoId)
    await waitFor(async () => (await ingestOf(videoId)).status === 'uploaded')
    await assertSource(service.data, videoId, film)
  })
})

describe('sources from a URL', () => {
  type Respond = (from: number, response: ServerResponse) => void

  async function origin(t: TestContext, respond: Respond) {
    const server = createServer((request, response) => {
      response.on('error', () => {})
      respond(Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0), response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`
  }

  const isPaused = async (videoId: string) =>
    (await query(service.database, 'select from sources where video_id = $1 and is_paused', [videoId]))
      .length === 1

  const film = randomBytes(8 * MiB)
  const etag = '"film"'

  test('a download stops when its video is discarded, and continues where it stopped once it is restored', async (t) => {
    const offsets: number[] = []
    let interrupt = () => {}
    const url = await origin(t, (from, response) => {
      offsets.push(from)
      const headers = { etag, 'content-length': film.length - from }
      response.writeHead(from > 0 ? 206 : 200, {
        ...headers,
        ...(from > 0 && { 'content-range': `bytes ${from}-${film.length - 1}/${film.length}` }),
      })
      if (from > 0) return response.end(film.subarray(from))
      response.write(film.subarray(0, 6 * MiB))
      interrupt = () => response.socket?.end()
      return undefined
    })
    const videoId = await createVideo(service, { source: url })
    await waitFor(() => offsets.length === 1)
    await discard(service, videoId)
    interrupt()
    await waitFor(() => isPaused(videoId))
    await restore(service, videoId)
    await assertSource(service.data, videoId, film)
    assert.deepEqual(offsets, [0, 6 * MiB])
    assert.equal(await isPaused(videoId), false)
  })

  test('a video that waits to be copied from another one is copied only after it is restored', async () => {
    const original = await createVideo(service)
    const send = (from: number, to: number) =>
      sendFile(`${service.url}/videos/${original}/source`, film.subarray(from, to), {
        range: `bytes ${from}-${to - 1}/${film.length}`,
      })
    assert.equal((await send(0, 5 * MiB)).status, 201)
    const copy = await createVideo(service, { source: original })
    await discard(service, copy)
    assert.equal((await send(5 * MiB, film.length)).status, 201)
    await waitFor(() => isPaused(copy))
    assert.equal(await fileExists(sourcePath(service.data, copy)), false)
    await restore(service, copy)
    await assertSource(service.data, copy, film)
  })
})

describe('encoding', () => {
  test('pauses while its video is discarded, and completes once it is restored, also if the service is killed', async (t) => {
    const folder = await temporaryFolder(t)
    const gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '426x240', rate: '10', seconds: 8 })
    const deployment = await createDeployment(t, {
      ...restoring,
      KINORA_FFMPEG: gated.path,
      KINORA_ENCODE_STALL_SECONDS: '600',
    })
    const { database, data } = deployment
    let running = await deployment.start()
    await gated.encodeUntil(1)
    const videoId = await uploadVideo(running, clip)
    await waitFor(async () => (await encodingOf(running, videoId)).playable)
    const encodes = async () => (await processesWith(data)).filter(({ command }) => /240p\.mp4/.test(command))
    await waitFor(async () => (await encodes()).length > 0)

    const rows = async (table: string) =>
      (await query(database, `select count(*)::int as n from ${table} where video_id = $1`, [videoId]))[0].n
    await discard(running, videoId)
    const active = `select from chunks where video_id = $1 and not (is_paused and lease_owner is null)`
    await waitFor(async () => (await query(database, active, [videoId])).length === 0)
    await waitFor(async () => (await encodes()).length === 0)
    const [left, segments] = [await rows('chunks'), await rows('segments')]
    assert.ok(left > 0 && segments > 0)

    // Another video is encoded, and the discarded one is not.
    await gated.encodeAll()
    const other = await uploadVideo(running, clip)
    await assertEncoded(running, other, ['hls 240p', 'mp4 240p'])
    assert.deepEqual([await rows('chunks'), await rows('segments')], [left, segments])

    await restore(running, videoId)
    await running.kill()
    running = await deployment.start()
    await expireLeases(database)
    await assertEncoded(running, videoId, ['hls 240p', 'mp4 240p'])
    await assertComplete(running, deployment, videoId, { events: ['hls 240p', 'mp4 240p'], frames: 80 })
  })
})

test('a discarded video that is deleted permanently is removed at once with its files and its unfinished upload', async () => {
  const { database, url } = service
  const videoId = await makeVideo(service, onDisk(service))
  const uploading = await createVideo(service, { tags: ['counted'] })
  const range = `bytes 0-${5 * MiB - 1}/*`
  await sendFile(`${url}/videos/${uploading}/source`, randomBytes(5 * MiB), { range })
  const kept = await createVideo(service, { tags: ['counted'] })
  const [{ handle }] = await query(database, 'select handle from sources where video_id = $1', [uploading])
  const files = async () =>
    (await listFiles(service)).filter((path) => path.includes(videoId) || path.includes(handle))
  assert.ok((await files()).some((path) => path.includes(handle)))
  for (const each of [videoId, uploading]) {
    await discard(service, each)
    assert.equal((await call(`${url}/discarded/videos/${each}`, { method: 'DELETE' })).status, 204)
    assertProblem(await call(`${url}/discarded/videos/${each}`), 404, 'resource-not-found', 'videoId')
    const again = await call(`${url}/discarded/videos/${each}`, { method: 'DELETE' })
    assertProblem(again, 404, 'resource-not-found', 'videoId')
  }
  assert.deepEqual(await query(database, 'select id from all_videos'), [{ id: kept }])
  await waitFor(async () => (await files()).length === 0)
  const tags = await call(`${url}/tags`)
  assert.deepEqual(tags.body.data, [{ value: 'counted', videoCount: 1 }])
})

describe('the end of its time', () => {
  test('a discarded video keeps its files until then, and everything of it is deleted afterwards', async (t) => {
    const { database, data, url } = service
    const videoId = await makeVideo(service, onDisk(service))
    const viewed = await createViewableVideo(service)
    const { event, report } = viewing(viewed)
    const json = report([event(1, 'ready', { at: 0 })])
    assert.equal((await call(`${url}/collector/vod`, { method: 'POST', key: '', json })).status, 200)
    const uploading = await createVideo(service, { tags: ['kept'] })
    const range = `bytes 0-${5 * MiB - 1}/*`
    await sendFile(`${url}/videos/${uploading}/source`, randomBytes(5 * MiB), { range })
    const kept = await createVideo(service, { tags: ['kept'] })
    const all = [videoId, viewed, uploading]
    for (const each of [...all, kept]) await discard(service, each)

    const env = { KINORA_DATABASE_URL: database, KINORA_DATA_DIR: data, KINORA_SWEEP_GRACE_MINUTES: '0' }
    const swept = await runKinora(['files', 'sweep', '--remove', '--json'], env)
    assert.equal(swept.code, 0, swept.stderr)
    for (const each of all) assert.ok(!swept.stdout.includes(each), swept.stdout)

    await query(database, `update all_videos set deletes_at = now() where id = any($1)`, [all])
    // Tasks also run when a worker starts, and this service has already started.
    for (const each of all) {
      const request = `${url}/discarded/videos/${each}`
      assertProblem(await call(request), 404, 'resource-not-found', 'videoId')
      const json = { discarded: false }
      assertProblem(await call(request, { method: 'PATCH', json }), 404, 'resource-not-found', 'videoId')
    }
    assert.deepEqual(
      (await call(`${url}/discarded/videos`)).body.data.map((video: { id: string }) => video.id),
      [kept],
    )
    const worker = await startKinora({ ...env, KINORA_ROLES: 'worker', ...withoutEncoding() })
    t.after(() => worker.stop())
    const counts = async () =>
      (
        await query(
          database,
          `select (select count(*) from all_videos where id = any($1)) + (select count(*) from segments)
             + (select count(*) from viewing_sessions) + (select count(*) from sources) as n`,
          [all],
        )
      )[0].n
    await waitFor(async () => Number(await counts()) === 0)
    await waitFor(async () => (await listFiles(service)).length === 0)

    await restore(service, kept)
    const tags = await call(`${url}/tags`, { key: productionKey })
    assert.deepEqual(tags.body.data, [{ value: 'kept', videoCount: 1 }])
  })
})
