import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3'
import { backUp } from '../../server/backups/back-up.ts'
import { openFolderDestination } from '../../server/backups/destination/folder.ts'
import { readManifest } from '../../server/backups/manifest.ts'
import { restore } from '../../server/backups/restore.ts'
import type { Config } from '../../server/config.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import { openDiskFiles } from '../../server/lib/files/disk.ts'
import type { Files } from '../../server/lib/files/files.ts'
import type { Tables } from '../../server/tables.ts'
import {
  addFiles,
  backupSettings,
  fail,
  newPlace,
  type Place,
  placeWithFiles,
  readStore,
  run,
  succeed,
} from '../support/backups.ts'
import {
  fileExists,
  kinoraCommand,
  listFiles,
  query,
  settingsOf,
  spawnKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startS3Store } from '../support/s3-store.ts'

// The files of backups: which of them are copied, removed, verified and restored.

const backups = async (t: TestContext) => join(await temporaryFolder(t), 'backups')

/** Each video has ten files. */
const filesOf = (video: string, size = 2_000) =>
  Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`videos/${video}/hls/240p/${i}.m4s`, size]))

test('a second backup copies only what is new, and old backups are removed with their files', async (t) => {
  const destination = await backups(t)
  const place = await placeWithFiles(t, { ...filesOf('vi1'), ...filesOf('vi2') })
  const first = await succeed(place, ['backup', destination])
  assert.deepEqual([first.files, first.copiedFiles], [20, 20])
  const second = await succeed(place, ['backup', destination])
  assert.deepEqual([second.files, second.copiedFiles], [20, 0])
  const lost = join(destination, 'files/videos/vi1')
  await rm(lost, { recursive: true })
  const repaired = await succeed(place, ['backup', destination])
  assert.equal(repaired.copiedFiles, 10)
  await succeed(place, ['backup', 'verify', destination, '--backup', first.backup])

  await rm(join(place.data, 'files/videos/vi1'), { recursive: true })
  const last = await succeed(place, ['backup', destination, '--keep', '2'])
  assert.equal(last.files, 10)
  assert.ok(await fileExists(join(lost, 'hls/240p/1.m4s')), 'an older backup refers to it')
  await succeed(place, ['backup', destination, '--keep', '1'])
  assert.equal(await fileExists(lost), false)
  assert.ok(await fileExists(join(destination, 'files/videos/vi2/hls/240p/1.m4s')))
  const { stdout } = await run(place, ['backup', 'list', destination])
  assert.equal(stdout.trim().split('\n').length, 1)
  const [row] = await query(place.database, 'select * from backups order by started_at desc limit 1')
  assert.deepEqual([row.destination, row.error], [destination, null])
})

test('damaged and missing files are named, and nothing of such a backup is restored', async (t) => {
  const destination = await backups(t)
  await succeed(await placeWithFiles(t, filesOf('vi1')), ['backup', destination])
  const below = join(destination, 'files/videos/vi1/hls/240p')
  const bytes = await readFile(join(below, '3.m4s'))
  bytes[20]! ^= 1
  await writeFile(join(below, '3.m4s'), bytes)
  await rm(join(below, '7.m4s'))
  const named = /(damaged +\S+\/3|missing +\S+\/7)\.m4s\n(damaged +\S+\/3|missing +\S+\/7)\.m4s\n/
  const place = await newPlace(t)
  await fail(place, ['backup', 'verify', destination], named)
  await fail(place, ['restore', destination], named)

  const [id] = await readdir(join(destination, 'backups'))
  const manifest = join(destination, 'backups', id!, 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replace('"version": "', '"version": "9'))
  await fail(place, ['restore', destination], /damaged: backups\/\w+\/manifest\.json/)
  await writeFile(manifest, text.slice(0, 100))
  await fail(place, ['backup', 'verify', destination], /damaged/)
  await rm(manifest)
  await fail(place, ['restore', destination], /no complete backup/)
  await assertEmpty(place)
})

async function assertEmpty(place: Place): Promise<void> {
  assert.deepEqual(await listFiles(place), [])
  assert.deepEqual(await query(place.database, `select from pg_class where relname = 'all_videos'`), [])
}

test('a backup or a restore that is killed at any moment is completed by running it again', async (t) => {
  const destination = await backups(t)
  const service = await placeWithFiles(t, filesOf('vi1'))
  await succeed(service, ['backup', destination])
  for (let i = 2; i < 30; i++) await addFiles(service, filesOf(`vi${i}`, 20_000))
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
  await kill(service, ['backup', destination], () => fileExists(join(destination, 'files/videos/vi10')))
  await succeed(service, ['backup', 'verify', destination])
  const { files } = await succeed(service, ['backup', destination])
  assert.equal(files, 290)
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
  assert.deepEqual(await readStore(place), await readStore(service))
  await fail(place, ['restore', destination], /empty installation, and this one has .*files in "videos"/)
})

