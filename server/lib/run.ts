import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { childEnvironment } from './environment.ts'
import { setSessionPriority } from './priority.ts'
import { type ExceededLimit, type ProcessLimits, watchProcess } from './watch.ts'

export type RunOptions = {
  cwd?: string
  /** Defaults to the few variables of `childEnvironment`. */
  env?: NodeJS.ProcessEnv
  /** The user to run as, if we are root. The command gets none of root's groups and capabilities. */
  user?: { uid: number; gid: number } | undefined
  /** Open files and folders that the command inherits as descriptors 3 and up. */
  descriptors?: readonly number[]
  /** Kills the command and everything it started. */
  signal?: AbortSignal
  /** A command that writes more than this is killed, because truncated output is worse than an error. */
  stdoutLimitBytes?: number
  /** Receives the output as it is written. The output is then not part of the result. */
  onStdout?: (text: string, reportProgress: () => void) => void
  /** A command that exceeds one of these is killed. */
  limits?: ProcessLimits
  /** From -20 (highest) to 19 (lowest), as in nice(1). */
  priority?: number
}

export type RunResult = { stdout: string; stderr: string }

export const STDERR_TAIL_BYTES = 64 * 1024
/** The part of stderr that the log shows. A damaged file can make ffmpeg write a line for each of its packets. */
const MESSAGE_TAIL_BYTES = 2 * 1024
const DEFAULT_STDOUT_LIMIT_BYTES = 16 * 1024 * 1024
/** How long pipes may stay open after the command has exited. */
const LINGER_MS = 1000

/**
 * The message contains the command and the end of its stderr. The stack and the fields that a log shows do not repeat
 * them.
 */
export class RunError extends Error {
  override readonly name = 'RunError'
  readonly #command: string
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly #stderr: string
  /** The limit that the command exceeded. */
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
    const tail = Buffer.from(stderr.trimEnd()).subarray(-MESSAGE_TAIL_BYTES).toString()
    super([`${what}: ${end.command}`, tail].filter(Boolean).join('\n'), { cause })
    this.stack = this.stack?.replace(this.message, () => what)
    this.#command = end.command
    this.exitCode = end.exitCode ?? null
    this.signal = end.signal ?? null
    this.#stderr = stderr
    this.limit = end.limit
  }

  get command(): string {
    return this.#command
  }

  /** The last 64 KiB. */
  get stderr(): string {
    return this.#stderr
  }
}

/** Runs a command to its end. When the promise settles, the command has exited, and its files can be used. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { signal, limits, onStdout, stdoutLimitBytes = DEFAULT_STDOUT_LIMIT_BYTES } = options
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const shown = [command, ...args].map(quote).join(' ')
    const child = start(command, args, options)
    const stdout = new ByteLog()
    const stderr = new ByteLog(STDERR_TAIL_BYTES)
    let stopped: StopReason | undefined

    // SIGKILL, because a command that can clean up may also publish incomplete output (ffmpeg does on SIGTERM).
    const stop = (reason: StopReason): void => {
      stopped ??= reason
      killGroup(child)
    }
    const abort = () => stop({ what: 'was stopped', cause: signal?.reason })
    signal?.addEventListener('abort', abort, { once: true })
    const watch =
      limits && child.pid !== undefined
        ? watchProcess(child.pid, limits, (limit) => stop({ what: describeLimit(limit, limits), limit }))
        : undefined
    const reportProgress = () => watch?.reportProgress()

    child.stdout.on('data', (bytes: Buffer) => {
      if (stopped) return
      if (onStdout) return onStdout(bytes.toString(), reportProgress)
      stdout.add(bytes)
      if (stdout.length > stdoutLimitBytes) stop({ what: `wrote more than ${stdoutLimitBytes} bytes` })
    })
    child.stderr.on('data', (bytes: Buffer) => stderr.add(bytes))

    let linger: NodeJS.Timeout | undefined
    child.once('exit', () => {
      watch?.close()
      // A grandchild holds pipes that are still open. It would keep us waiting, and could still change files.
      linger = setTimeout(() => killGroup(child), LINGER_MS)
    })
    child.once('error', (error) => {
      // A failed kill emits 'error' too. Only a command that never started has no pid.
      if (child.pid !== undefined) return
      signal?.removeEventListener('abort', abort)
      reject(new RunError('could not be started', { command: shown }, error))
    })
    child.once('close', (exitCode, exitSignal) => {
      clearTimeout(linger)
      signal?.removeEventListener('abort', abort)
      if (exitCode === 0 && !stopped) return resolve({ stdout: stdout.toString(), stderr: stderr.toString() })
      const { what, cause, limit } = stopped ?? { what: describeExit(exitCode, exitSignal) }
      const end = { command: shown, exitCode, signal: exitSignal, stderr: stderr.toString(), limit }
      reject(new RunError(what, end, cause))
    })
  })
}

type Child = ChildProcessByStdio<null, Readable, Readable>
type StopReason = { what: string; cause?: unknown; limit?: ExceededLimit }

function start(command: string, args: readonly string[], options: RunOptions): Child {
  // With a process group of its own, one kill reaches all descendants, and a Ctrl-C for us does not reach them.
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? childEnvironment(),
    ...options.user,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(options.descriptors ?? [])],
  }) as Child
  if (options.priority !== undefined) setSessionPriority(child, options.priority)
  return child
}

export const describeExit = (exitCode: number | null, signal: NodeJS.Signals | null) =>
  signal ? `was ended by ${signal}` : `exited with code ${exitCode}`

const describeLimit = (limit: ExceededLimit, { cpuMs = 0, idleMs = 0 }: ProcessLimits) =>
  limit === 'cpu'
    ? `used more than ${cpuMs / 1000} seconds of CPU time`
    : `did nothing for ${idleMs / 1000} seconds`

/** Keeps the last bytes of an output. */
export class ByteLog {
  readonly #limit: number
  #chunks: Buffer[] = []
  length = 0

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.length += bytes.length
    // Only entire chunks are dropped, so that a verbose command does not cost a copy per line.
    while (this.#chunks[0] && this.length - this.#chunks[0].length >= this.#limit) {
      this.length -= this.#chunks.shift()!.length
    }
  }

  toString(): string {
    const all = Buffer.concat(this.#chunks)
    return all.subarray(Math.max(0, all.length - this.#limit)).toString('utf8')
  }
}

/** Kills a command that was started with a process group of its own, and everything it started. */
export function killGroup(child: { pid?: number | undefined }): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has already exited.
  }
}

/** Quotes a word, so that the command in an error message can be pasted into a shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
