import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { holdRemovals } from '../../server/backups/hold.ts'
import { backupSettings, fail, loadAll, newPlace, type Place, run, succeed } from '../support/backups.ts'
import {
  call,
  fileExists,
  kinora,
  listFiles,
  MiB,
  query,
  type Service,
  sendFile,
  settingsOf,
  sourcePath,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { startS3Store } from '../support/s3-store.ts'
import { createVideo, sourceUrl, uploadVideo, waitForEncoding } from '../support/videos.ts'

// Backups of a service that runs.

const ends: (() => unknown)[] = []
const hooks = { after: (end: () => unknown) => ends.push(end) }
let service: Service
let clip: Buffer
let folder: string

before(async () => {
  folder = await temporaryFolder(hooks)
  await makeClip(join(folder, 'clip.mp4'), { size: '320x180', rate: '25', seconds: 2 })
  // Chunks have at least 5 MiB. Players skip the box at the end.
  const padding = Buffer.alloc(11 * MiB)
  padding.writeUInt32BE(padding.length)
  padding.write('free', 4)
  clip = Buffer.concat([await readFile(join(folder, 'clip.mp4')), padding])
  service = await kinora(hooks, { KINORA_RESTORE_DAYS: '0' })
})
after(async () => {
  for (const end of ends) await end()
})

test('a backup during an upload, an encoding and a broadcast is restored, and all of them continue', async (t) => {
  const destination = join(folder, 'busy')
  const half = Math.ceil(clip.length / 2)
  const uploading = await createVideo(service)
  const send = (target: Service, from: number, to: number) =>
    sendFile(sourceUrl(target, uploading), clip.subarray(from, to), {
      range: `bytes ${from}-${to - 1}/${clip.length}`,
    })
  assert.equal((await send(service, 0, half)).status, 201)
  const stream = await createLiveStream(service, { record: true })
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  t.after(() => encoder.abort())
  const tags = makeSource()
  await encoder.send(tags)
  await waitFor(async () => (await query(service.database, 'select from live_segments')).length > 0)
  const encoding = await uploadVideo(service, clip)

  await succeed(service, ['backup', destination])
  let restored: Awaited<ReturnType<typeof startKinora>> | undefined
  let returned: RtmpEncoder | undefined
  t.after(async () => {
    await returned?.abort()
    await restored?.stop()
  })
  const place = await newPlace(t)
  await succeed(place, ['restore', destination])
  restored = await startKinora(settingsOf(place))
  const target = { ...restored, ...place }
  // The same encoder is back at once.
  returned = await RtmpEncoder.connect(restored, stream.streamKey)
  await returned.send(tags)
  assert.equal((await send(target, half, clip.length)).status, 201)
  await waitFor(() => fileExists(sourcePath(place.data, uploading)))
  assert.deepEqual(await readFile(sourcePath(place.data, uploading)), clip)
  await waitForEncoding(target, uploading)
  const finished = await waitForEncoding(target, encoding)
  assert.ok(finished.qualities.every(({ status }) => status === 'encoded'))

  const broadcasts = `${target.url}/live-streams/${stream.liveStreamId}/broadcasts`
  await waitFor(async () => {
    const { body } = await call(broadcasts)
    const [, first] = body.data
    return first?.state === 'ended' && first.recordings.length > 0
  })
  const missing = await run(place, ['files', 'sweep', '--json'])
  assert.doesNotMatch(missing.stdout, /"missing"/)
})

/** As if the process that joined the chunks was killed before it updated the row. A job waits to do it again. */
async function setJoined({ database }: Place, videoId: string, place: string): Promise<void> {
  const row = `update sources set state = 'received' where video_id = $1`
  await query(database, row, [videoId])
  await query(database, 'delete from source_pieces where video_id = $1', [videoId])
  await query(
    database,
    'insert into source_pieces (video_id, position, size, place) values ($1, 1, $2, $3)',
    [videoId, clip.length, place],
  )
  await query(
    database,
    `insert into pgboss.job (name, data, start_after) values ('store-source', $1, now() + interval '1 hour')`,
    [{ videoId }],
  )
}

/** Before the service starts, which looks for jobs then. */
const releaseJobs = ({ database }: Place) => query(database, 'update pgboss.job set start_after = now()')

async function assertFinished({ database }: Place, videoId: string): Promise<void> {
  const state = async () => {
    const [row] = await query(database, 'select state from sources where video_id = $1', [videoId])
    return row.state
  }
  await waitFor(async () => (await state()) !== 'received')
  assert.equal(await state(), 'stored')
}

test('a bucket holds backups, and the database alone is restored beside the bucket of the service', async (t) => {
  const store = await startS3Store(t)
  const backupEnv = backupSettings(store)
  const url = `s3://${store.settings.bucket}/kinora/one`
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  const joined = await uploadVideo(service, clip)
  await waitForEncoding(service, joined)
  await setJoined(service, joined, `own-${'0'.repeat(24)}`)
  const first = await succeed(service, ['backup', url], backupEnv)
  const second = await succeed(service, ['backup', url, '--keep', '1'], backupEnv)
  // The service may have stored another file meanwhile.
  assert.ok(second.copiedFiles < first.copiedFiles / 2)
  await succeed(service, ['backup', 'verify', url], backupEnv)
  // The files are restored to a bucket, too.
  const target = await startS3Store(t)
  const place = await newPlace(t)
  await succeed(place, ['restore', url], { ...backupEnv, ...target.env })
  await releaseJobs(place)
  const restored = await startKinora({ ...settingsOf(place), ...target.env })
  t.after(() => restored.stop())
  assert.deepEqual(await loadAll(restored.url, video), await loadAll(service.url, video))
  await assertFinished(place, joined)

  const toDisk = await newPlace(t)
  const [{ handle }] = await query(place.database, 'select handle from sources where video_id = $1', [joined])
  await setJoined(place, joined, `.uploads/${handle}/piece-1-${randomUUID()}`)
  await succeed(place, ['backup', join(folder, 'from-bucket'), '--files'], target.env)
  await succeed(toDisk, ['restore', join(folder, 'from-bucket')])
  await releaseJobs(toDisk)
  const onDisk = await startKinora(settingsOf(toDisk))
  t.after(() => onDisk.stop())
  await assertFinished(toDisk, joined)
  await onDisk.stop()

  const [destination, later] = [join(folder, 'database'), await newPlace(t)]
  const { files } = await succeed(place, ['backup', destination], target.env)
  assert.equal(files, null)
  await restored.stop()
  await fail(later, ['restore', destination], /not the one that belongs to it/)
  await succeed(later, ['restore', destination], target.env)
  const { stderr } = await run(later, ['files', 'sweep'], target.env)
  assert.match(stderr, /The database is older than the file store/)
})

test('while a backup copies files, removed files stay, and uploads are still finished', async (t) => {
  const pool = new pg.Pool({ connectionString: service.database })
  t.after(() => pool.end())
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  const [uploading, half] = [await createVideo(service), Math.ceil(clip.length / 2)]
  const send = (from: number, to: number) =>
    sendFile(sourceUrl(service, uploading), clip.subarray(from, to), {
      range: `bytes ${from}-${to - 1}/${clip.length}`,
    })
  await send(0, half)
  const hold = await holdRemovals(pool)
  const isIdle = async () =>
    (
      await query(
        service.database,
        `select from pgboss.job where name = 'remove-files' and state < 'completed'`,
      )
    ).length === 0
  const uploads = async () =>
    (await listFiles(service)).filter((path) => /\.uploads\/.*(own|whole)/.test(path)).length
  const count = await uploads()
  try {
    await call(`${service.url}/videos/${video}`, { method: 'DELETE' })
    await waitFor(isIdle)
    assert.ok(await fileExists(sourcePath(service.data, video)))
    await send(half, clip.length)
    await waitForEncoding(service, uploading)
    assert.ok(count > 0)
    assert.equal(await uploads(), count, 'the chunks are kept')
  } finally {
    hold.release()
  }
  assert.deepEqual(await readFile(sourcePath(service.data, uploading)), clip)
  await call(`${service.url}/videos/${uploading}`, { method: 'DELETE' })
  await waitFor(async () => !(await fileExists(sourcePath(service.data, uploading))))
})
