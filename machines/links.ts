import { spawnSync } from 'node:child_process'
import type { Machine } from './machine.ts'
import { enter } from './namespaces.ts'

// What can be wrong with the link of a machine. Rules in its own namespace apply to what it receives and sends.

export const lacksNftables: string | false = spawnSync('nft', ['--version']).error
  ? 'nftables is not installed'
  : false

export type LinkFault =
  | { kind: 'cut'; peer?: string }
  /** The machine receives nothing from the peer, but the peer receives everything. */
  | { kind: 'half-open'; peer?: string }
  | { kind: 'lossy'; peer?: string; percent: number }

/**
 * Replaces all faults of the link of a machine. Without a peer, a fault applies to every other machine, but not to this
 * process.
 */
export function setLinkFaults({ pid, network }: Pick<Machine, 'pid' | 'network'>, faults: LinkFault[]): void {
  const others = `!= ${network.ownAddress}`
  const rules = { input: [] as string[], output: [] as string[] }
  for (const { peer, ...fault } of faults) {
    const loss = fault.kind === 'lossy' ? `numgen random mod 100 < ${fault.percent} ` : ''
    rules.input.push(`iifname "eth0" ip saddr ${peer ?? others} ${loss}drop`)
    if (fault.kind !== 'half-open') rules.output.push(`oifname "eth0" ip daddr ${peer ?? others} ${loss}drop`)
  }
  const chains = (['input', 'output'] as const).map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority 0; ${rules[hook].join('; ')}; }`,
  )
  const text = `table inet faults {}\ndelete table inet faults\ntable inet faults {\n${chains.join('\n')}\n}\n`
  const [command, args] = enter({ pid }, ['nft', '-f', '-'])
  const { status, stderr } = spawnSync(command, args, { input: text })
  if (status !== 0) throw new Error(`nft failed: ${stderr}\n${text}`)
}
/** Limits what the machine sends, or removes the limit. */
export async function setLinkSpeed(machine: Pick<Machine, 'run'>, mbitPerSecond?: number): Promise<void> {
  await machine.run(['tc', 'qdisc', 'del', 'dev', 'eth0', 'root']).catch(() => {})
  if (mbitPerSecond === undefined) return
  const limit = ['rate', `${mbitPerSecond}mbit`, 'burst', '64kb', 'latency', '100ms']
  await machine.run(['tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'tbf', ...limit])
}
