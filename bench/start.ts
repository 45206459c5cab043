import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuSeconds } from './cpu.ts'
import { median } from './servers.ts'

// What a start costs, against the least that a server of this kind can cost: a bare Fastify that listens.

const root = fileURLToPath(new URL('..', import.meta.url))
const rounds = 7

const bare = `
  const app = (await import('fastify')).default()
  console.log('bare ready', await app.listen({ host: '127.0.0.1', port: 0 }))`

const programs = {
  'bare Fastify': ['--input-type=module', '--eval', bare],
  'the service': ['bin/kinora.mjs', 'start'],
  'a command (kinora --help)': ['bin/kinora.mjs', '--help'],
}

export async function start(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const costs = new Map<string, { wall: number[]; cpu: number[] }>()
  try {
    // The first start creates the database and fills the cache of compiled modules.
    for (const args of Object.values(programs)) await measure(args, data)
    // In turns, so that a noisy machine is noisy for all.
    for (let round = 0; round < rounds; round++) {
      for (const [name, args] of Object.entries(programs)) {
        const { wall, cpu } = await measure(args, data)
        const cost = costs.get(name) ?? { wall: [], cpu: [] }
        costs.set(name, { wall: [...cost.wall, wall], cpu: [...cost.cpu, cpu] })
      }
    }
  } finally {
    await rm(data, { recursive: true, force: true })
  }
  const limit = costs.get('bare Fastify')!
  for (const [name, { wall, cpu }] of costs) {
    const ready = compare(wall, limit.wall)
    console.log(
      `${name.padEnd(28)} ready after ${ready}${cpu.some(Number.isNaN) ? '' : `, CPU ${compare(cpu, limit.cpu)}`}`,
    )
  }
}

const compare = (values: number[], limit: number[]) =>
  `${median(values).toFixed(2)} s (${(median(values) / median(limit)).toFixed(1)} times bare)`

/** Until it says that it is ready, or ends; then its CPU time is not known. */
async function measure(args: string[], data: string): Promise<{ wall: number; cpu: number }> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, KINORA_PORT: '0', KINORA_DATA_DIR: data, KINORA_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await Promise.race([isReady(child), exited])
  const wall = (performance.now() - begun) / 1000
  const cpu = args.includes('--help') ? Number.NaN : await cpuSeconds([child.pid!])
  child.kill('SIGTERM')
  await exited
  return { wall, cpu }
}

async function isReady({ stdout }: ChildProcess): Promise<void> {
  let printed = ''
  for await (const text of stdout!.setEncoding('utf8')) {
    printed += text
    if (printed.includes(' ready')) return
  }
}
