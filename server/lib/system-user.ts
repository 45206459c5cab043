import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { childEnvironment } from './environment.ts'
import { RunError, run } from './run.ts'

export type SystemUser = { uid: number; gid: number }

/** Every system has it, and other programs run as it too. */
export const nobody: SystemUser = { uid: 65534, gid: 65534 }

/** Another process may be adding users, this one among them. */
const ATTEMPTS = 5
const RETRY_MS = 200

/**
 * The system user with this name, created if need be. Undefined where none can be created: an image without useradd,
 * a read-only /etc. Only for root.
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

/** Of /etc/passwd, where useradd puts them. */
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
    // Not on the PATH of every root.
    { env: { ...env, PATH: `${env.PATH ?? ''}:/usr/sbin:/sbin` } },
  )
}
