import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { assertProblem, call, callRaw, query, sandboxKey, sharedKinora, waitFor } from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo, sourceUrl, uploadVideo } from '../support/videos.ts'

const service = sharedKinora(withoutEncoding())

const waitForSource = (videoId: string) =>
  waitFor(async () => (await call(sourceUrl(service, videoId))).status === 200)

test('the owner downloads the bytes that were uploaded, entirely or in ranges', async () => {
  const content = randomBytes(300_000)
  const videoId = await uploadVideo(service, content)
  await waitForSource(videoId)
  const url = sourceUrl(service, videoId)
  const authorization = `Basic ${btoa('test-production-key:')}`
  const response = await fetch(url, { headers: { authorization } })
  assert.equal(response.headers.get('content-type'), 'application/octet-stream')
  assert.equal(response.headers.get('cache-control'), 'private, no-cache')
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(content))
  const etag = response.headers.get('etag') ?? ''
  const part = await fetch(url, { headers: { authorization, range: 'bytes=1000-1999', 'if-range': etag } })
  assert.equal(part.status, 206)
  assert.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(1000, 2000)))
})

test('nobody else downloads a source', async () => {
  const videoId = await uploadVideo(service, randomBytes(1_000))
  await waitForSource(videoId)
  assertProblem(
    await call(sourceUrl(service, videoId), { key: '' }),
    401,
    'authentication-missing-authorization-header',
  )
  assertProblem(
    await call(sourceUrl(service, videoId), { key: sandboxKey }),
    404,
    'resource-not-found',
    'videoId',
  )
})

test('a video without a source has none to download', async () => {
  const videoId = await createVideo(service)
  assertProblem(await call(sourceUrl(service, videoId)), 404, 'resource-not-found', 'videoId')
})

test('a header tells that viewers see only a part of the source', async () => {
  const videoId = await uploadVideo(service, randomBytes(1_000), { clip: { endTimecode: '00:00:01' } })
  await waitForSource(videoId)
  const { headers } = await call(sourceUrl(service, videoId))
  assert.equal(headers.get('kinora-source-edits'), 'clip')
})

test('ids of imported videos have any length', async () => {
  const template = await createVideo(service, { title: 'Imported' })
  for (const id of ['vi1', `vi${'x'.repeat(60)}`, 'vi_a_B']) {
    await query(service.database, 'update all_videos set id = $2 where id = $1', [template, id])
    assert.equal((await call(`${service.url}/videos/${id}`)).body.title, 'Imported')
    assert.equal((await call(`${service.url}/vod/${id}/hls/manifest.m3u8`, { key: '' })).status, 202)
    await query(service.database, 'update all_videos set id = $2 where id = $1', [id, template])
  }
  for (const path of ['vi..', 'vi%2F..%2Fx', 'vi', `vi${'x'.repeat(100)}`, 'vi-a'])
    assert.equal((await callRaw(service.url, `/vod/${path}/hls/manifest.m3u8`)).status, 404, path)
})