test('a backup of a newer schema is refused before anything is written', async (t) => {
  const destination = await backups(t)
  const { backup } = await succeed(await placeWithFiles(t, filesOf('vi1')), ['backup', destination])
  const newer = await backups(t)
  await cp(destination, newer, { recursive: true })
  const path = join(newer, 'backups', backup, 'manifest.json')
  const { checksum: _, ...manifest } = JSON.parse(await readFile(path, 'utf8'))
  manifest.migrations.push('9999_future')
  const checksum = hash('sha256', JSON.stringify(manifest), 'hex')
  await writeFile(path, JSON.stringify({ ...manifest, checksum }))
  const place = await newPlace(t)
  await fail(place, ['restore', newer], /is of Kinora \S+, which is newer than this version: install version/)
  await assertEmpty(place)
  await succeed(place, ['restore', destination])
})

test('a clock that was wrong does not change the order of backups', async (t) => {
  const destination = await backups(t)
  const place = await placeWithFiles(t, filesOf('vi1'))
  await succeed(place, ['backup', destination])
  const below = join(destination, 'backups')
  const [id] = await readdir(below)
  const future = '20991231T235959999Z'
  const manifest = join(below, future, 'manifest.json')
  await rename(join(below, id!), dirname(manifest))
  const text = await readFile(manifest, 'utf8')
  const { checksum: _, ...changed } = JSON.parse(text.replaceAll(id!, future))
  const checksum = hash('sha256', JSON.stringify(changed), 'hex')
  await writeFile(manifest, JSON.stringify({ ...changed, checksum }))
  const { backup } = await succeed(place, ['backup', destination, '--keep', '1'])
  assert.equal(backup, '21000101T000000000Z')
  assert.deepEqual(await readdir(below), [backup])
})

test('a damaged backup does not hide the others, nor prevent the next one', async (t) => {
  const destination = await backups(t)
  const place = await placeWithFiles(t, filesOf('vi1'))
  const ids: string[] = []
  for (let i = 0; i < 2; i++) ids.push((await succeed(place, ['backup', destination])).backup)
  await writeFile(join(destination, 'backups', ids[0]!, 'manifest.json'), '{}')
  const { code, stdout, stderr } = await run(place, ['backup', 'list', destination])
  assert.match(stdout, new RegExp(`^${ids[0]}  damaged\n${ids[1]}  Kinora .*\n$`))
  assert.match(stderr, /has damaged backups/)
  assert.equal(code, 1)
  for (const damage of [(path: string) => writeFile(path, '{'), rm]) {
    await damage(join(destination, 'kinora-backup.json'))
    await succeed(place, ['backup', destination])
  }
  const other = await placeWithFiles(t, {})
  await fail(other, ['backup', destination], /the backups of another service/)
})

test('a database that ends idle transactions is backed up and restored', async (t) => {
  const destination = await backups(t)
  const [place, target] = [await placeWithFiles(t, filesOf('vi1')), await newPlace(t)]
  for (const { database } of [place, target]) {
    const name = new URL(database).pathname.slice(1)
    await query(database, `alter database ${name} set idle_in_transaction_session_timeout = 1`)
  }
  await succeed(place, ['backup', destination])
  await succeed(target, ['restore', destination])
})

test('a backup fails if the service could remove files meanwhile', async (t) => {
  const place = await placeWithFiles(t, filesOf('vi1'))
  const pool = openPool(place.database, () => {})
  t.after(() => pool.end())
  const files = await openDiskFiles(join(place.data, 'files'))
  const destination = await openFolderDestination({ dataDir: place.data }, await backups(t), { isNew: true })
  const config = { dataDir: place.data } as Config
  const endHold = `select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
      and database = (select oid from pg_database where datname = current_database())
      and (classid::bigint << 32 | objid::bigint) = hashtextextended('kinora remove files', 0)`
  const interrupted: Files = {
    ...files,
    async listNames(...args) {
      await query(place.database, endHold)
      return files.listNames(...args)
    },
  }
  const deps = { config, db: openDb<Tables>(pool), pool, files: interrupted, now: () => new Date() }
  await assert.rejects(
    backUp(deps, { destination, includesFiles: true, keep: undefined }),
    /The connection to the database was lost/,
  )
})

test('a file store that is not that of the database is not backed up, and earlier backups are kept', async (t) => {
  const destination = await backups(t)
  const place = await placeWithFiles(t, filesOf('vi1'))
  await query(
    place.database,
    `insert into all_videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
       source_type, created_at, updated_at, tag_terms, metadata_terms)
     values ('vi1', 'production', '', '', true, false, true, '{}', '[]', 'upload', now(), now(), '{}', '{}')`,
  )
  await query(
    place.database,
    `insert into sources (video_id, form, handle, state, created_at, updated_at)
     values ('vi1', 'whole', gen_random_uuid(), 'stored', now(), now())`,
  )
  const { backup } = await succeed(place, ['backup', destination])
  const store = join(place.data, 'files')
  await rename(store, `${store}.elsewhere`)
  await mkdir(store)
  await fail(place, ['backup', destination, '--keep', '1'], /has no videos, .* mounted/)
  await writeFile(join(store, 'kinora-store-id'), 'other')
  await fail(place, ['backup', destination, '--keep', '1'], /belongs to another database/)
  assert.equal((await succeed(place, ['backup', 'verify', destination])).backup, backup)
})

