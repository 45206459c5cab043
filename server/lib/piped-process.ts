import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Readable, Writable } from 'node:stream'
import { childEnvironment } from './environment.ts'
import { setSessionPriority } from './priority.ts'
import {
  ByteLog,
  describeExit,
  killGroup,
  quote,
  RunError,
  type RunOptions,
  STDERR_TAIL_BYTES,
} from './run.ts'

export type PipedOptions = Pick<RunOptions, 'cwd' | 'user' | 'priority'> & {
  /** The number of pipes that the command writes to, as descriptors 3 and up. */
  outputs: number
  onOutput(index: number, bytes: Buffer): void
}

/** A command that runs until its input ends, and whose output is used while it runs. */
export type PipedProcess = {
  /** Undefined if the command could not be started. */
  pid: number | undefined
  input: Writable
  kill(): void
  /** Settles when the command has exited and all its output has been read. Never rejects. */
  ended: Promise<RunError | undefined>
}

export function startPiped(command: string, args: readonly string[], options: PipedOptions): PipedProcess {
  const { outputs, onOutput, priority, user, cwd } = options
  const shown = [command, ...args].map(quote).join(' ')
  const failed = (error: unknown) => new RunError('could not be started', { command: shown }, error)
  let child: ChildProcess
  try {
    const pipes = Array.from({ length: outputs }, () => 'pipe' as const)
    child = spawn(command, args, {
      cwd,
      env: childEnvironment(),
      ...user,
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe', ...pipes],
    })
  } catch (error) {
    return neverStarted(Promise.resolve(failed(error)))
  }
  const started = once(child, 'spawn').then(() => undefined, failed)
  // Without free descriptors there are no pipes.
  if (!child.stdin || child.pid === undefined) return neverStarted(started)
  const stderr = new ByteLog(STDERR_TAIL_BYTES)
  const { stdin } = child
  const ended = new Promise<RunError | undefined>((resolve) => {
    child.once('close', (exitCode, signal) => {
      const end = { command: shown, exitCode, signal, stderr: stderr.toString() }
      resolve(exitCode === 0 ? undefined : new RunError(describeExit(exitCode, signal), end))
    })
  })
  const kill = () => {
    killGroup(child)
    // Frees what the command has not read. On a busy machine, the exit comes much later.
    stdin.destroy()
  }
  // Anything that it started would keep the pipes open.
  child.once('exit', kill)
  // A failed kill. `ended` reports everything else.
  child.on('error', () => {})
  if (priority !== undefined) setSessionPriority(child, priority)
  child.stderr?.on('data', (bytes: Buffer) => stderr.add(bytes))
  for (let i = 0; i < outputs; i++) {
    const output = child.stdio[3 + i] as Readable
    output.on('data', (bytes: Buffer) => onOutput(i, bytes))
    output.on('error', () => {})
  }
  // The command may exit before it has read everything.
  stdin.on('error', () => {})
  return { pid: child.pid, input: stdin, kill, ended }
}

const neverStarted = (ended: PipedProcess['ended']): PipedProcess => ({
  pid: undefined,
  input: new Writable({ write: (_bytes, _encoding, done) => done() }),
  ended,
  kill() {},
})
