import { randomUUID } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileProblem, PostgresProblem } from './problem.ts'
import { startOfProcess } from './process.ts'

const LIMIT_MS = 300_000

/**
 * Only one process at a time creates the cluster or starts its server.
 *
 * Who wants to puts up a file with a name of its own, and goes on if it then sees nobody else's: of two at once
 * at least the later sees the earlier, and who sees another takes its own down again. The name says which
 * process it belongs to, so a file whose process is gone can be removed by anybody at any time. A single lock
 * file could not: between finding it stale and removing it, somebody else may have taken it.
 */
export async function withLock<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const name = `opening.${process.pid}.${await startOfProcess(process.pid)}.${randomUUID()}`
  const path = join(folder, name)
  const deadline = Date.now() + LIMIT_MS
  try {
    while (!(await tryToLead())) {
      if (Date.now() > deadline) {
        throw new PostgresProblem(
          `Another Kinora process has been opening the database in ${folder} for ${LIMIT_MS / 60_000} minutes: ` +
            'see what holds it up, or end it.',
        )
      }
      await delay(10 + Math.random() * 50, undefined, { signal })
    }
    return await work()
  } finally {
    await rm(path, { force: true })
  }

  async function tryToLead(): Promise<boolean> {
    if (await othersIn(folder, name)) return false
    try {
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
    } catch (error) {
      throw fileProblem(error, folder)
    }
    if (!(await othersIn(folder, name))) return true
    await rm(path, { force: true })
    return false
  }
}

async function othersIn(folder: string, mine: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = /^opening\.(\d+)\.(\d+)\./.exec(name) ?? []
    if (!pid || name === mine) continue
    if ((await startOfProcess(Number(pid))) === start) return true
    await rm(join(folder, name), { force: true })
  }
  return false
}
