import { access, chmod, chown, constants, mkdtemp, readdir, readFile, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolders } from './make-folders.ts'
import { ensureSystemUser, nobody, type SystemUser } from './system-user.ts'

type Log = { warn(details: object, message: string): void }

/** Everything that Kinora creates in its data folder, and what the system creates on a separate disk. */
const ownEntries = ['files', 'work', 'postgres', 'services', 'cache', 'backups', 'lost+found']

/** The keys for commands on this machine, and what a start that was killed leaves behind. */
const ownNames = /^(local-keys\.json|\.owner-)/

/** The group can read: it contains the user that runs ffmpeg for root, and nginx. */
const FOLDER_MODE = 0o750
const UMASK = 0o027

/**
 * Closes the data folder to other users of the system. If we are root, returns the user that runs media programs, named
 * `name`, whose group owns all files. Undefined if they run as the current user.
 */
export async function prepareDataFolder(
  dataDir: string,
  name: string,
  log: Log,
): Promise<SystemUser | undefined> {
  const user = process.geteuid!() === 0 ? await chooseUser(dataDir, name, log) : undefined
  // Files that root creates from now on belong to that group. An ordinary user may have a stricter umask.
  if (user) process.setegid!(user.gid)
  process.umask(user ? UMASK : process.umask() | UMASK)
  await makeFolders(dataDir)
  if (await isOurs(dataDir)) await close(dataDir, user)
  for (const folder of [join(dataDir, 'files'), join(dataDir, 'work')]) {
    await makeFolders(folder)
    await close(folder, user)
    await access(folder, constants.W_OK | constants.X_OK)
  }
  return user
}

async function chooseUser(dataDir: string, name: string, log: Log): Promise<SystemUser | undefined> {
  const reason = (await missingCapability()) ?? (await missingOwnership(dataDir))
  if (reason) {
    log.warn({ dataDir, reason }, 'ffmpeg runs as root: a malicious media file could take over this machine')
    return undefined
  }
  // If the folder belongs to an ordinary user, that user keeps it.
  const { uid, gid } = await stat(dataDir).catch(() => ({ uid: 0, gid: 0 }))
  if (uid !== 0) return { uid, gid }
  const user = await ensureSystemUser(name)
  if (!user) log.warn({ dataDir }, `ffmpeg runs as the user nobody, because no user ${name} could be created`)
  return user ?? nobody
}

const neededCapabilities = { CAP_CHOWN: 0n, CAP_KILL: 5n, CAP_SETGID: 6n, CAP_SETUID: 7n }

/** The root of a container may lack the capabilities to run programs as another user. */
async function missingCapability(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const held = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  const missing = Object.entries(neededCapabilities).find(([, bit]) => !((held >> bit) & 1n))
  return missing && `root lacks ${missing[0]}`
}

/** On a network share, all files may belong to one user. */
async function missingOwnership(dataDir: string): Promise<string | undefined> {
  await makeFolders(dataDir)
  const trial = await mkdtemp(join(dataDir, '.owner-'))
  try {
    await chown(trial, nobody.uid, nobody.gid)
    return undefined
  } catch (error) {
    return `files in the data folder cannot have different owners (${(error as Error).message})`
  } finally {
    await rmdir(trial)
  }
}

/** A folder with other content, such as /srv, is left unchanged. Only our folders in it are closed. */
const isOurs = async (folder: string) =>
  (await stat(folder)).uid === process.geteuid!() &&
  (await readdir(folder)).every((name) => ownEntries.includes(name) || ownNames.test(name))

async function close(folder: string, user: SystemUser | undefined): Promise<void> {
  const { uid, gid, mode } = await stat(folder)
  if (uid !== process.geteuid!()) return
  if (user && gid !== user.gid) await chown(folder, uid, user.gid)
  const closed = user ? FOLDER_MODE : mode & FOLDER_MODE
  if ((mode & 0o7777) !== closed) await chmod(folder, closed)
}

/** A sentence that says what to do. The folder is often a volume of a container that belongs to root. */
export async function explainDataFolderError(error: unknown, dataDir: string): Promise<string> {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EROFS')
    return `The data folder ${dataDir} is on a read-only file system: mount it writable, or choose another folder with KINORA_DATA_DIR.`
  if (code !== 'EACCES' && code !== 'EPERM') return `The data folder ${dataDir} cannot be used: ${message}.`
  const [uid, gid] = [process.geteuid!(), process.getegid!()]
  const owner = await stat(dataDir).catch(() => undefined)
  const whose = owner && owner.uid !== uid ? `, which belongs to uid ${owner.uid}` : ''
  return (
    `This user (uid ${uid}) cannot write to the data folder ${dataDir}${whose}: ` +
    `run chown -R ${uid}:${gid} ${dataDir} as root, or choose another folder with KINORA_DATA_DIR. ` +
    'In a container, give the volume or the folder that is mounted there to this user.'
  )
}
