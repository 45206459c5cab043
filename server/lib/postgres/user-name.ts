import { access, readFile, rename, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { run } from '../run.ts'
import { readUsers } from '../system-user.ts'
import { missingUser } from './errors.ts'

/**
 * Postgres asks the C library for the names of its own user and of users who connect. A container may run as a user who
 * has no name: `docker run --user 1234`, OpenShift. Then nss_wrapper answers instead of the C library.
 */
const WRAPPER = 'libnss_wrapper.so'
const LIBRARY_FOLDERS = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib']

/** pg_ident.conf identifies system users by name. */
export async function nameOf(uid: number): Promise<string> {
  return (await findName(uid)) ?? `uid-${uid}`
}

async function findName(uid: number): Promise<string | undefined> {
  const known = (await readUsers()).find((user) => user.uid === uid)
  if (known) return known.name
  // The user may come from a directory service, which only the C library can query.
  try {
    if (uid === process.geteuid!()) return userInfo().username
    return (await run('id', ['-nu', String(uid)])).stdout.trim()
  } catch {
    return undefined
  }
}

/** The variables with which Postgres can look up the name of this user. Writes a file to the folder if it needs one. */
export async function provideName(uid: number, folder: string): Promise<NodeJS.ProcessEnv> {
  if ((await findName(uid)) !== undefined) return {}
  const wrapper = await findWrapper()
  if (!wrapper) throw missingUser(uid)
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const path = join(folder, 'passwd')
  const temporary = `${path}.${process.pid}`
  // Renamed when it is complete, because a running server reads it.
  await writeFile(temporary, `${users}${await nameOf(uid)}:x:${uid}:0::/nonexistent:/usr/sbin/nologin\n`)
  await rename(temporary, path)
  return { LD_PRELOAD: wrapper, NSS_WRAPPER_PASSWD: path, NSS_WRAPPER_GROUP: '/etc/group' }
}

async function findWrapper(): Promise<string | undefined> {
  const folders = [...(process.env.LD_LIBRARY_PATH ?? '').split(':').filter(Boolean), ...LIBRARY_FOLDERS]
  for (const folder of folders) {
    const path = join(folder, WRAPPER)
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}
