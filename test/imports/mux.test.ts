import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertProblem, call, query, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import { itemsOf, startImport } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'
import { finishImport } from '../support/services/finish-import.ts'
import { muxToken, startMux } from '../support/services/mux.ts'

// From a stand-in for Mux.

const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

async function clip(): Promise<Buffer> {
  const path = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(path, { size: '64x48', rate: '5', seconds: 1 })
  return readFile(path)
}

const created_at = '1609868768'
const ready = { status: 'ready', created_at, duration: 1 }
const signedId = [{ id: 'secret', policy: 'signed' }]
const text = (id: string, status = 'ready') => ({
  type: 'text',
  id,
  text_type: 'subtitles',
  language_code: id,
  status,
})
const publicId = (id: string) => [{ id, policy: 'public' }]

test('assets of Mux are imported with their masters, captions and attributes', async (t) => {
  const file = await clip()
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
  const signing = { signingKeyId: 'key-id', signingKey: btoa(pem) }
  const mux = await startMux({
    file,
    publicKey,
    withoutMaster: ['rendition'],
    assets: [
      {
        ...ready,
        id: 'public',
        meta: { title: 'A film', creator_id: 'someone', external_id: '42' },
        passthrough: 'from the shop',
        playback_ids: [...signedId, ...publicId('open')],
        tracks: [{ type: 'video', id: 'v' }, text('en'), text('fr', 'preparing')],
      },
      { ...ready, id: 'signed', playback_ids: signedId, passthrough: 'Signed', tracks: [text('de')] },
      { ...ready, id: 'rendition', playback_ids: publicId('rendition'), live_stream_id: 'show' },
      { id: 'broken', status: 'errored', created_at, errors: { messages: ['No video track.'] } },
      { id: 'live', status: 'preparing', is_live: true, created_at },
    ],
  })
  t.after(mux.close)
  const importId = await startImport(target, { service: 'mux', url: mux.url, ...muxToken, ...signing })
  const done = await finishImport(target, importId)
  const items = await itemsOf(target, importId)
  assert.equal(done.state, 'completed', JSON.stringify([...items]))
  const states = [...items].map(([id, { state, reason }]) => [id, state, reason])
  assert.deepEqual(states, [
    ['public', 'done', null],
    ['signed', 'done', null],
    ['rendition', 'done', null],
    ['broken', 'skipped', 'Mux could not process the video. No video track.'],
    ['live', 'skipped', 'The live stream is on air. Import it again when it has ended.'],
  ])
  assert.deepEqual(items.get('rendition')?.notes, ['A recording of the live stream show.'])

  const video = async (id: string) =>
    (await call(`${target.url}/videos/${items.get(id)?.objectId}?include[]=status`)).body
  const film = await video('public')
  assert.equal(film.title, 'A film')
  assert.equal(film.public, true)
  assert.equal(film.createdAt, '2021-01-05T17:46:08+00:00')
  assert.deepEqual(film.metadata, [
    { key: 'asset_id', value: 'public' },
    { key: 'passthrough', value: 'from the shop' },
    { key: 'creator_id', value: 'someone' },
    { key: 'external_id', value: '42' },
    { key: 'playback_id', value: 'secret' },
    { key: 'playback_id_2', value: 'open' },
  ])
  const captionsOf = async ({ videoId }: { videoId: string }): Promise<string[]> => {
    const { body } = await call(`${target.url}/videos/${videoId}/captions`)
    return body.data.map(({ srclang }: { srclang: string }) => srclang)
  }
  assert.deepEqual(await captionsOf(film), ['en'])
  const signed = await video('signed')
  assert.deepEqual([signed.title, signed.public], ['Signed', false])
  assert.deepEqual(await captionsOf(signed), ['de'])
  // Resumed after the connection had dropped.
  const [{ bytes }] = await query(
    target.database,
    'select received_bytes::integer as bytes from sources where video_id = $1',
    [signed.videoId],
  )
  assert.equal(bytes, file.length)

  const before = mux.requests.length
  const again = await finishImport(
    target,
    await startImport(target, { service: 'mux', url: mux.url, ...muxToken }),
  )
  assert.equal(again.items.skipped, 5)
  assert.ok(mux.requests.slice(before).every((each) => !each.includes('master')))
  assert.doesNotMatch(target.output(), new RegExp(muxToken.secret))
})

test('another link is asked for when that to a master has expired', async (t) => {
  const assets = [{ ...ready, id: 'film', playback_ids: signedId, tracks: [text('en')] }]
  const mux = await startMux({ file: await clip(), assets })
  t.after(mux.close)
  const requested = () => mux.requests.filter((each) => each.startsWith('PUT')).length
  const importId = await startImport(target, { service: 'mux', url: mux.url, ...muxToken })
  await waitFor(() => requested() === 1)
  mux.expireMasters()
  await finishImport(target, importId)
  const film = (await itemsOf(target, importId)).get('film')
  assert.equal(film?.state, 'done')
  assert.deepEqual(film?.notes, ['The captions were left out, because they need a signing key.'])
  assert.equal(requested(), 2)
})

test('a master that is never ready is waited for a day', async (t) => {
  const assets = [{ ...ready, id: 'film', playback_ids: publicId('open') }]
  const mux = await startMux({ file: Buffer.alloc(0), assets })
  t.after(mux.close)
  mux.keepPreparing()
  const importId = await startImport(target, { service: 'mux', url: mux.url, ...muxToken })
  const film = async () => (await itemsOf(target, importId)).get('film')
  await waitFor(async () => (await film())?.reason === 'Waiting until Mux has made the master.')
  assert.equal((await film())?.state, 'waiting')
  await query(target.database, `update import_runs set updated_at = now() - interval '25 hours'`)
  await query(target.database, `update imported_objects set updated_at = now() - interval '25 hours'`)
  await finishImport(target, importId)
  const reason = 'The service has not prepared the file within a day.'
  assert.deepEqual([(await film())?.state, (await film())?.reason], ['failed', reason])
})

test('a wrong key and tags are refused with the reason', async (t) => {
  const mux = await startMux({ file: Buffer.alloc(0), assets: [] })
  t.after(mux.close)
  const request = { service: 'mux', url: mux.url, key: muxToken.key }
  const send = (json: object) => call(`${target.url}/imports`, { method: 'POST', json })
  assertProblem(await send(request), 400, 'attribute-required', 'secret')
  const signing = { signingKeyId: 'key-id', signingKey: 'no key' }
  assertProblem(await send({ ...request, ...muxToken, ...signing }), 400, 'invalid-attribute', 'signingKey')
  assertProblem(await send({ ...request, ...muxToken, tags: ['a'] }), 400, 'invalid-attribute', 'tags')
  const importId = await startImport(target, { ...request, secret: 'wrong' })
  const failed = await finishImport(target, importId)
  assert.equal(failed.state, 'failed')
  assert.match(failed.failure, /refused the key \(status 401\)/)
})
