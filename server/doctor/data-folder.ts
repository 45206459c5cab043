import { randomBytes } from 'node:crypto'
import { access, chown, constants, mkdir, open, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Disk, DiskSpace, type Reserve } from '../lib/disk-space.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import { newOwnedName } from '../lib/owner.ts'
import { type Check, type Finding, failed, ok, warning } from './check.ts'

const reasonOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error)

/** Rejects if that cannot be seen. */
const exists = (path: string) =>
  stat(path).then(
    () => true,
    (error) => {
      if (['ENOENT', 'ENOTDIR'].includes(reasonOf(error))) return false
      throw error
    },
  )

const permissionAdvice =
  'If Kinora runs as another user, run this command as that user. Otherwise give this user write permission, for example with chown.'

const adviceOf: Record<string, string> = {
  EACCES: permissionAdvice,
  EPERM: permissionAdvice,
  EROFS:
    'It is on a read-only file system: mount it writable, or choose another folder with KINORA_DATA_DIR.',
}

export const explainAccess = (folder: string, error: unknown): Finding =>
  failed(
    `${folder} cannot be written (${reasonOf(error)}).`,
    adviceOf[reasonOf(error)] ?? 'Check the folder, or choose another one with KINORA_DATA_DIR.',
  )

const { R_OK, W_OK, X_OK } = constants

/** Undefined if the folder can be used. */
async function findProblem(folder: string, mode = R_OK | W_OK | X_OK): Promise<Finding | undefined> {
  // A file cannot be entered either, but permissions are not the reason.
  if (!(await stat(folder)).isDirectory())
    return failed(`${folder} is a file, not a folder.`, 'Correct KINORA_DATA_DIR, or remove the file.')
  return access(folder, mode).then(
    () => undefined,
    (error) => explainAccess(folder, error),
  )
}

export const dataFolderCheck: Check = {
  name: 'data folder',
  ifStuck: 'Check the disk or network share of KINORA_DATA_DIR.',
  async run({ config: { dataDir } }) {
    try {
      if (!(await exists(dataDir))) return await judgeParent(dataDir)
    } catch (error) {
      return explainAccess(dataDir, error)
    }
    for (const name of ['.', 'files', 'work']) {
      const folder = join(dataDir, name)
      if (name !== '.' && !(await exists(folder))) continue
      const problem = await findProblem(folder)
      if (problem) return problem
    }
    const { mode, uid } = await stat(dataDir)
    const owner = `owner uid ${uid}, mode ${(mode & 0o777).toString(8)}`
    if (mode & 0o002)
      return warning(
        `${dataDir} can be changed by every user of this machine (${owner}).`,
        `Run chmod o-w ${dataDir}.`,
      )
    return ok(`${dataDir} is writable (${owner}).`)
  },
}

/** The first start creates the folder. */
async function judgeParent(dataDir: string): Promise<Finding> {
  let parent = dirname(dataDir)
  while (!(await exists(parent)) && parent !== dirname(parent)) parent = dirname(parent)
  const problem = await findProblem(parent, W_OK | X_OK)
  if (!problem) return ok(`${dataDir} does not exist yet. The first start creates it.`)
  return { ...problem, message: `${dataDir} cannot be created: ${problem.message}` }
}

const silent = { info() {}, warn() {} }

export const spaceCheck: Check = {
  name: 'disk space',
  ifStuck: 'Check the disk or network share of KINORA_DATA_DIR.',
  async run({ config: { dataDir, diskReserve: reserve } }) {
    if (!(await exists(dataDir))) return ok('The data folder does not exist yet.')
    return Promise.all((await readDisks(dataDir, reserve)).map(judgeSpace))
  },
}

async function readDisks(dataDir: string, reserve: Reserve | undefined): Promise<readonly Disk[]> {
  const space = await DiskSpace.open({ dataDir, reserve, log: silent })
  await space.close()
  return space.disks
}