test('what does not belong to a backup is neither changed nor removed', async (t) => {
  const place = await placeWithFiles(t, filesOf('vi1'))
  const used = await temporaryFolder(t)
  const page = join(used, 'files/index.html')
  await mkdir(dirname(page), { mode: 0o755 })
  await writeFile(page, '')
  await fail(place, ['backup', used], /has a folder "files" that is not part of a backup/)
  assert.equal((await stat(dirname(page))).mode & 0o777, 0o755)

  const destination = await backups(t)
  await succeed(place, ['backup', destination])
  const kept = [
    join(destination, 'backups/notes/read.me'),
    join(destination, 'backups/.DS_Store'),
    join(destination, 'files/videos/.DS_Store'),
    join(await temporaryFolder(t), 'elsewhere'),
  ]
  for (const path of kept) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, '')
  }
  await symlink(dirname(kept.at(-1)!), join(destination, 'files/videos/vi0'))
  await succeed(place, ['backup', destination, '--keep', '1'])
  for (const path of kept) assert.ok(await fileExists(path), path)
})

test('a backup cannot name files outside of its folder', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'secret'), '')
  const root = join(folder, 'backups')
  const destination = await openFolderDestination({ dataDir: join(folder, 'data') }, root, { isNew: true })
  await assert.rejects(destination.read('files/../../secret'), /is not a path/)
})

test('foreign files in the file store are left out', async (t) => {
  const destination = await backups(t)
  const place = await placeWithFiles(t, {
    'videos/vi1/source': 100,
    'videos/vi1/.DS_Store': 100,
    'videos/vi1/hls/my notes.txt': 100,
    'videos/@eaDir/thumb.jpg': 100,
  })
  assert.equal((await succeed(place, ['backup', destination])).files, 1)
  await succeed(place, ['backup', 'verify', destination])
})

test('a database with the tables of another program is not used for a restore', async (t) => {
  const destination = await backups(t)
  await succeed(await placeWithFiles(t, filesOf('vi1')), ['backup', destination])
  const place = await newPlace(t)
  await query(place.database, `create table users (name text); insert into users values ('Ada')`)
  await fail(place, ['restore', destination], /empty installation, and this one has a table users:/)
  assert.equal((await query(place.database, 'select from users')).length, 1)
})

test('what appears while the backup is verified is not overwritten', async (t) => {
  const root = await backups(t)
  await succeed(await placeWithFiles(t, filesOf('vi1')), ['backup', root])
  const place = await placeWithFiles(t, { 'videos/vi2/source': 10 })
  const destination = await openFolderDestination({ dataDir: place.data }, root, { isNew: false })
  const pool = openPool(place.database, () => {}, { name: 'kinora restore' })
  t.after(() => pool.end())
  const target = {
    db: openDb<Tables>(pool),
    pool,
    files: await openDiskFiles(join(place.data, 'files')),
    migrations: [],
    migrateTo: async () => {},
    prepareQueue: async () => {},
  }
  await assert.rejects(restore(target, destination, await readManifest(destination)), /files in "videos"/)
})

test('a bucket is only written to by a backup, which also removes what a killed one has left', async (t) => {
  const store = await startS3Store(t)
  const env = backupSettings(store)
  const { endpoint, region, accessKey: accessKeyId, secretKey: secretAccessKey, bucket } = store.settings
  const credentials = { accessKeyId, secretAccessKey }
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials })
  t.after(() => client.destroy())
  const key = 'kinora/files/videos/vi1/source'
  await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }))
  store.backdateUploads(2 * 3_600_000)
  const url = `s3://${bucket}/kinora`
  await succeed(await placeWithFiles(t, filesOf('vi1')), ['backup', url], env)
  assert.deepEqual(await store.openUploads(), [])

  const at = store.requests.length
  await succeed(await newPlace(t), ['restore', url], env)
  await run(await newPlace(t), ['backup', 'list', url], env)
  assert.deepEqual(new Set(store.requests.slice(at).map(({ method }) => method)), new Set(['GET']))
  await fail(await newPlace(t), ['restore', 's3://nothing'], /s3:\/\/nothing cannot be used: .*bucket/, env)
})

test('destinations that cannot be used are refused with a sentence', async (t) => {
  const folder = await temporaryFolder(t)
  const place = await placeWithFiles(t, filesOf('vi1'))
  await writeFile(join(folder, 'file'), '')
  for (const [name, expected] of [
    [place.data, /is the data folder/],
    [join(place.data, 'files/x'), /is part of what is backed up/],
    ['/proc/nowhere', /no folder/],
    [join(folder, 'file'), /is not a folder/],
    ['ftp://host/x', /neither a folder nor/],
    ['s3://backups', /set KINORA_BACKUP_S3_ENDPOINT/],
  ] as const)
    await fail(place, ['backup', name], expected)
  await fail(place, ['backup', 'verify', join(folder, 'nothing')], /There is no folder/)
  await fail(place, ['restore', folder], /no complete backup/)
})
