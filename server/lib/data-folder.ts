import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureSystemUser, nobody, type SystemUser } from './system-user.ts'

type Log = { warn(details: object, message: string): void }

/** All that Kinora puts into its data folder, and what the system may have put into a disk of its own. */
const ownEntries = ['files', 'work', 'postgres', 'cache', 'lost+found']

/** Readable for the group: for the user that reads media for root, and for nginx. */
const FOLDER_MODE = 0o750
const UMASK = 0o027

/**
 * Closes the data folder to other users of the system, and says who runs programs on media when we are root: the user
 * `name`, to whose group all files belong. Undefined when we run them ourselves.
 */
export async function prepareDataFolder(
  dataDir: string,
  name: string,
  log: Log,
): Promise<SystemUser | undefined> {
  const user = process.geteuid!() === 0 ? await chooseUser(dataDir, name, log) : undefined
  // Whatever root creates from now on belongs to that group; an ordinary user may have chosen to be stricter.
  if (user) process.setegid!(user.gid)
  process.umask(user ? UMASK : process.umask() | UMASK)
  await mkdir(dataDir, { recursive: true })
  if (await isOurs(dataDir)) await close(dataDir, user)
  for (const folder of [join(dataDir, 'files'), join(dataDir, 'work')]) {
    await mkdir(folder, { recursive: true })
    await close(folder, user)
  }
  return user
}

async function chooseUser(dataDir: string, name: string, log: Log): Promise<SystemUser | undefined> {
  const reason = (await missingCapability()) ?? (await refusesOwners(dataDir))
  if (reason) {
    log.warn({ dataDir, reason }, 'ffmpeg runs as root: a broken media file could take over this machine')
    return undefined
  }
  // A root that opens an ordinary user's folder leaves it to that user.
  const { uid, gid } = await stat(dataDir).catch(() => ({ uid: 0, gid: 0 }))
  if (uid !== 0) return { uid, gid }
  const user = await ensureSystemUser(name)
  if (!user) log.warn({ dataDir }, `ffmpeg runs as the user nobody, because no user ${name} could be created`)
  return user ?? nobody
}

const needed = { CAP_CHOWN: 0n, CAP_KILL: 5n, CAP_SETGID: 6n, CAP_SETUID: 7n }

/** A container's root may lack what it takes to run programs as another user. */
async function missingCapability(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const held = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  const missing = Object.entries(needed).find(([, bit]) => !((held >> bit) & 1n))
  return missing && `this root lacks ${missing[0]}`
}

/** A network share may take all files for those of one user. */
async function refusesOwners(dataDir: string): Promise<string | undefined> {
  await mkdir(dataDir, { recursive: true })
  const trial = await mkdtemp(join(dataDir, '.owner-'))
  try {
    await chown(trial, nobody.uid, nobody.gid)
    return undefined
  } catch (error) {
    return `the data folder does not take owners of files (${(error as Error).message})`
  } finally {
    await rmdir(trial)
  }
}

/** A folder that also holds other things, such as /srv, is left as it is: only what we make in it is closed. */
const isOurs = async (folder: string) =>
  (await stat(folder)).uid === process.geteuid!() &&
  (await readdir(folder)).every((name) => ownEntries.includes(name) || name.startsWith('.owner-'))

async function close(folder: string, user: SystemUser | undefined): Promise<void> {
  const { uid, gid, mode } = await stat(folder)
  if (uid !== process.geteuid!()) return
  if (user && gid !== user.gid) await chown(folder, uid, user.gid)
  const closed = user ? FOLDER_MODE : mode & FOLDER_MODE
  if ((mode & 0o7777) !== closed) await chmod(folder, closed)
}
