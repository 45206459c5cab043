import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openFolderDestination } from '../../server/backups/destination/folder.ts'
import { BackupError } from '../../server/backups/errors.ts'
import { addFiles, fail, newPlace, placeWithFiles, readStore, succeed } from '../support/backups.ts'
import { MiB, query, temporaryFolder } from '../support/harness.ts'

/** Mounts a disk of this size. Undefined and a skipped test if that is not possible. */
async function mountDisk(t: TestContext, size: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk') as undefined
  const folder = await temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'kinora-test', folder], { stdio: 'pipe' })
  } catch (error) {
    return t.skip(`cannot mount a small disk: ${(error as Error).message}`) as undefined
  }
  t.after(() => execFileSync('umount', ['--lazy', folder]))
  return folder
}

const remount = (folder: string, options: string) =>
  execFileSync('mount', ['-o', `remount,${options}`, folder], { stdio: 'pipe' })

test('a backup to a full or read-only disk fails, keeps earlier backups, and continues later', async (t) => {
  const disk = await mountDisk(t, '8m')
  if (!disk) return
  const destination = join(disk, 'backups')
  const place = await placeWithFiles(t, { 'videos/vi1/source': MiB })
  const first = await succeed(place, ['backup', destination])
  await addFiles(place, { 'videos/vi2/hls/240p/0.m4s': MiB, 'videos/vi3/source': 4 * MiB })
  await writeFile(join(disk, 'filler'), Buffer.alloc(4 * MiB))
  await fail(place, ['backup', destination], /The disk of .* is full: nothing of the earlier backups is lost/)
  const [row] = await query(place.database, 'select error from backups order by started_at desc limit 1')
  assert.match(row.error, /is full/)
  assert.equal((await succeed(place, ['backup', 'verify', destination])).backup, first.backup)

  await rm(join(disk, 'filler'))
  remount(disk, 'ro')
  await fail(place, ['backup', destination], /is on a read-only file system/)
  remount(disk, 'rw')
  const next = await succeed(place, ['backup', destination])
  assert.deepEqual(
    [next.files, next.copiedFiles],
    [3, 1],
    'the smaller file was copied before the disk was full',
  )
  await succeed(place, ['backup', 'verify', destination])
})

test('a data folder that is full ends a backup with a sentence', async (t) => {
  const disk = await mountDisk(t, '2m')
  if (!disk) return
  const place = { ...(await placeWithFiles(t, {})), data: disk }
  const keys = Array.from({ length: 200 }, (_, i) => `videos/vi1/hls/240p/${i}.m4s`)
  await addFiles(place, Object.fromEntries(keys.map((key) => [key, 10])))
  const { bavail, bsize } = await statfs(disk)
  // Space for a page of each list, which are longer.
  await writeFile(join(disk, 'filler'), Buffer.alloc((bavail - 4) * bsize))
  const destination = join(await temporaryFolder(t), 'backups')
  await fail(place, ['backup', destination], /The list of files could not be written to .*ENOSPC/)
  const [row] = await query(place.database, 'select error from backups')
  assert.match(row.error, /ENOSPC/)
})

test('a restore to a full disk fails, and is completed once there is space', async (t) => {
  const disk = await mountDisk(t, '3m')
  if (!disk) return
  const destination = join(await temporaryFolder(t), 'backups')
  const service = await placeWithFiles(t, { 'videos/vi1/source': MiB, 'videos/vi2/source': 4 * MiB })
  await succeed(service, ['backup', destination])
  const place = { ...(await newPlace(t)), data: disk }
  await fail(place, ['restore', destination], /file store is full/)
  assert.deepEqual(await query(place.database, `select from pg_class where relname = 'all_videos'`), [])
  remount(disk, 'size=16m')
  await succeed(place, ['restore', destination])
  assert.deepEqual(await readStore(place), await readStore(service))
})

test('a destination without permission is refused with a sentence', async (t) => {
  const destination = join(await temporaryFolder(t), 'backups')
  const config = { dataDir: await temporaryFolder(t) }
  await mkdir(destination, { mode: 0o500 })
  // Root is allowed to write everywhere.
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(65534)
  try {
    const open = openFolderDestination(config, destination, { isNew: true })
    await assert.rejects(open, new RegExp(`^Error: This user is not allowed to use ${destination}: .*EACCES`))
    await assert.rejects(open, BackupError)
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})
