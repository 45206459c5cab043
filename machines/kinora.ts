import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { productionKey, root, sandboxKey, waitFor } from '../test/support/harness.ts'
import type { Machine, Program } from './machine.ts'

export type KinoraMachine = Machine & {
  url: string
  rtmpUrl: string
  roles: string
  /** The program that runs now, or ran last. */
  service(): Program
  /** Everything that the service has printed, in all its runs. */
  output(): string
  /** Starts the service and waits until it is ready. */
  launch(env?: Record<string, string>): Promise<Program>
  /** Sets the clock of the machine ahead by this time, or back. */
  setClock(offsetMs: number): Promise<void>
}

export type KinoraOptions = {
  machine: Machine
  roles: 'api' | 'worker' | 'live'
  /** The bundled service. */
  program: string
  env: Record<string, string>
  cores?: string
}

const httpPort = 8080
const rtmpPort = 1935
const clockModule = fileURLToPath(new URL('clock.ts', import.meta.url))

export async function openKinora({
  machine,
  roles,
  program,
  env,
  cores,
}: KinoraOptions): Promise<KinoraMachine> {
  const { address, folder } = machine
  const url = `http://${address}:${httpPort}`
  // Not on the disk of the machine, which may be full.
  const clock = `${folder}.clock`
  const data = join(folder, 'data')
  await machine.run(['mkdir', '--parents', data])
  const environment = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
    MACHINE_CLOCK: clock,
    TMPDIR: folder,
    KINORA_ROLES: roles,
    KINORA_HOST: '0.0.0.0',
    KINORA_PORT: String(httpPort),
    KINORA_RTMP_PORT: String(rtmpPort),
    KINORA_INTERNAL_URL: url,
    KINORA_DATA_DIR: data,
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_SANDBOX_KEY: sandboxKey,
    KINORA_ENCODE_SLOTS: '1',
    KINORA_DISK_RESERVE: '0',
    KINORA_LOG_LEVEL: 'info',
    ...env,
  }
  let service: Program | undefined
  let earlier = ''
  return {
    ...machine,
    roles,
    url,
    rtmpUrl: `rtmp://${address}:${rtmpPort}/s`,
    service() {
      if (!service) throw new Error(`the service of ${machine.name} was never started`)
      return service
    },
    output: () => earlier + (service?.output() ?? ''),
    async launch(more = {}) {
      earlier += service?.output() ?? ''
      const started = await machine.start([process.execPath, '--import', clockModule, program], {
        env: { ...environment, ...more },
        ...(cores !== undefined && { cores }),
      })
      service = started
      await waitFor(() => /kinora ready.*\n/.test(started.output()) || !started.isRunning(), started.output)
      if (!started.isRunning()) throw new Error(`${machine.name} did not start:\n${started.output()}`)
      return started
    },
    setClock: (offsetMs) => writeFile(clock, String(offsetMs)),
  }
}
