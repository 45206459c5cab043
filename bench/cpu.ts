import { readdir, readFile } from 'node:fs/promises'

/** The unit of CPU times in /proc: USER_HZ, which is 100 on Linux. */
const ticksPerSecond = 100

/** The fields of /proc/PID/stat from the third on. The second is the program name, which may contain spaces. */
async function statOf(pid: number): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Of /proc/PID/stat: user and system time of the process, and of its children that have ended. */
const ownTimes = [11, 12]
const endedTimes = [13, 14]

async function sumTimes(pids: number[], fields: number[]): Promise<number> {
  const stats = await Promise.all(pids.map(statOf))
  const ticks = stats.flatMap((stat) => fields.map((field) => Number(stat?.[field] ?? 0)))
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond
}

/** The CPU time that these processes have used so far, including all threads. */
export const cpuSeconds = (pids: number[]): Promise<number> => sumTimes(pids, ownTimes)

/** The same of a process and all its descendants, also of those that have ended: Postgres starts and ends many. */
export const cpuSecondsOfTree = async (pid: number): Promise<number> =>
  sumTimes(await withDescendants(pid), [...ownTimes, ...endedTimes])

export const parentPid = async (pid: number) => Number((await statOf(pid))?.[1])

/** The process and its children. */
export async function withChildren(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Boolean)
  const parents = await Promise.all(pids.map(parentPid))
  return [pid, ...pids.filter((_, i) => parents[i] === pid)]
}

/** The process, its children and their children. */
export async function withDescendants(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Boolean)
  const parents = new Map(await Promise.all(pids.map(async (each) => [each, await parentPid(each)] as const)))
  const isDescendant = (each: number): boolean => {
    const parent = parents.get(each)
    return parent === pid || (parent !== undefined && parent > 1 && isDescendant(parent))
  }
  return [pid, ...pids.filter(isDescendant)]
}
