import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { logIn } from '../support/browser/dashboard.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  fileExists,
  query,
  sendFile,
  sourcePath,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createDeployment } from '../support/recovery.ts'
import { createVideo, uploadVideo, waitForEncoding } from '../support/videos.ts'

/** No disk has so much free space. */
const full = { KINORA_DISK_RESERVE: '100%' }

const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

test('on an almost full disk nothing new is stored, playback and deletion work, and work goes on when there is space', async (t) => {
  const { start, database, data } = await createDeployment(t, { KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
  const clip = join(data, 'clip.mp4')
  await makeClip(clip, { size: '160x120', seconds: 1 })
  const before = await start()
  const [watched, deleted] = [await uploadVideo(before, clip), await createVideo(before)]
  assert.equal(
    (await sendFile(`${before.url}/videos/${deleted}/source`, Buffer.from('no video'))).status,
    201,
  )
  await waitForEncoding(before, watched)
  const started = await createVideo(before)
  const bytes = Buffer.alloc(5 * 1024 * 1024)
  const range = (from: number) => ({ range: `bytes ${from}-${from + bytes.length - 1}/${3 * bytes.length}` })
  assert.equal((await sendFile(`${before.url}/videos/${started}/source`, bytes, range(0))).status, 201)
  const { token } = (await call(`${before.url}/upload-tokens`, { method: 'POST', json: {} })).body
  await before.stop()
  // Uploaded, but not examined yet.
  const api = await start({ KINORA_ROLES: 'api' })
  const waiting = await uploadVideo(api, clip)
  await api.stop()

  const low = await start(full)
  const { url, output } = low
  const video = (id: string) => `${url}/videos/${id}`
  const empty = await createVideo({ url })
  const { liveStreamId } = (await call(`${url}/live-streams`, { method: 'POST', json: { name: 'Live' } }))
    .body
  const tus = { 'tus-resumable': '1.0.0', 'upload-length': '5' }
  const total = async () => (await call(`${url}/videos`)).body.pagination.itemsTotal
  const videosBefore = await total()
  const refused: Record<string, Promise<ApiResponse>> = {
    'one request': sendFile(`${video(empty)}/source`, Buffer.from('film')),
    'a range': sendFile(`${video(empty)}/source`, bytes, range(0)),
    'a later range': sendFile(`${video(started)}/source`, bytes, range(bytes.length)),
    'a part': sendFile(`${video(empty)}/source`, bytes, { range: 'part 1/*' }),
    'an upload token': sendFile(`${url}/upload?token=${token}`, Buffer.from('film'), { key: '' }),
    tus: call(`${url}/tus`, { method: 'POST', headers: tus }),
    'a thumbnail': sendFile(`${video(watched)}/thumbnail`, image),
    'a thumbnail of a live stream': sendFile(`${url}/live-streams/${liveStreamId}/thumbnail`, image),
    'a watermark': sendFile(`${url}/watermarks`, image),
    captions: sendFile(`${video(watched)}/captions/en`, Buffer.from('WEBVTT\n')),
  }
  for (const [name, sent] of Object.entries(refused)) {
    const response = await sent
    assert.equal(response.status, 507, `${name}: ${response.text}`)
    assertProblem(response, 507, 'insufficient-storage')
    assert.equal(response.headers.get('retry-after'), '60')
  }
  assert.equal(await total(), videosBefore, 'a refused upload created a video')

  let requests = 0
  const film = await readFile(clip)
  const server = createServer((_request, response) => {
    requests++
    response.end(film)
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const source = `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`
  const { videoId: fetched } = (await call(`${url}/videos`, { method: 'POST', json: { source } })).body

  assert.equal((await call(`${url}/vod/${watched}/hls/manifest.m3u8`, { key: '' })).status, 200)
  assert.equal((await call(video(watched), { method: 'PATCH', json: { title: 'Renamed' } })).status, 200)
  for (const path of [video(deleted), `${url}/discarded/videos/${deleted}`])
    assert.equal((await call(path, { method: 'DELETE' })).status, 204)
  await waitFor(async () => !(await fileExists(sourcePath(data, deleted))))
  assert.match((await call(`${url}/metrics`)).text, /^kinora_disk_low 1$/m)
  const dashboard = await logIn({ url, database })
  assert.equal((await dashboard.call('/dashboard/system')).body.isDiskLow, true)
  assert.match(output(), /the disk is almost full: uploads, recordings and encodings pause/)
  assert.deepEqual(await query(database, 'select video_id from encodings where video_id = $1', [waiting]), [])
  assert.equal(requests, 0)
  await low.stop()

  const after = await start(withoutEncoding())
  const examined = 'select video_id from encodings where video_id = any($1)'
  await waitFor(
    async () => (await query(database, examined, [[waiting, fetched]])).length === 2,
    after.output,
  )
  const last = await sendFile(`${after.url}/videos/${started}/source`, bytes, range(bytes.length))
  assert.equal(last.status, 201, last.text)
  assert.match((await call(`${after.url}/metrics`)).text, /^kinora_disk_low 0$/m)
})
