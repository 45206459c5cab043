import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertProblem, call, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { itemsOf, startImport } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'
import { startCloudflare, streamAccount } from '../support/services/cloudflare.ts'
import { finishImport } from '../support/services/finish-import.ts'

// From a stand-in for Cloudflare Stream.

const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

const uidOf = (n: number) => String(n).padStart(32, 'a')
const ready = { status: { state: 'ready' }, duration: 1, size: 1_000 }

test('videos of Cloudflare Stream are imported with their MP4s, captions and attributes', async (t) => {
  const path = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(path, { size: '64x48', rate: '5', seconds: 1 })
  const film = {
    ...ready,
    uid: uidOf(1),
    created: '2024-01-01T00:00:00.000000Z',
    meta: { name: 'A film', shop: 'Berlin', stars: 5 },
    creator: 'someone',
    thumbnailTimestampPct: 0.5,
    allowedOrigins: ['example.com'],
  }
  const secret = {
    ...ready,
    uid: uidOf(2),
    created: '2024-01-01T00:00:00.000000Z',
    requireSignedURLs: true,
    thumbnailTimestampPct: 0.5,
  }
  // Created at once, so that a page ends between them.
  const others = [3, 4].map((n) => ({ ...ready, uid: uidOf(n), created: '2024-01-02T00:00:00.5Z' }))
  const unusable = [
    {
      uid: uidOf(5),
      created: '2024-01-03T00:00:00Z',
      status: { state: 'error', errorReasonText: 'It has no video.' },
      duration: -1,
    },
    { uid: uidOf(6), created: '2024-01-04T00:00:00Z', status: { state: 'pendingupload' }, duration: -1 },
  ]
  const cloudflare = await startCloudflare({
    file: await readFile(path),
    videos: [film, secret, ...others, ...unusable],
    captions: { [film.uid]: ['de', 'en'] },
    pageSize: 3,
  })
  t.after(cloudflare.close)
  const request = { service: 'cloudflare', url: `${cloudflare.url}/client/v4`, ...streamAccount }

  const preview = await finishImport(target, await startImport(target, { ...request, dryRun: true }))
  assert.deepEqual(
    [
      preview.state,
      preview.videos.count,
      preview.videos.measured,
      preview.videos.seconds,
      preview.videos.bytes,
    ],
    ['ready', 6, 4, 4, 4_000],
  )
  const importId = await startImport(target, request)
  const done = await finishImport(target, importId)
  const items = await itemsOf(target, importId)
  assert.equal(done.state, 'completed', JSON.stringify([...items]))
  assert.deepEqual(
    [...items].map(([id, { state, reason }]) => [id, state, reason]),
    [
      [uidOf(1), 'done', null],
      [uidOf(2), 'done', null],
      [uidOf(3), 'done', null],
      [uidOf(4), 'done', null],
      [uidOf(5), 'skipped', 'Cloudflare could not process the video. It has no video.'],
      [uidOf(6), 'skipped', 'The video has no file.'],
    ],
  )
  assert.deepEqual(items.get(film.uid)?.notes, [
    'At Cloudflare, only these sites could embed it: example.com.',
  ])

  const video = async (id: string) =>
    (await call(`${target.url}/videos/${items.get(id)?.objectId}?include[]=status`)).body
  const shown = await video(film.uid)
  assert.deepEqual(
    [shown.title, shown.public, shown.createdAt],
    ['A film', true, '2024-01-01T00:00:00+00:00'],
  )
  assert.deepEqual(shown.metadata, [
    { key: 'uid', value: film.uid },
    { key: 'creator', value: 'someone' },
    { key: 'shop', value: 'Berlin' },
    { key: 'stars', value: '5' },
  ])
  const { body: captions } = await call(`${target.url}/videos/${shown.videoId}/captions`)
  assert.deepEqual(captions.data.map(({ srclang }: { srclang: string }) => srclang).sort(), ['de', 'en'])
  assert.notEqual(shown.status.thumbnailVersion, null)
  const hidden = await video(secret.uid)
  assert.deepEqual([hidden.title, hidden.public], [secret.uid, false])
  assert.notEqual(hidden.status.thumbnailVersion, null)
  assert.doesNotMatch(target.output(), new RegExp(streamAccount.key))
})

test('the id of the account is required, and a wrong token ends the import with the reason', async (t) => {
  const cloudflare = await startCloudflare({ file: Buffer.alloc(0), videos: [] })
  t.after(cloudflare.close)
  const request = { service: 'cloudflare', url: `${cloudflare.url}/client/v4`, key: 'wrong' }
  const send = (json: object) => call(`${target.url}/imports`, { method: 'POST', json })
  assertProblem(await send(request), 400, 'attribute-required', 'location')
  assertProblem(await send({ ...request, location: '../zones' }), 400, 'invalid-attribute', 'location')
  const importId = await startImport(target, { ...request, location: streamAccount.location })
  const failed = await finishImport(target, importId)
  assert.deepEqual([failed.state, failed.items.done], ['failed', 0])
  assert.match(failed.failure, /refused the key \(status 403\)/)
})
