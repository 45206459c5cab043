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
export const failures = ['rejected', 'cpu', 'crashed', 'memory', 'killed', 'stalled', 'host'] as const
export type Failure = (typeof failures)[number]

const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSYS', 'SIGTRAP'])
const memoryMessages = /Cannot allocate memory|bad_alloc|out of memory/i
/** ffmpeg reports this limit on the content of a file as a lack of memory. */
const contentMessages = /exceeds max_streams/
const hostMessages =
  /: (No such file or directory|Permission denied|Is a directory)$|Too many open files|No space left on device|Disk quota exceeded/

export function failureOf({ limit, exitCode, signal, stderr }: RunError): Failure {
  if (limit === 'cpu') return 'cpu'
  if (limit === 'idle') return 'stalled'
  // The wrappers (setpriv, prlimit) exit with 126 or 127 if they cannot start the program.
  const hasStarted = signal !== null || (exitCode !== null && exitCode !== 126 && exitCode !== 127)
  if (!hasStarted || hostMessages.test(stderr.trimEnd())) return 'host'
  if (contentMessages.test(stderr)) return 'rejected'
  // A failed allocation may end in abort(), so this is checked before the signals.
  if (memoryMessages.test(stderr)) return 'memory'
  // The output exceeds the limit on the file size.
  if (signal === 'SIGXFSZ') return 'rejected'
  if (signal !== null) return crashSignals.has(signal) ? 'crashed' : 'killed'
  return 'rejected'
}

/** Whether the file or the environment caused the failure. Failures of the environment are retried. */
export const blameOf = (error: RunError): 'file' | 'environment' =>
  ['rejected', 'cpu'].includes(failureOf(error)) ? 'file' : 'environment'

/**
 * The number of attempts before a failure is final. A shortage on the host may last: with the backoff of the jobs, 20
 * attempts take about an hour. Crashes and failed allocations are usually caused by the file after all.
 */
const maxAttempts: Record<Failure, number> = {
  rejected: 1,
  cpu: 1,
  crashed: 3,
  memory: 3,
  killed: 20,
  stalled: 20,
  // Retried as long as the queue does, so that no video fails while ffmpeg is being upgraded.
  host: Number.POSITIVE_INFINITY,
}

export const isFinal = (error: RunError, attempts: number) => attempts >= maxAttempts[failureOf(error)]

/**
 * Whether a job gives up on an error of ffmpeg after this number of retries. Retries for other reasons are counted too:
 * that ffmpeg is killed right after an hour without the file store is rare enough.
 */
export const isFinalAfter = (error: unknown, retries: number): error is RunError =>
  error instanceof RunError && isFinal(error, retries + 1)

/** A message for the owner of the video. The output of ffmpeg contains internals and is only logged. */
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
