import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpuSeconds } from './cpu.ts'
import { median, root, withTemporaryFolder } from './servers.ts'
import { atMost, printTable } from './table.ts'

// The time and CPU time until the service is ready. The reference is a bare Fastify server that only listens.

const rounds = 7

const bareFastify = `
  const app = (await import('fastify')).default()
  console.log('bare ready', await app.listen({ host: '127.0.0.1', port: 0 }))`

const programs = {
  bare: ['--input-type=module', '--eval', bareFastify],
  service: ['bin/kinora.mjs', 'start'],
  help: ['bin/kinora.mjs', '--help'],
}

type Program = keyof typeof programs
type Costs = { wall: number[]; cpu: number[] }

export async function start(): Promise<void> {
  const costs: Record<Program, Costs> = {
    bare: { wall: [], cpu: [] },
    service: { wall: [], cpu: [] },
    help: { wall: [], cpu: [] },
  }
  await withTemporaryFolder(async (data) => {
    // The first start creates the database and fills the compile cache.
    for (const args of Object.values(programs)) await measure(args, data)
    // Alternates between the programs, so that other load on the machine affects all of them.
    for (let round = 0; round < rounds; round++) {
      for (const [name, args] of Object.entries(programs)) {
        const { wall, cpu } = await measure(args, data)
        costs[name as Program].wall.push(wall)
        costs[name as Program].cpu.push(cpu)
      }
    }
  })
  const row = (measured: string, program: Program, of: 'wall' | 'cpu') => {
    const [kinora, bare] = [median(costs[program][of]), median(costs.bare[of])]
    const seconds = (value: number) => `${value.toFixed(2)} s`
    return { measured, kinora: seconds(kinora), reference: seconds(bare), ratio: kinora / bare }
  }
  printTable('Start, compared with a bare Fastify server', [
    {
      ...row('CPU time of Node until the service is ready', 'service', 'cpu'),
      goal: atMost(1.5, median(costs.service.cpu), ' s'),
    },
    row('time until the service is ready', 'service', 'wall'),
    row('time of kinora --help', 'help', 'wall'),
  ])
}

/** Measures until the program is ready or has ended. The CPU time of a program that has ended is not known. */
async function measure(args: string[], data: string): Promise<{ wall: number; cpu: number }> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, KINORA_PORT: '0', KINORA_DATA_DIR: data, KINORA_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  await Promise.race([untilReady(child), exited])
  const wall = (performance.now() - begun) / 1000
  const cpu = args.includes('--help') ? Number.NaN : await cpuSeconds([child.pid!])
  child.kill('SIGTERM')
  await exited
  return { wall, cpu }
}

async function untilReady({ stdout }: ChildProcess): Promise<void> {
  let printed = ''
  for await (const text of stdout!.setEncoding('utf8')) {
    printed += text
    if (printed.includes(' ready')) return
  }
}
