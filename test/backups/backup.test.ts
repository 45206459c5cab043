import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { holdRemovals } from '../../server/backups/hold.ts'
import {
  call,
  createDatabase,
  fileExists,
  kinora,
  kinoraCommand,
  listFiles,
  MiB,
  query,
  runKinora,
  type Service,
  sendFile,
  settingsOf,
  sourcePath,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { startS3Store } from '../support/s3-store.ts'
import {
  createVideo,
  media,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../support/videos.ts'

// `kinora backup` while the service runs, `kinora backup verify` and `kinora restore`.

const ends: (() => unknown)[] = []
const hooks = { after: (end: () => unknown) => ends.push(end) }
let service: Service
let clip: Buffer
let folder: string

before(async () => {
  folder = await temporaryFolder(hooks)
  await makeClip(join(folder, 'clip.mp4'), { size: '320x180', rate: '25', seconds: 5 })
  // Chunks have at least 5 MiB. Players skip the box at the end.
  const padding = Buffer.alloc(11 * MiB)
  padding.writeUInt32BE(padding.length)
  padding.write('free', 4)
  clip = Buffer.concat([await readFile(join(folder, 'clip.mp4')), padding])
  service = await kinora(hooks)
})
after(async () => {
  for (const end of ends) await end()
})

type Place = Pick<Service, 'database' | 'data'>

const run = (place: Place, args: string[], env: Record<string, string> = {}) =>
  runKinora(args, { KINORA_DATABASE_URL: place.database, KINORA_DATA_DIR: place.data, ...env })

async function succeed(place: Place, args: string[], env?: Record<string, string>) {
  const { code, stdout, stderr } = await run(place, [...args, '--json'], env)
  assert.equal(code, 0, stderr + stdout)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

async function fail(place: Place, args: string[], expected: RegExp, env?: Record<string, string>) {
  const { code, stdout, stderr } = await run(place, args, env)
  assert.equal(code, 1, stdout)
  assert.match(stderr + stdout, expected)
  assert.doesNotMatch(stderr, /\n\s+at /)
}

const newPlace = async (t: { after(end: () => unknown): void }, isEmpty = true): Promise<Place> => ({
  database: await createDatabase(t, { isEmpty }),
  data: await temporaryFolder(t),
})

/** Everything that players load: the paths and contents of all segments of all playlists. */
async function loadAll(url: string, videoId: string): Promise<Map<string, string>> {
  const loaded = new Map<string, string>()
  const load = async (path: string) => {
    const response = await fetch(new URL(path, `${url}/vod/${videoId}/`))
    assert.equal(response.status, 200, path)
    const bytes = Buffer.from(await response.arrayBuffer())
    loaded.set(path.replace(/\?.*$/, ''), bytes.toString('latin1'))
    if (!path.includes('.m3u8')) return
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    for (const [, uri, line] of bytes.toString().matchAll(/URI="([^"]+)"|^([^#\n]+)$/gm))
      await load(`${folder}${uri ?? line}`)
  }
  await load('hls/manifest.m3u8')
  return loaded
}

const hashes = async (place: Place) => {
  const found: Record<string, string> = {}
  for (const path of await listFiles(place))
    if (/\/files\/(videos|live|watermarks)\//.test(path))
      found[path.slice(place.data.length)] = (await readFile(path)).toString('base64')
  return found
}

test('a backup during an upload, an encoding and a broadcast is restored, and all of them continue', async (t) => {
  const destination = join(folder, 'busy')
  const [done, deleted] = [await uploadVideo(service, clip), await uploadVideo(service, clip)]
  await waitForEncoding(service, done)
  await waitForEncoding(service, deleted)
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

  const backup = await succeed(service, ['backup', destination])
  assert.ok(backup.copiedFiles > 10)
  assert.equal((await stat(join(destination, 'files'))).mode & 0o777, 0o700)
  await call(`${service.url}/videos/${deleted}`, { method: 'DELETE' })

  const place = await newPlace(t)
  await succeed(place, ['restore', destination])
  let restored: Awaited<ReturnType<typeof startKinora>> | undefined
  t.after(() => restored?.stop())
  restored = await startKinora(settingsOf(place))
  const target = { ...restored, ...place }
  assert.deepEqual(await videoStatus(target, done), await videoStatus(service, done))
  assert.deepEqual(await loadAll(target.url, done), await loadAll(service.url, done))
  assert.ok((await loadAll(target.url, deleted)).size > 3)
  assert.equal((await media(target.url, deleted, 'mp4/source.mp4')).status, 200)

  assert.equal((await send(target, half, clip.length)).status, 201)
  await waitFor(() => fileExists(sourcePath(place.data, uploading)))
  assert.deepEqual(await readFile(sourcePath(place.data, uploading)), clip)
  await waitForEncoding(target, uploading)
  const finished = await waitForEncoding(target, encoding)
  assert.ok(finished.qualities.every(({ status }) => status === 'encoded'))

  const broadcasts = `${target.url}/live-streams/${stream.liveStreamId}/broadcasts`
  await waitFor(async () => {
    const { body } = await call(broadcasts)
    const [broadcast] = body.data
    return broadcast.state === 'ended' && broadcast.recordings.length > 0
  })
  const missing = await run(place, ['files', 'sweep', '--json'])
  assert.doesNotMatch(missing.stdout, /"missing"/)
})

test('a second backup copies only what is new, and old backups are removed with their files', async () => {
  const destination = join(folder, 'generations')
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  const isIdle = async () =>
    (await query(service.database, `select from pgboss.job where state < 'completed'`)).length === 0
  await waitFor(isIdle)
  await query(service.database, `update broadcasts set state = 'ended', ended_at = now()`)
  const first = await succeed(service, ['backup', destination])
  const second = await succeed(service, ['backup', destination])
  assert.equal(second.files, first.files)
  assert.equal(second.copiedFiles, 0)
  const lost = join(destination, 'files/videos', video)
  await rm(lost, { recursive: true })
  const repaired = await succeed(service, ['backup', destination])
  assert.ok(repaired.copiedFiles > 3)
  await succeed(service, ['backup', 'verify', destination, '--backup', first.backup])

  await call(`${service.url}/videos/${video}`, { method: 'DELETE' })
  await waitFor(isIdle)
  const last = await succeed(service, ['backup', destination, '--keep', '2'])
  assert.ok(await fileExists(lost), 'an older backup refers to it')
  await succeed(service, ['backup', destination, '--keep', '1'])
  assert.equal(
    (await readdir(join(destination, 'files/videos', video), { recursive: true }).catch(() => [])).filter(
      (name) => name.endsWith('.m4s'),
    ).length,
    0,
  )
  const { stdout } = await run(service, ['backup', 'list', destination])
  assert.equal(stdout.trim().split('\n').length, 1)
  assert.ok(last.files < repaired.files)
  const [row] = await query(service.database, 'select * from backups order by started_at desc limit 1')
  assert.deepEqual([row.destination, row.error], [destination, null])
})

test('damaged and missing files are named, and nothing of such a backup is restored', async (t) => {
  const destination = join(folder, 'damaged')
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  await succeed(service, ['backup', destination])
  const below = join(destination, 'files/videos', video)
  const names = (await readdir(below, { recursive: true })).filter((name) => name.endsWith('.m4s'))
  const [flipped, removed] = [names[0]!, names[1]!]
  const bytes = await readFile(join(below, flipped))
  bytes[20]! ^= 1
  await writeFile(join(below, flipped), bytes)
  await rm(join(below, removed))
  const named = new RegExp(
    `damaged +\\S+${flipped}[^]*missing +\\S+${removed}|missing +\\S+${removed}[^]*damaged +\\S+${flipped}`,
  )
  await fail(service, ['backup', 'verify', destination], named)
  const place = await newPlace(t)
  await fail(place, ['restore', destination], named)
  assert.deepEqual(await listFiles(place), [])
  assert.deepEqual(await query(place.database, `select from pg_class where relname = 'all_videos'`), [])

  const [id] = await readdir(join(destination, 'backups'))
  const manifest = join(destination, 'backups', id!, 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replace('"version": "', '"version": "9'))
  await fail(place, ['restore', destination], /damaged: backups\/\w+\/manifest\.json/)
  await writeFile(manifest, text.slice(0, 100))
  await fail(place, ['backup', 'verify', destination], /damaged/)
  await rm(manifest)
  await fail(place, ['restore', destination], /no complete backup/)
})

test('a backup or a restore that is killed at any moment is completed by running it again', async (t) => {
  const destination = join(folder, 'killed')
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  await succeed(service, ['backup', destination])
  const another = await uploadVideo(service, clip)
  await waitForEncoding(service, another)
  const kill = async (place: Place, args: string[], hasBegun: () => Promise<boolean>) => {
    const child = spawn(process.execPath, [kinoraCommand(), ...args], {
      env: { ...process.env, KINORA_DATABASE_URL: place.database, KINORA_DATA_DIR: place.data },
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    await waitFor(async () => (await hasBegun()) || child.exitCode !== null)
    child.kill('SIGKILL')
    await exited
  }
  await kill(service, ['backup', destination], () => fileExists(join(destination, 'files/videos', another)))
  await succeed(service, ['backup', 'verify', destination])
  await succeed(service, ['backup', destination])
  await succeed(service, ['backup', 'verify', destination])

  const place = await newPlace(t)
  const begun = `select from pg_class where relname = 'kinora_restore'`
  await kill(place, ['restore', destination], async () => (await query(place.database, begun)).length > 0)
  if ((await query(place.database, begun)).length > 0) {
    const refused = spawnKinora(settingsOf(place))
    await waitFor(() => refused.process.exitCode !== null)
    assert.match(refused.output(), /The restore of a backup was interrupted: run/)
    await succeed(place, ['restore', destination])
  }
  const restored = await startKinora(settingsOf(place))
  t.after(() => restored.stop())
  assert.deepEqual(await loadAll(restored.url, another), await loadAll(service.url, another))
  const [ours, theirs] = [await hashes(service), await hashes(place)]
  for (const [path, content] of Object.entries(theirs))
    if (path in ours) assert.equal(content, ours[path], path)

  await restored.stop()
  await fail(place, ['restore', destination], /empty installation, and this one has \d+ videos, .*API keys/)
  await fail(service, ['restore', destination], /The service is running/)
})

test('a backup of a newer schema, and destinations that cannot be used, are refused with a sentence', async (t) => {
  const destination = join(folder, 'newer')
  await query(service.database, `insert into kysely_migration values ('9999_future', now())`)
  const { code } = await run(service, ['backup', destination])
  await query(service.database, `delete from kysely_migration where name = '9999_future'`)
  if (code === 0) await fail(await newPlace(t), ['restore', destination], /newer than this version/)
  for (const [name, expected] of [
    [service.data, /is the data folder/],
    [join(service.data, 'files/x'), /is part of what is backed up/],
    ['/proc/nowhere', /no folder/],
    [join(folder, 'clip.mp4'), /is not a folder/],
    ['ftp://host/x', /neither a folder nor/],
    ['s3://backups', /set KINORA_BACKUP_S3_ENDPOINT/],
  ] as const)
    await fail(service, ['backup', name], expected)
  await fail(service, ['backup', 'verify', join(folder, 'nothing')], /There is no folder/)
  await fail(service, ['restore', folder], /no complete backup/)
})

test('a bucket holds backups, and the database alone is restored beside the bucket of the service', async (t) => {
  const store = await startS3Store(t)
  const backupEnv = {
    KINORA_BACKUP_S3_ENDPOINT: store.endpoint,
    KINORA_BACKUP_S3_ACCESS_KEY: store.settings.accessKey,
    KINORA_BACKUP_S3_SECRET_KEY: store.settings.secretKey,
  }
  const url = `s3://${store.settings.bucket}/kinora/one`
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  await succeed(service, ['backup', url], backupEnv)
  const second = await succeed(service, ['backup', url, '--keep', '1'], backupEnv)
  assert.equal(second.copiedFiles, 0)
  await succeed(service, ['backup', 'verify', url], backupEnv)
  // The files are restored to a bucket, too.
  const target = await startS3Store(t)
  const place = await newPlace(t)
  await succeed(place, ['restore', url], { ...backupEnv, ...target.env })
  const restored = await startKinora({ ...settingsOf(place), ...target.env })
  t.after(() => restored.stop())
  assert.deepEqual(await loadAll(restored.url, video), await loadAll(service.url, video))

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
