import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const retryMs = 200
const maxAttempts = 20

/**
 * Sets the priority of a command that has a session of its own, from -20 (highest) to 19 (lowest), as in nice(1).
 *
 * Linux may distribute CPU time among sessions (`sched_autogroup_enabled`). The priority of a process then has a meaning
 * within its session only, and the session has a priority of its own.
 */
export function setSessionPriority(child: ChildProcess, priority: number): void {
  if (child.pid === undefined) return
  try {
    setPriority(child.pid, priority)
  } catch {
    // It has already exited.
  }
  writeSessionPriority(child, priority, 1)
}

function writeSessionPriority(child: ChildProcess, priority: number, attempt: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, `${priority}\n`, { flag: 'r+' })
  } catch (error) {
    // For users other than root, the kernel allows one change in 100 ms.
    const canRetry = (error as NodeJS.ErrnoException).code === 'EAGAIN' && attempt < maxAttempts
    if (canRetry) setTimeout(writeSessionPriority, retryMs, child, priority, attempt + 1).unref()
  }
}
