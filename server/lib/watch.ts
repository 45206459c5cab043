import { readFileSync } from 'node:fs'

export type ProcessLimits = {
  cpuMs?: number | undefined
  /** How long it may do nothing: use no CPU time and report no progress. */
  idleMs?: number | undefined
}

export type ExceededLimit = 'cpu' | 'idle'

const maxCheckEveryMs = 1_000
/**
 * Two ticks of the kernel's clock. A process that waits for a core on a crowded machine gets more than that in a
 * minute even at the lowest priority; one that hangs does not, even if it keeps reporting that it is there.
 */
const aliveCpuMs = 20

/**
 * Tells once when a process exceeds a limit. Neither limit is one of elapsed time, so a busy machine cannot make an
 * honest process exceed it. Where there is no /proc, only reported progress counts.
 */
export function watchProcess(
  pid: number,
  limits: ProcessLimits,
  onExceeded: (limit: ExceededLimit) => void,
): { reportProgress(): void; close(): void } {
  const { cpuMs: maxCpuMs = Number.POSITIVE_INFINITY, idleMs = Number.POSITIVE_INFINITY } = limits
  let aliveAt = performance.now()
  let cpuMsWhenAlive = 0
  const check = () => {
    const cpuMs = readCpuMs(pid) ?? 0
    if (cpuMs - cpuMsWhenAlive >= aliveCpuMs) {
      cpuMsWhenAlive = cpuMs
      aliveAt = performance.now()
    }
    const isIdle = performance.now() - aliveAt > idleMs
    if (cpuMs <= maxCpuMs && !isIdle) return
    clearInterval(timer)
    onExceeded(isIdle ? 'idle' : 'cpu')
  }
  const timer = setInterval(check, Math.max(10, Math.min(maxCheckEveryMs, idleMs / 4, maxCpuMs / 4)))
  return {
    reportProgress() {
      aliveAt = performance.now()
    },
    close: () => clearInterval(timer),
  }
}

/** What a process and the children it has waited for have used. Ticks are 10 ms on every Linux. */
export function readCpuMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name before it may contain anything, spaces and brackets included.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)
  } catch {
    return undefined
  }
}
