import {
  chmod,
  chown,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { DatabaseError, isUnreachable } from '../database/errors.ts'
import { clusterOf } from './cluster.ts'
import { copyCluster } from './copy-cluster.ts'
import { errorCode, errorMessage } from './errors.ts'
import type { PostgresConnection, PostgresLog } from './server.ts'

type Options = {
  connection: PostgresConnection
  /** The folder of the embedded Postgres. */
  folder: string
  /** The folder that contains all backups. */
  backups: string
  /** The new version of Kinora. */
  version: string
  /** The version that wrote the database, if it is known. */
  previous: string | undefined
  log: PostgresLog
  signal: AbortSignal
}

/** The end of the name until the backup is complete, and again while it is removed. */
const UNFINISHED = '.unfinished'
/** An older backup is of little use, and each takes as much space as the database. */
const MAX_BACKUPS = 2
/** For the log that is copied too, and for the migrations. */
const SPARE_BYTES = 64 * 1024 ** 2
const PROGRESS_MS = 5_000

/**
 * Copies the cluster of the embedded Postgres before an upgrade. Not a dump: the older version, which may not be able to
 * load a dump, starts with the copy as it is. The caller ensures that only one process at a time does this.
 */
export async function backUpCluster(options: Options): Promise<void> {
  const { backups, version, log } = options
  const name = `before-${version}-${new Date().toISOString().replaceAll(':', '-')}`
  const backup = join(backups, name)
  const unfinished = `${backup}${UNFINISHED}`
  const begun = Date.now()
  try {
    await prepareFolder(options)
    await removeUnfinished(backups)
    const { totalBytes, freeBytes } = await measure(options)
    if (freeBytes < totalBytes + SPARE_BYTES) throw noSpace(options, totalBytes + SPARE_BYTES, freeBytes)
    log.info({ bytes: totalBytes }, `backing up the database before its upgrade to Kinora ${version}`)
    await mkdir(unfinished, { mode: 0o700 })
    await writeFile(join(unfinished, 'README.txt'), instructions(options, backup), { mode: 0o600 })
    await copy(options, unfinished, totalBytes)
    await rename(unfinished, backup)
    await sync(backups)
    await removeOld(backups, name)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true }).catch(() => {})
    options.signal.throwIfAborted()
    throw explain(error, options)
  }
  log.info(
    { backup, tookMs: Date.now() - begun },
    `the database was backed up. README.txt in that folder says how to go back`,
  )
}

async function copy(options: Options, target: string, totalBytes: number): Promise<void> {
  const { folder, log, signal } = options
  const { uid, gid } = await stat(folder)
  const owner = { uid, gid }
  await mkdir(join(target, 'cluster'), { mode: 0o700 })
  for (const path of ['', 'cluster', 'README.txt']) await chown(join(target, path), uid, gid)
  let copiedBytes = 0
  const progress = setInterval(
    () => log.info({ copiedBytes, totalBytes }, 'backing up the database'),
    PROGRESS_MS,
  )
  const client = new pg.Client({ ...options.connection, application_name: 'kinora backup', ssl: false })
  // A query on the connection fails as well.
  client.on('error', () => {})
  try {
    await client.connect()
    const cluster = clusterOf(folder)
    const onCopied = (bytes: number) => {
      copiedBytes += bytes
    }
    await copyCluster({ client, cluster, target: join(target, 'cluster'), owner, signal, onCopied })
  } finally {
    clearInterval(progress)
    await client.end().catch(() => {})
  }
  for (const path of ['README.txt', '']) await sync(join(target, path))
}

/** The folder belongs to the owner of the database folder, even if root makes the backup. */
async function prepareFolder({ folder, backups }: Options): Promise<void> {
  const isNew = await mkdir(backups, { mode: 0o700 }).then(
    () => true,
    (error) => {
      if (errorCode(error) !== 'EEXIST') throw error
      return false
    },
  )
  if (!isNew) return
  const { uid, gid } = await stat(folder)
  await chown(backups, uid, gid)
  // The umask may have removed permissions of the owner.
  await chmod(backups, 0o700)
}