const spaceAdvice =
  'Delete videos permanently ("kinora storage" shows the largest, and how much deleted videos take), set KINORA_SOURCE_DAYS, or enlarge the disk.'

async function judgeSpace(disk: Disk): Promise<Finding> {
  const { folder, freeBytes, totalBytes, reserveBytes } = disk
  const free = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free in ${folder}`
  const reserve = `the reserve is ${formatBytes(reserveBytes)}`
  if (freeBytes < reserveBytes)
    return failed(`${free}, but ${reserve}: uploads, recordings and encodings pause.`, spaceAdvice)
  const { files, ffree } = await statfs(folder)
  // Some file systems have no fixed number of inodes and state 0.
  if (files > 0 && ffree < files / 100)
    return failed(
      `Only ${ffree} inodes are free in ${folder}, so files can hardly be created.`,
      'Delete small files, or use a file system with more inodes.',
    )
  if (freeBytes < 2 * reserveBytes)
    return warning(`${free}, and ${reserve}: below it, uploads, recordings and encodings pause.`, spaceAdvice)
  return ok(`${free}, ${reserve}.`)
}

const probeBytes = 8 * 1024 ** 2
/** Clearly too slow: one 1080p upload and its encoding need more. A hard disk reaches a hundred times as much. */
const minBytesPerSecond = 4e6
/** Every acknowledged chunk and transaction waits for one. A hard disk needs 10 to 20 ms. */
const maxSyncMs = 250

export const diskSpeedCheck: Check = {
  name: 'disk speed',
  ifStuck: 'The disk of KINORA_DATA_DIR does not finish a write of 8 MB: check the disk, or use another one.',
  async run({ config: { dataDir, diskReserve } }, signal) {
    const work = join(dataDir, 'work')
    try {
      if (!(await exists(work))) return ok('Not measured: the data folder does not exist yet.')
      if (await findProblem(work)) throw new Error('the folder cannot be used')
    } catch {
      return ok('Not measured: see the result for the data folder.')
    }
    const disks = await readDisks(dataDir, diskReserve)
    // The database needs the reserve.
    if (disks.some(({ freeBytes, reserveBytes }) => freeBytes < reserveBytes + 2 * probeBytes))
      return ok('Not measured: the disk is almost full.')
    const { bytesPerSecond, syncMs } = await measureDisk(work, signal)
    return judgeDisk(bytesPerSecond, syncMs)
  },
}

export function judgeDisk(bytesPerSecond: number, syncMs: number): Finding {
  const text = `${formatBytes(bytesPerSecond)}/s written, ${Math.max(1, Math.round(syncMs))} ms for a small durable write`
  if (bytesPerSecond >= minBytesPerSecond && syncMs <= maxSyncMs) return ok(`${text}.`)
  return warning(
    `${text}: too slow for uploads and the database.`,
    'If nothing else uses the disk now, put KINORA_DATA_DIR on a local disk or an SSD.',
  )
}

/** The folder has the name of a work folder: if this process is killed, the service removes it. */
async function measureDisk(work: string, signal: AbortSignal) {
  const folder = join(work, newOwnedName())
  await mkdir(folder)
  try {
    // Root may examine the folder of another user, who must be able to remove it.
    const { uid, gid } = await stat(work)
    if (process.geteuid?.() === 0) await chown(folder, uid, gid)
    await using file = await open(join(folder, 'probe'), 'w')
    // Random bytes, because some disks compress.
    const block = randomBytes(1024 ** 2)
    const begun = performance.now()
    for (let written = 0; written < probeBytes; written += block.length) {
      signal.throwIfAborted()
      await file.write(block)
    }
    await file.sync()
    const bytesPerSecond = (1_000 * probeBytes) / (performance.now() - begun)
    const syncTimes: number[] = []
    for (let i = 0; i < 5 && !signal.aborted; i++) {
      const started = performance.now()
      await file.write(block, 0, 4096)
      await file.sync()
      syncTimes.push(performance.now() - started)
    }
    return { bytesPerSecond, syncMs: Math.min(...syncTimes) }
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}
