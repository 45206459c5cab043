import { readFile, stat } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { formatBytes } from '../lib/format-bytes.ts'
import { type Check, type Finding, ok, warning } from './check.ts'

const minNode = 24
const MiB = 1024 ** 2
/** Node and the embedded Postgres when idle, with room for requests. */
const baseBytes = 512 * MiB
/** An ffmpeg that encodes 1080p. */
const slotBytes = 256 * MiB

export const nodeCheck: Check = {
  name: 'Node',
  ifStuck: 'Report this as a bug of Kinora.',
  async run() {
    const major = Number.parseInt(process.versions.node, 10)
    if (major >= minNode) return ok(`Node ${process.versions.node}.`)
    return warning(
      `Node ${process.versions.node} is older than ${minNode}, with which Kinora is tested.`,
      `Install Node ${minNode} or newer.`,
    )
  },
}

export const userCheck: Check = {
  name: 'user',
  ifStuck: 'Report this as a bug of Kinora.',
  async run({ config: { dataDir } }) {
    if (process.geteuid?.() !== 0) return ok(`Runs as an ordinary user (uid ${process.geteuid?.()}).`)
    const owner = (await stat(dataDir).catch(() => undefined))?.uid ?? 0
    if (owner !== 0)
      return warning(
        `Runs as root, but the data folder belongs to uid ${owner}.`,
        'Run Kinora and its commands as that user: root has permissions that it may lack.',
      )
    return warning(
      'Runs as root. Postgres and ffmpeg run as users of their own, but the service itself can change everything.',
      'Start Kinora as an ordinary user that owns the data folder (docs/operations.md, users and permissions).',
    )
  },
}

/** Undefined without a limit. The root of a cgroup namespace is the container. */
async function readLimit(...paths: string[]): Promise<number | undefined> {
  for (const path of paths) {
    const value = Number.parseInt(await readFile(path, 'utf8').catch(() => ''), 10)
    // Version 1 states a huge number if there is no limit.
    if (value > 0 && value < 2 ** 60) return value
  }
  return undefined
}

export const memoryCheck: Check = {
  name: 'memory',
  ifStuck: 'Check whether this machine has enough memory: see the kernel log.',
  async run({ config }) {
    const limit = await readLimit('/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes')
    const bytes = Math.min(limit ?? Number.POSITIVE_INFINITY, totalmem())
    return judgeMemory(bytes, { isLimit: limit === bytes, slots: slotsOf(config) })
  },
}

const slotsOf = ({ roles, encodeSlots }: { roles: Set<string>; encodeSlots: number }) =>
  roles.has('worker') ? encodeSlots : 0

export function judgeMemory(bytes: number, { isLimit, slots }: { isLimit: boolean; slots: number }): Finding {
  const needed = baseBytes + slots * slotBytes
  const what = isLimit ? 'The memory limit is' : 'This machine has'
  if (bytes >= needed) return ok(`${what} ${formatBytes(bytes)}.`)
  return warning(
    `${what} ${formatBytes(bytes)}. With ${slots} encode slots, Kinora may need ${formatBytes(needed)}, and the kernel ends processes that exceed it.`,
    slots > 1
      ? 'Add memory, raise the limit, or lower KINORA_ENCODE_SLOTS.'
      : 'Add memory, or raise the limit.',
  )
}

export const coresCheck: Check = {
  name: 'cores',
  ifStuck: 'Report this as a bug of Kinora.',
  async run({ config }) {
    const [quota = '', period = ''] = (
      await readFile('/sys/fs/cgroup/cpu.max', 'utf8').catch(() => '')
    ).split(' ')
    const share = Number(quota) / Number(period)
    const cores = Math.min(share > 0 ? share : Number.POSITIVE_INFINITY, availableParallelism())
    const slots = slotsOf(config)
    const text = `${Number(cores.toFixed(1))} ${cores === 1 ? 'core' : 'cores'}`
    // A slot is one thread, and one more than cores is of no use.
    if (slots <= Math.max(1, Math.ceil(cores))) return ok(`${text}, ${slots} encode slots.`)
    return warning(
      `${slots} encode slots on ${text} slow each other and the requests down.`,
      `Set KINORA_ENCODE_SLOTS=${Math.max(1, Math.ceil(cores))}, or give the process more cores.`,
    )
  },
}
