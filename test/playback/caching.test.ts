import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFauxqs } from 'fauxqs'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { call, callRaw, kinora, query, sendRaw } from '../support/harness.ts'
import { makeVideo, mp4Of, pathOf } from '../support/stored-video.ts'

// Caches may store successful responses only.

type Received = { status: number; headers: Headers }

const fileHeaders = ['etag', 'expires', 'last-modified', 'accept-ranges', 'content-disposition', 'location']

function assertNotCacheable({ status, headers }: Received, expected: number, label: string): void {
  assert.equal(status, expected, label)
  assert.match(headers.get('cache-control') ?? '', /^(private, )?no-store$/, label)
  for (const name of [...fileHeaders, 'content-encoding', 'x-accel-redirect'])
    assert.equal(headers.get(name), null, `${label}: ${name}`)
  if (status !== 416) assert.equal(headers.get('content-range'), null, label)
}

/** A service with an S3 server that the test can stop, and a video with all of its files. */
async function start(t: TestContext, env: Record<string, string> = {}) {
  const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  let isRunning = true
  const stop = async () => {
    if (isRunning) await server.stop()
    isRunning = false
  }
  server.createBucket('videos')
  const endpoint = `http://127.0.0.1:${server.port}`
  const store = openS3Files({
    endpoint,
    bucket: 'videos',
    region: 'us-east-1',
    accessKey: 'test',
    secretKey: 'test',
  })
  const service = await kinora(t, {
    KINORA_S3_ENDPOINT: endpoint,
    KINORA_S3_BUCKET: 'videos',
    KINORA_S3_ACCESS_KEY: 'test',
    KINORA_S3_SECRET_KEY: 'test',
    ...env,
  })
  t.after(async () => {
    await store.close()
    await stop()
  })
  const videoId = await makeVideo(service, store.put)
  const thumbnail = `videos/${videoId}/pictures/thumbnail.jpg`
  await store.put(thumbnail, Buffer.from('a picture'))
  await query(
    service.database,
    `insert into pictures (video_id, thumbnail_key) values ($1, $2)
     on conflict (video_id) do update set thumbnail_key = $2`,
    [videoId, thumbnail],
  )
  return { service, videoId, stop }
}

test('a response for a file that cannot be read is not cacheable', async (t) => {
  const { service, videoId, stop } = await start(t)
  const requests: [string, string, Record<string, string>?][] = [
    ['a segment', pathOf(videoId, 0)],
    ['a longer segment', pathOf(videoId, 1)],
    ['part of a segment', pathOf(videoId, 2), { range: 'bytes=0-9' }],
    ['the MP4', mp4Of(videoId)],
    ['part of the MP4', mp4Of(videoId), { range: 'bytes=10-99' }],
    ['a download', `${mp4Of(videoId)}?dl=1`],
    ['the thumbnail', `/vod/${videoId}/thumbnail.jpg`],
  ]
  // Nothing has requested these files before, so no cache in the service holds them.
  await stop()
  for (const [label, path, headers] of requests)
    assertNotCacheable(await callRaw(service.url, path, headers ? { headers } : {}), 503, label)
  // Responses that need no file still succeed and are cacheable.
  for (const path of [`/vod/${videoId}/hls/manifest.m3u8`, `/vod/${videoId}/hls/240p/init.mp4`]) {
    const { status, headers } = await callRaw(service.url, path)
    assert.deepEqual([status, headers.get('cache-control')?.split(',')[0]], [200, 'public'], path)
  }
})

test('no error response is cacheable on any route', async (t) => {
  const { service, videoId } = await start(t, { KINORA_S3_REDIRECT: 'on' })
  const { url } = service
  const cases: [number, string, Parameters<typeof callRaw>[2]?][] = [
    [404, `/vod/${videoId}/hls/240p/video-99.m4s`],
    [404, '/vod/vi0123456789012345678901/hls/manifest.m3u8'],
    [404, '/vod/vi0123456789012345678901/thumbnail.jpg'],
    [404, '/vod/vi0123456789012345678901'],
    [404, '/vod/vi0123456789012345678901/config.json'],
    [404, '/player/nothing.js'],
    [404, '/players/pl0123456789012345678901/logo/0123456789abcdef.png'],
    [404, '/docs/errors/nothing'],
    [404, '/nothing'],
    [400, '/videos/%zz'],
    [401, '/videos'],
    [405, '/openapi.json', { method: 'POST' }],
    [413, '/auth/api-key', { method: 'POST', body: ' '.repeat(20_000) }],
    [400, '/auth/api-key', { method: 'POST', body: '{}' }],
    [412, '/tus', { method: 'POST' }],
    [416, `/vod/${videoId}/hls/240p/init.mp4`, { headers: { range: 'bytes=99999-' } }],
    [404, '/oembed?url=http%3A%2F%2Fx'],
  ]
  for (const [status, path, options] of cases)
    assertNotCacheable(await callRaw(url, path, options), status, `${options?.method ?? 'GET'} ${path}`)
  assert.match(await sendRaw(url, 'NONSENSE\r\n\r\n'), /cache-control: no-store/)
  await call(`${url}/videos/${videoId}`, { method: 'PATCH', json: { public: false } })
  for (const path of [pathOf(videoId, 0), mp4Of(videoId), `/vod/${videoId}/thumbnail.jpg`, `/vod/${videoId}`])
    assertNotCacheable(await callRaw(url, path), 403, path)
})
