import { randomUUID } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileError, PostgresError } from './errors.ts'
import { startOfProcess } from './process.ts'

const LIMIT_MS = 300_000

/**
 * Lets only one process at a time create the cluster or start its server.
 *
 * Each process creates a file with a unique name, and proceeds if no other process has one. If two processes create
 * their files at the same time, at least one of them sees the other's file, removes its own and retries. The name
 * contains the process, so that any process can remove the file of a dead process. This would be unsafe with a single
 * lock file: another process could take it between the check that it is stale and its removal.
 */
export async function withLock<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const name = `opening.${process.pid}.${await startOfProcess(process.pid)}.${randomUUID()}`
  const path = join(folder, name)
  const deadline = Date.now() + LIMIT_MS
  try {
    while (!(await tryLock())) {
      if (Date.now() > deadline) {
        throw new PostgresError(
          `Another Kinora process has been opening the database in ${folder} for ${LIMIT_MS / 60_000} minutes: ` +
            'check why that process hangs, or stop it.',
        )
      }
      await delay(10 + Math.random() * 50, undefined, { signal })
    }
    return await work()
  } finally {
    await rm(path, { force: true })
  }

  async function tryLock(): Promise<boolean> {
    if (await hasOthers(folder, name)) return false
    try {
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
    } catch (error) {
      throw fileError(error, folder)
    }
    if (!(await hasOthers(folder, name))) return true
    await rm(path, { force: true })
    return false
  }
}

async function hasOthers(folder: string, mine: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = /^opening\.(\d+)\.(\d+)\./.exec(name) ?? []
    if (!pid || name === mine) continue
    if ((await startOfProcess(Number(pid))) === start) return true
    await rm(join(folder, name), { force: true })
  }
  return false
}
