import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'

/**
 * Everything that a machine has of its own in the kernel: network, process table, host name, mounts. It ends with this
 * process, also after a `kill -9`: `--pdeathsig` ends `unshare`, which ends the first process of the process table, and
 * with it all others. The network ends with its last process.
 */
export type Namespaces = { pid: number; close(): Promise<void> }

// The first process of a process table inherits orphans, so it has to wait for them.
const firstProcess = 'hostname "$0"; ip link set lo up; echo ready; while :; do sleep 3600 & wait; done'

export async function openNamespaces(hostname: string): Promise<Namespaces> {
  const unshare = [
    'unshare',
    '--net',
    '--pid',
    '--mount',
    '--uts',
    '--ipc',
    '--fork',
    '--kill-child',
    '--mount-proc',
  ]
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...unshare, 'sh', '-c', firstProcess, hostname], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const output = await Promise.race([
    once(child.stdout, 'data').then(String),
    once(child.stderr, 'data').then(String),
  ])
  if (!output.startsWith('ready')) throw new Error(`no namespaces could be created: ${output}`)
  return {
    pid: await onlyChildOf(child.pid!),
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/**
 * The command that runs another command in the namespaces. `nsenter` is not in them and suspends itself together with its
 * command, so that it would stay for ever after a `kill -9` of this process.
 */
export function enter({ pid }: Pick<Namespaces, 'pid'>, command: string[]): [string, string[]] {
  const nsenter = [
    'nsenter',
    '--target',
    String(pid),
    '--net',
    '--pid',
    '--mount',
    '--uts',
    '--ipc',
    '--wd=/',
  ]
  return ['setpriv', ['--pdeathsig', 'KILL', ...nsenter, '--', ...command]]
}

/** The process ID, in our process table, of the program that nsenter or unshare has started. */
export async function onlyChildOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const child = Number(children.trim().split(' ')[0])
  if (!child) throw new Error(`process ${pid} has no child`)
  return child
}
