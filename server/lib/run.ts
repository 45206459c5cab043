import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import type { Readable } from 'node:stream'
import { childEnvironment } from './environment.ts'
import { type ExceededLimit, type ProcessLimits, watchProcess } from './watch.ts'

export type RunOptions = {
  cwd?: string
  /** What it inherits by default is little: see `childEnvironment`. */
  env?: NodeJS.ProcessEnv
  /** Whom it runs as; for root alone. It keeps none of root's groups and capabilities. */
  user?: { uid: number; gid: number } | undefined
  /** Open files and folders that it inherits, from descriptor 3 on. */
  descriptors?: readonly number[]
  /** Kills the command and everything it started. */
  signal?: AbortSignal
  /** A command that writes more than this is killed: half an answer is worse than none. */
  stdoutLimitBytes?: number
  /** As it is written. It is then not kept. */
  onStdout?: (text: string, reportProgress: () => void) => void
  /** A command that exceeds one of these is killed. */
  limits?: ProcessLimits
  /** From -20 (first) to 19 (last), as of nice(1). */
  priority?: number
}

export type RunResult = { stdout: string; stderr: string }

const STDERR_TAIL_BYTES = 64 * 1024
const MESSAGE_TAIL_LINES = 20
const DEFAULT_STDOUT_LIMIT_BYTES = 16 * 1024 * 1024
const LINGER_MS = 1000

export class RunError extends Error {
  override readonly name = 'RunError'
  readonly command: string
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
  /** The limit that it was killed for. */
  readonly limit: ExceededLimit | undefined

  constructor(
    what: string,
    end: {
      command: string
      exitCode?: number | null
      signal?: NodeJS.Signals | null
      stderr?: string
      limit?: ExceededLimit | undefined
    },
    cause?: unknown,
  ) {
    const stderr = end.stderr ?? ''
    const tail = stderr.trimEnd().split('\n').slice(-MESSAGE_TAIL_LINES).join('\n')
    super([`${what}: ${end.command}`, tail].filter(Boolean).join('\n'), { cause })
    this.command = end.command
    this.exitCode = end.exitCode ?? null
    this.signal = end.signal ?? null
    this.stderr = stderr
    this.limit = end.limit
  }
}

/**
 * Runs a command to its end. When the promise settles, the command has exited, so its files may be touched.
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const shown = [command, ...args].map(quote).join(' ')
  const { signal, stdoutLimitBytes = DEFAULT_STDOUT_LIMIT_BYTES } = options
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    // A group of its own: one kill reaches what the command started, and a Ctrl-C for us does not reach it.
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? childEnvironment(),
      ...options.user,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...(options.descriptors ?? [])],
    }) as ChildProcessByStdio<null, Readable, Readable>
    const stdout = new ByteLog()
    const stderr = new ByteLog(STDERR_TAIL_BYTES)
    let stopped: { what: string; cause?: unknown; limit?: ExceededLimit } | undefined

    // SIGKILL, because a command that may tidy up may also publish half a result (ffmpeg does on SIGTERM).
    const stop = (what: string, cause?: unknown, limit?: ExceededLimit): void => {
      stopped ??= { what, cause, ...(limit && { limit }) }
      killGroup(child)
    }
    const abort = () => stop('was stopped', signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })

    const { limits } = options
    const watch =
      limits && child.pid !== undefined
        ? watchProcess(child.pid, limits, (limit) => stop(describeLimit(limit, limits), undefined, limit))
        : undefined
    const reportProgress = () => watch?.reportProgress()
    if (options.priority !== undefined && child.pid !== undefined) lower(child.pid, options.priority)

    child.stdout.on('data', (bytes: Buffer) => {
      if (stopped) return
      if (options.onStdout) return options.onStdout(bytes.toString(), reportProgress)
      stdout.add(bytes)
      if (stdout.length > stdoutLimitBytes) stop(`wrote more than ${stdoutLimitBytes} bytes`)
    })
    child.stderr.on('data', (bytes: Buffer) => stderr.add(bytes))

    let linger: NodeJS.Timeout | undefined
    child.once('exit', () => {
      watch?.close()
      // Still open pipes belong to a grandchild, which would otherwise keep us waiting and its files changing.
      linger = setTimeout(() => killGroup(child), LINGER_MS)
    })
    child.once('error', (error) => {
      // 'error' also tells of a kill that failed; only a command that never started has no pid.
      if (child.pid !== undefined) return
      signal?.removeEventListener('abort', abort)
      reject(new RunError('could not be started', { command: shown }, error))
    })
    child.once('close', (exitCode, exitSignal) => {
      clearTimeout(linger)
      signal?.removeEventListener('abort', abort)
      const end = {
        command: shown,
        exitCode,
        signal: exitSignal,
        stderr: stderr.toString(),
        limit: stopped?.limit,
      }
      if (stopped) reject(new RunError(stopped.what, end, stopped.cause))
      else if (exitCode === 0) resolve({ stdout: stdout.toString(), stderr: end.stderr })
      else if (exitSignal) reject(new RunError(`was ended by ${exitSignal}`, end))
      else reject(new RunError(`exited with code ${exitCode}`, end))
    })
  })
}

const describeLimit = (limit: ExceededLimit, { cpuMs = 0, idleMs = 0 }: ProcessLimits) =>
  limit === 'cpu'
    ? `used more than ${cpuMs / 1000} seconds of CPU time`
    : `did nothing for ${idleMs / 1000} seconds`

class ByteLog {
  readonly #limit: number
  #chunks: Buffer[] = []
  length = 0

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.length += bytes.length
    // Whole chunks only, so that a chatty command does not cost a copy for each line.
    while (this.#chunks[0] && this.length - this.#chunks[0].length >= this.#limit) {
      this.length -= this.#chunks.shift()!.length
    }
  }

  toString(): string {
    const all = Buffer.concat(this.#chunks)
    return all.subarray(Math.max(0, all.length - this.#limit)).toString('utf8')
  }
}

function lower(pid: number, priority: number): void {
  try {
    setPriority(pid, priority)
  } catch {
    // It is over already.
  }
}

function killGroup(child: ChildProcessByStdio<null, Readable, Readable>): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}

/** So that the command in an error can be pasted into a shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
