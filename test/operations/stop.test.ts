import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDashboard } from '../support/browser/dashboard.ts'
import {
  call,
  createDatabase,
  MiB,
  openUpload,
  productionKey,
  startKinora,
  temporaryFolder,
  timeoutMs,
  waitFor,
} from '../support/harness.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { startReceiver } from '../support/receiver.ts'
import { createVideo, encodingOf, sourceUrl, uploadVideo } from '../support/videos.ts'

const password = 'long enough'

for (const database of ['an external', 'the embedded'])
  test(`a service with ${database} database logs no warning when it is stopped during its work`, async (t) => {
    const folder = await temporaryFolder(t)
    const gated = await gatedFfmpeg(folder)
    await gated.encodeUntil(1)
    const service = await startKinora({
      KINORA_FFMPEG: gated.path,
      KINORA_DATA_DIR: join(folder, 'data'),
      KINORA_PRODUCTION_KEY: productionKey,
      KINORA_ADMIN_PASSWORD: password,
      KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
      KINORA_LOG_LEVEL: 'info',
      ...(database === 'an external' && { KINORA_DATABASE_URL: await createDatabase(t) }),
    })
    t.after(() => service.kill())
    const { url, output } = service

    const page = await openPage(url)
    const receiver = await startReceiver(t, () => {})
    const webhook = { url: `${receiver.url}/hangs`, events: ['live-stream.broadcast.started'] }
    assert.equal((await call(`${url}/webhooks`, { method: 'POST', json: webhook })).status, 201)
    const stream = await createLiveStream(service, { record: true })
    const show = await makeShow(folder)
    startFfmpegEncoder(t, service, stream.streamKey, '-re', '-stream_loop', '-1', '-i', show)
    await createVideo(service, { source: await endlessOrigin(t) })
    const upload = openUpload(sourceUrl(service, await createVideo(service)), Buffer.alloc(8 * MiB))
    t.after(() => upload.abort())
    await upload.write(2 * MiB)
    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '320x240', rate: '10', seconds: 8 })
    const videoId = await uploadVideo(service, clip)
    await waitFor(async () => (await encodingOf(service, videoId)).playable, output)
    const manifest = `${url}/live/${stream.liveStreamId}.m3u8`
    await waitFor(async () => (await call(manifest, { key: '' })).status === 200, output)
    await receiver.waitForRequests('/hangs', 1)

    const before = output().length
    assert.equal(await service.stop(), 0, output())
    assert.doesNotMatch(output().slice(before), /"level":"(warn|error|fatal)"|did not stop/)
    assert.ok(page.destroyed)
  })

/** Follows the changes as a page of the dashboard does. */
async function openPage(url: string) {
  const login = await call(`${url}/dashboard/login`, { method: 'POST', key: '', json: { password } })
  const { cookie } = openDashboard(url, login)
  const sent = request(`${url}/dashboard/changes/production`, { headers: { cookie }, timeout: timeoutMs })
  sent.on('error', () => {}).end()
  const [response] = await once(sent, 'response')
  return response.on('error', () => {}).resume()
}

/** With two qualities. */
async function makeShow(folder: string): Promise<string> {
  const show = join(folder, 'show.flv')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'testsrc2=s=640x360:r=10:d=20', '-f', 'lavfi', '-i', 'sine=d=20'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '20', '-c:a', 'aac', show],
  )
  return show
}

/** The URL of a file that never arrives completely. */
async function endlessOrigin(t: TestContext): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 100 * MiB }).write(Buffer.alloc(6 * MiB))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`
}
