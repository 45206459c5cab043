import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { childEnvironment } from './environment.ts'
import { RunError, run } from './run.ts'

export type SystemUser = { uid: number; gid: number }

/** A user that exists on every system. Other programs use it too. */
export const nobody: SystemUser = { uid: 65534, gid: 65534 }

/** Another process may be adding users at the same time, even the same one. */
const ATTEMPTS = 5
const RETRY_MS = 200

/**
 * Finds or creates the system user with this name. Undefined if it cannot be created: in an image without useradd, or with
 * a read-only /etc. Requires root.
 */
export async function ensureSystemUser(name: string): Promise<SystemUser | undefined> {
  for (let attempt = 1; ; attempt++) {
    const found = await findUser(name)
    if (found || attempt > ATTEMPTS) return found
    try {
      await addUser(name)
    } catch (error) {
      if (!(error instanceof RunError) || error.exitCode === null) return undefined
      await delay(RETRY_MS)
    }
  }
}

async function findUser(name: string): Promise<SystemUser | undefined> {
  const entry = (await readUsers()).find((user) => user.name === name)
  return entry && { uid: entry.uid, gid: entry.gid }
}

/** The users in /etc/passwd, where useradd adds them. */
export async function readUsers(): Promise<(SystemUser & { name: string })[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

async function addUser(name: string): Promise<void> {
  const env = childEnvironment()
  await run(
    'useradd',
    [
      ...['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'],
      ...['--shell', '/usr/sbin/nologin', name],
    ],
    // Not every root has these folders in its PATH.
    { env: { ...env, PATH: `${env.PATH ?? ''}:/usr/sbin:/sbin` } },
  )
}
