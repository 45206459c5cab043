import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from '../test/support/harness.ts'
import { enter, onlyChildOf, openNamespaces } from './namespaces.ts'
import type { Network } from './network.ts'

const execute = promisify(execFile)

/** A program that runs on a machine. */
export type Program = {
  /** In our process table. */
  pid: number
  output(): string
  isRunning(): boolean
  exited: Promise<unknown>
  signal(signal: NodeJS.Signals): void
  /** Sends a signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<void>
}

type ProgramOptions = {
  env?: NodeJS.ProcessEnv /** CPU cores that it may use, such as `0`. */
  cores?: string
}

export type Machine = {
  name: string
  address: string
  network: Network
  /** The first process of its process table, in ours. */
  pid: number
  /** On a disk of its own. */
  folder: string
  /** Starts a program. */
  start(command: string[], options?: ProgramOptions): Promise<Program>
  /** Runs a program until it ends and returns its output. */
  run(command: string[], env?: NodeJS.ProcessEnv): Promise<string>
  /** The path of a file of the machine as this process sees it. */
  path(file: string): string
  close(): Promise<void>
}

export type MachineOptions = { network: Network; parent: string; name: string; diskBytes?: number }

/** Output that is kept of a program. */
const maxOutput = 4_000_000

export async function openMachine({ network, parent, name, diskBytes }: MachineOptions): Promise<Machine> {
  const folder = join(parent, name)
  await mkdir(folder, { recursive: true })
  const namespaces = await openNamespaces(name)
  const programs = new Set<Program>()
  const start: Machine['start'] = async (command, { env, cores } = {}) => {
    const pinned = cores === undefined ? command : ['taskset', '--cpu-list', cores, ...command]
    const child = spawn(...enter(namespaces, pinned), {
      env: env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const append = (chunk: Buffer) => {
      output = (output + chunk).slice(-maxOutput)
    }
    child.stdout.on('data', append)
    child.stderr.on('data', append)
    const exited = once(child, 'exit')
    const isRunning = () => child.exitCode === null && child.signalCode === null
    let pid = 0
    await waitFor(async () => {
      pid = await onlyChildOf(child.pid!).catch(() => 0)
      return pid > 0 || !isRunning()
    })
    const signal = (name: NodeJS.Signals) => {
      if (!isRunning()) return
      process.kill(pid, name)
      // nsenter stops together with its child, but does not continue with it.
      if (name === 'SIGCONT') child.kill(name)
    }
    const program: Program = {
      pid,
      output: () => output,
      isRunning,
      exited,
      signal,
      async end(name = 'SIGTERM') {
        signal(name)
        await exited
      },
    }
    programs.add(program)
    exited.then(() => programs.delete(program))
    return program
  }
  const run: Machine['run'] = async (command, env = process.env) =>
    (await execute(...enter(namespaces, command), { env })).stdout
  try {
    if (diskBytes !== undefined)
      await run(['mount', '-t', 'tmpfs', '-o', `size=${diskBytes},mode=755`, 'disk', folder])
    const address = await network.connect(namespaces)
    return {
      name,
      address,
      network,
      folder,
      pid: namespaces.pid,
      start,
      run,
      path: (file) => join(`/proc/${namespaces.pid}/root`, file),
      async close() {
        await namespaces.close()
        await Promise.all([...programs].map(({ exited }) => exited))
        await rm(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await namespaces.close()
    throw error
  }
}
