import { RunError } from '../lib/run.ts'

/**
 * Why ffmpeg or ffprobe failed.
 *
 * - `rejected`: it exited with an error of its own, most likely because of the file.
 * - `cpu`: it used more CPU time than the file may cost. It will do so again.
 * - `crashed`: a fault in the program, which damaged files trigger.
 * - `memory`: it could not allocate memory.
 * - `killed`: a signal from outside, as the kernel sends when memory is short.
 * - `stalled`: it did nothing for too long.
 * - `host`: it could not be started, or could not open or write a file.
 */
export type Failure = 'rejected' | 'cpu' | 'crashed' | 'memory' | 'killed' | 'stalled' | 'host'

const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSYS', 'SIGTRAP'])
const memoryMessages = /Cannot allocate memory|bad_alloc|out of memory/i
/** What ffmpeg reports as a lack of memory, and is a limit on what a file may contain. */
const contentMessages = /exceeds max_streams/
const hostMessages =
  /: (No such file or directory|Permission denied|Is a directory)$|Too many open files|No space left on device|Disk quota exceeded/

export function failureOf({ limit, exitCode, signal, stderr }: RunError): Failure {
  if (limit === 'cpu') return 'cpu'
  if (limit === 'idle') return 'stalled'
  // 126 and 127 come from the wrappers (setpriv, prlimit), for a program that they cannot start.
  const hasStarted = signal !== null || (exitCode !== null && exitCode !== 126 && exitCode !== 127)
  if (!hasStarted || hostMessages.test(stderr.trimEnd())) return 'host'
  if (contentMessages.test(stderr)) return 'rejected'
  // An allocation that fails may end in abort(), so this comes before the signals.
  if (memoryMessages.test(stderr)) return 'memory'
  // A file that grows beyond any measure.
  if (signal === 'SIGXFSZ') return 'rejected'
  if (signal !== null) return crashSignals.has(signal) ? 'crashed' : 'killed'
  return 'rejected'
}

/** Whether the file is to blame. Whatever is the environment's fault is worth another try. */
export const blameOf = (error: RunError): 'file' | 'environment' =>
  ['rejected', 'cpu'].includes(failureOf(error)) ? 'file' : 'environment'

/**
 * How many tries a failure is worth before it is final. A shortage on the host may last: with the backoff of the jobs,
 * 20 tries take about an hour. Crashes and allocation failures are usually caused by the file after all.
 */
const maxTries: Record<Failure, number> = {
  rejected: 1,
  cpu: 1,
  crashed: 3,
  memory: 3,
  killed: 20,
  stalled: 20,
  // As long as the queue retries: no video fails because ffmpeg is being upgraded.
  host: Number.POSITIVE_INFINITY,
}

export const isFinal = (error: RunError, tries: number) => tries >= maxTries[failureOf(error)]

/**
 * Whether a job gives up after this many retries because of ffmpeg. Retries for other reasons count as well: a kill
 * right after an hour without the file store is rare enough.
 */
export const isGivingUp = (error: unknown, retries: number): error is RunError =>
  error instanceof RunError && isFinal(error, retries + 1)

/** What the owner of the video is told. What ffmpeg said stays in the log: it names files and internals. */
export function explain(error: RunError): string {
  const sentences: Record<Failure, string> = {
    rejected: 'A part of the video cannot be decoded or encoded.',
    cpu: 'The file needs far more computing time than a video of its size and length should.',
    crashed: `The video encoder crashed on this file repeatedly (${error.signal}).`,
    memory: 'The file needs more memory than the service allows.',
    killed: `The video encoder was stopped from outside repeatedly (${error.signal}): the server may be short of memory.`,
    stalled: 'The video encoder stopped responding repeatedly.',
    host: 'The video encoder could not be run on the server.',
  }
  return sentences[failureOf(error)]
}
