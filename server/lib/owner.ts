import { hash, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { startOfProcess } from './postgres/process.ts'

/**
 * Work folders and uploads in progress exist before any row refers to them. Their names identify the process that created
 * them: `<host>-<pid>-<start>`. After a kill, other processes on the same host know at once that the owner is gone.
 * The host is part of the name, because several machines may share a folder or a bucket.
 */
const ownedPattern = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,20})\.[0-9a-f-]{36}$/

type Self = { host: string; name: string }
let self: Self | undefined

function identify(): Self {
  if (self) return self
  let host: string
  let start = '0'
  try {
    // Pids are unique within a PID namespace until the next boot. Each container has its own namespace.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    host = hash('sha256', `${boot} ${readlinkSync('/proc/self/ns/pid')}`, 'hex').slice(0, 12)
    const stat = readFileSync('/proc/self/stat', 'utf8')
    start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    // Without /proc no process can be looked up. With a random host, other processes treat the owner as unknown.
    host = randomUUID().replaceAll('-', '').slice(0, 12)
  }
  self = { host, name: `${host}-${process.pid}-${start}` }
  return self
}

/** A unique name that identifies the process that created it. */
export const newOwnedName = () => `${identify().name}.${randomUUID()}`

export type Owner = 'alive' | 'dead' | 'unknown'

/** Whether the process behind a name from `newOwnedName` still runs. Unknown for other hosts and other names. */
export async function findOwner(name: string): Promise<Owner> {
  const [, host, pid, start] = ownedPattern.exec(name) ?? []
  const { host: ownHost, name: ownName } = identify()
  if (host === undefined || host !== ownHost) return 'unknown'
  if (name.startsWith(`${ownName}.`)) return 'alive'
  return (await startOfProcess(Number(pid))) === start ? 'alive' : 'dead'
}
