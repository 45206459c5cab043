import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, productionKey, query, sandboxKey, sharedKinora, waitFor } from '../support/harness.ts'
import {
  assertSameVideo,
  fillLibrary,
  itemsOf,
  type Library,
  startImport,
  waitForImport,
} from '../support/library.ts'
import { client } from '../support/published-client.ts'
import { waitForEncoding, waitForPictures } from '../support/videos.ts'

// From one Kinora to another one.

const source = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
const from = () => ({ service: 'kinora', url: source.url, key: productionKey })

test('another Kinora is imported with ids, files and everything that belongs to a video', async () => {
  const library: Library = await fillLibrary(client(source.url), source, 6)
  for (const videoId of library.videoIds) {
    await waitForEncoding(source, videoId)
    // A video whose thumbnail is made between two imports has changed.
    await waitForPictures(source.database, videoId)
  }
  const importId = await startImport(target, from())
  const done = await waitForImport(target, importId)
  const items = await itemsOf(target, importId)
  assert.equal(done.state, 'completed', JSON.stringify([...items]))
  assert.deepEqual(
    { ...done.items },
    { waiting: 0, fetching: 0, encoding: 0, done: 8, failed: 0, skipped: 0 },
  )
  for (const videoId of library.videoIds) await assertSameVideo(source, target, videoId)

  const [theme] = (await call(`${target.url}/players`)).body.data
  assert.equal(theme.playerId, library.playerId)
  assert.deepEqual(
    [theme.name, theme.link, theme.hideTitle, theme.assets.link],
    ['Brand', '#ff0000', true, 'https://example.com/'],
  )
  assert.equal((await call(theme.assets.logo, { key: '' })).status, 200)
  const key = async (url: string) => (await call(`${url}/live-streams/${library.liveStreamId}`)).body
  const [original, copy] = await Promise.all([key(source.url), key(target.url)])
  assert.deepEqual(
    [copy.streamKey, copy.public, copy.playerId],
    [original.streamKey, false, library.playerId],
  )

  const again = await waitForImport(target, await startImport(target, from()))
  assert.equal(again.items.skipped, 8)

  // Neither changes the video itself.
  const [recaptioned, other] = [library.videoIds[1]!, library.videoIds[5]!]
  const captions = new FormData()
  captions.append('file', new Blob(['WEBVTT\n\n00:00.000 --> 00:01.000\nGoodbye\n']), 'en.vtt')
  await call(`${source.url}/videos/${recaptioned}/captions/en`, { method: 'POST', body: captions })
  const [summary] = (await call(`${source.url}/summaries?videoId=${other}`)).body.data
  const text = { abstract: 'Written anew', takeaways: ['One', 'Two'] }
  await call(`${source.url}/summaries/${summary.summaryId}/source`, { method: 'PATCH', json: text })
  const next = await startImport(target, from())
  await waitForImport(target, next)
  const carried = [...(await itemsOf(target, next))].filter(([, { state }]) => state === 'done')
  assert.deepEqual(new Set(carried.map(([id]) => id)), new Set([recaptioned, other]))
  for (const videoId of [recaptioned, other]) await assertSameVideo(source, target, videoId)

  const changed = library.videoIds[2]!
  // The time of a change is shown in seconds.
  await query(source.database, `update all_videos set updated_at = now() - interval '1 hour'`)
  await query(target.database, `update imported_objects set version = null where source_id = $1`, [changed])
  await call(`${source.url}/videos/${changed}`, {
    method: 'PATCH',
    json: { title: 'A better title', tags: ['new'] },
  })
  const third = await waitForImport(target, await startImport(target, { ...from(), tags: ['new'] }))
  assert.deepEqual([third.items.done, third.items.skipped], [1, 2])
  await assertSameVideo(source, target, changed)

  const [row] = await query(
    target.database,
    'select count(*)::int as n from import_runs where credentials is not null',
  )
  assert.equal(row.n, 0)
  assert.doesNotMatch(target.output(), new RegExp(productionKey))
})

test('a dry run shows what would be imported, and can be resumed', async () => {
  const { videoIds } = await fillLibrary(client(source.url), source, 2)
  const ids = async () =>
    (await call(`${target.url}/videos`)).body.data.map(({ videoId }: { videoId: string }) => videoId)
  const importId = await startImport(target, { ...from(), dryRun: true, include: [], limit: 1 })
  const preview = await waitForImport(target, importId)
  assert.equal(preview.state, 'ready')
  assert.deepEqual([preview.items.waiting, preview.videos.count, preview.videos.measured], [1, 1, 1])
  assert.ok(
    preview.videos.bytes > 1000 && preview.disk.needed > preview.videos.bytes && preview.disk.free > 0,
  )
  const [{ fetch_speed: speed }] = await query(
    target.database,
    'select fetch_speed from import_runs where id = $1',
    [importId],
  )
  assert.ok(speed > 0)
  assert.deepEqual(await ids(), [])
  await call(`${target.url}/imports/${importId}/resume`, { method: 'POST' })
  await waitFor(async () => (await waitForImport(target, importId)).state === 'completed')
  assert.deepEqual(await ids(), [videoIds[0]])
  const { status, text } = await call(`${target.url}/imports/${importId}/report`)
  assert.equal(status, 200)
  assert.match(text, /^kind,sourceId.*\r\nvideo,vi\w{22},vi\w{22},Video 0,done,/)
})

test('an id that exists already is skipped and named, unless the copy gets a new one', async () => {
  const { videoIds } = await fillLibrary(client(source.url), source, 1)
  const [videoId = ''] = videoIds
  const self = { ...from(), include: [] }
  const importId = await startImport(source, self)
  await waitForImport(source, importId)
  const item = (await itemsOf(source, importId)).get(videoId)
  assert.equal(item?.state, 'skipped')
  assert.match(item?.reason ?? '', new RegExp(`^${videoId} exists here already`))
  const second = await call(`${source.url}/imports`, {
    method: 'POST',
    key: sandboxKey,
    json: { ...self, keepIds: false },
  })
  await waitFor(async () => {
    const { body } = await call(`${source.url}/imports/${second.body.importId}`, { key: sandboxKey })
    return body.state === 'completed'
  })
  const { body } = await call(`${source.url}/videos`, { key: sandboxKey })
  assert.deepEqual([body.data.length, body.data[0].title], [1, 'Video 0'])
  assert.notEqual(body.data[0].videoId, videoId)
})