async function removeUnfinished(backups: string): Promise<void> {
  for (const name of await readdir(backups)) {
    if (/^before-.*\.unfinished$/.test(name)) await rm(join(backups, name), { recursive: true, force: true })
  }
}

/** Keeps the newest backup of each version, and of those the newest. After a failed upgrade, each start makes another one. */
async function removeOld(backups: string, latest: string): Promise<void> {
  const pattern = /^before-(.+)-(\d{4}-\d\d-\d\dT[\d.-]+Z)$/
  const found = (await readdir(backups)).flatMap((name) => {
    const [, version, time] = pattern.exec(name) ?? []
    return version && time ? [{ name, version, time }] : []
  })
  found.sort((a, b) => (a.time < b.time ? 1 : -1))
  const isLatestOf = ({ name, version }: (typeof found)[number]) =>
    found.find((each) => each.version === version)?.name === name
  const kept = found.filter(isLatestOf).slice(0, MAX_BACKUPS)
  for (const { name } of found) {
    if (name === latest || kept.some((each) => each.name === name)) continue
    const unfinished = join(backups, `${name}${UNFINISHED}`)
    await rename(join(backups, name), unfinished)
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function measure({ folder, backups }: Options): Promise<{ totalBytes: number; freeBytes: number }> {
  const cluster = clusterOf(folder)
  let totalBytes = 0
  for (const path of await readdir(cluster, { recursive: true })) {
    if (path.startsWith('pg_wal/')) continue
    // Postgres removes files at any time.
    totalBytes += await lstat(join(cluster, path)).then(
      ({ size }) => size,
      () => 0,
    )
  }
  const { bavail, bsize } = await statfs(backups)
  return { totalBytes, freeBytes: bavail * bsize }
}

const notUpgraded = 'The database was not upgraded and is unchanged.'
const turnOff = 'If you have a backup of your own, KINORA_UPGRADE_BACKUP=off upgrades without this one.'

const noSpace = ({ backups }: Options, neededBytes: number, freeBytes: number) =>
  new DatabaseError(
    `The backup of the database before the upgrade needs ${megabytes(neededBytes)} MB in ${backups}, ` +
      `and ${megabytes(freeBytes)} MB are free: free some space and start again. ${turnOff} ${notUpgraded}`,
  )

const megabytes = (bytes: number) => Math.ceil(bytes / 1e6)

function explain(error: unknown, { backups }: Options): Error {
  if (error instanceof DatabaseError) return error
  // The caller tries again if Postgres has stopped. Errors of files have some of the same codes, and a path.
  if (isUnreachable(error) && !('path' in (error as Error))) return error as Error
  const reason =
    errorCode(error) === 'ENOSPC' || errorCode(error) === 'EDQUOT' ? 'the disk is full' : errorMessage(error)
  return new DatabaseError(
    `The database could not be backed up to ${backups} before the upgrade: ${reason}. ${turnOff} ${notUpgraded}`,
  )
}

const instructions = ({ folder, version, previous }: Options, backup: string) =>
  `This is the database of Kinora ${previous ?? '0.1'} before its upgrade to Kinora ${version}.

To go back to the earlier version, and to the state of the database in this backup:

1. Stop Kinora.
2. Move the upgraded database away:
     mv ${folder}/cluster ${folder}/cluster.upgraded
3. Copy the backup to its place:
     cp -a ${backup}/cluster ${folder}/cluster
4. Install the earlier version, and start it${previous === undefined ? sweepAdvice : '.'}

More: docs/upgrades.md
`

/** Later versions notice that their database is older than the files. */
const sweepAdvice = ` with KINORA_SWEEP=report.
   Without this setting, it would remove the files of videos that it does not know.`

/** Waits until the file or folder is on the disk. */
async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}
