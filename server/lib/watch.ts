import { readFileSync } from 'node:fs'

export type ProcessLimits = {
  cpuMs?: number | undefined
  /** The maximum time without CPU usage and without reported progress. */
  idleMs?: number | undefined
}

export type ExceededLimit = 'cpu' | 'idle'

const maxCheckEveryMs = 1_000
/**
 * Two ticks of the kernel's clock. On a busy machine, a process gets more than that within a minute, even at the lowest
 * priority. A hung process does not, even if it keeps writing status lines.
 */
const aliveCpuMs = 20

/**
 * Calls `onExceeded` once when a process exceeds a limit. Neither limit is based on elapsed time alone, so a busy machine
 * does not make a working process exceed it. Without /proc, only reported progress counts.
 */
export function watchProcess(
  pid: number,
  limits: ProcessLimits,
  onExceeded: (limit: ExceededLimit) => void,
): { reportProgress(): void; close(): void } {
  const { cpuMs: maxCpuMs = Number.POSITIVE_INFINITY, idleMs = Number.POSITIVE_INFINITY } = limits
  const checkEveryMs = Math.max(10, Math.min(maxCheckEveryMs, idleMs / 4, maxCpuMs / 4))
  // A late check counts as one: if this process was suspended, the other one may have been, too.
  let idleForMs = 0
  let cpuMsWhenAlive = 0
  const check = () => {
    const cpuMs = readCpuMs(pid) ?? 0
    if (cpuMs - cpuMsWhenAlive >= aliveCpuMs) {
      cpuMsWhenAlive = cpuMs
      idleForMs = 0
    } else idleForMs += checkEveryMs
    const isIdle = idleForMs > idleMs
    if (cpuMs <= maxCpuMs && !isIdle) return
    clearInterval(timer)
    onExceeded(isIdle ? 'idle' : 'cpu')
  }
  const timer = setInterval(check, checkEveryMs)
  return {
    reportProgress() {
      idleForMs = 0
    },
    close: () => clearInterval(timer),
  }
}

/** The CPU time of a process and of its reaped children. A tick is 10 ms on every Linux. */
export function readCpuMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The process name before the last bracket may contain anything, including spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
  } catch {
    return undefined
  }
}
