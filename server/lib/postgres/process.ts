import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * The start time of a process, in ticks since boot. Together with the pid it identifies a process, because pids are
 * reused. Undefined if the process is gone or a zombie.
 */
export async function startOfProcess(pid: number): Promise<string | undefined> {
  const fields = await readStat(pid)
  return fields && fields.state !== 'Z' && fields.state !== 'X' ? fields.start : undefined
}

export async function waitUntilGone(pid: number, limitMs: number): Promise<boolean> {
  const start = await startOfProcess(pid)
  const deadline = Date.now() + limitMs
  while (start !== undefined && (await startOfProcess(pid)) === start) {
    if (Date.now() > deadline) return false
    await delay(10)
  }
  return true
}

export type PidFile = { pid: number; status: string }

/** Returns undefined if the file is missing or invalid; a power failure may leave it empty. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n')
  const pid = Number(lines[0])
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, status: (lines[7] ?? '').trim() } : undefined
}

/** Returns the pid of the server, unless the pid in its pid file is now used by another process. */
export async function findPostmaster(cluster: string): Promise<number | undefined> {
  const file = await readPidFile(cluster)
  return file && (await worksIn(file.pid, cluster)) ? file.pid : undefined
}

/** Returns every Postgres process of this cluster, including processes that have outlived their postmaster. */
export async function findPostgresProcesses(cluster: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (/^\d+$/.test(name) && (await worksIn(Number(name), cluster))) found.push(Number(name))
  }
  return found
}

async function worksIn(pid: number, cluster: string): Promise<boolean> {
  const fields = await readStat(pid)
  if (fields?.name !== 'postgres' || fields.state === 'Z' || fields.state === 'X') return false
  try {
    const [there, here] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(cluster)])
    return there.dev === here.dev && there.ino === here.ino
  } catch {
    // The process has exited, or it belongs to another user.
    return false
  }
}

async function readStat(pid: number): Promise<{ name: string; state: string; start: string } | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name is in parentheses and may contain parentheses and spaces.
  const match = /^\d+ \((.*)\) (.+)$/s.exec(line.trimEnd())
  const fields = match?.[2]?.split(' ')
  return fields ? { name: match![1]!, state: fields[0]!, start: fields[19] ?? '' } : undefined
}
