import { hash, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { startOfProcess } from './postgres/process.ts'

/**
 * What a process creates before any row refers to it (work folders, uploads that are being received) carries the name of
 * that process: `<host>-<pid>-<start>`. After a kill, other processes on the same host can tell at once that the owner is
 * gone. Several machines may share a folder or a bucket, so the host is part of the name.
 */
const ownedPattern = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,20})\.[0-9a-f-]{36}$/

type Self = { host: string; name: string }
let self: Self | undefined

function identify(): Self {
  if (self) return self
  let host: string
  let start = '0'
  try {
    // Pids are unique within a PID namespace until the next boot. Containers have namespaces of their own.
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    host = hash('sha256', `${boot} ${readlinkSync('/proc/self/ns/pid')}`, 'hex').slice(0, 12)
    const stat = readFileSync('/proc/self/stat', 'utf8')
    start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  } catch {
    // Without /proc no process can be looked up: a host of its own makes its liveness unknown to all others.
    host = randomUUID().replaceAll('-', '').slice(0, 12)
  }
  self = { host, name: `${host}-${process.pid}-${start}` }
  return self
}

/** A unique name that tells which process made it. */
export const newOwnedName = () => `${identify().name}.${randomUUID()}`

export type Owner = 'alive' | 'dead' | 'unknown'

/** The owner of a name from `newOwnedName`. It is unknown if it ran on another host or the name has no owner. */
export async function findOwner(name: string): Promise<Owner> {
  const [, host, pid, start] = ownedPattern.exec(name) ?? []
  const { host: here, name: own } = identify()
  if (host === undefined || host !== here) return 'unknown'
  if (name.startsWith(`${own}.`)) return 'alive'
  return (await startOfProcess(Number(pid))) === start ? 'alive' : 'dead'
}
