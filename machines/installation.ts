import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleServer } from '../test/support/bundle.ts'
import { root } from '../test/support/harness.ts'
import { type KinoraMachine, openKinora } from './kinora.ts'
import { openMachine } from './machine.ts'
import { type Network, openNetwork } from './network.ts'
import { openPostgres, type PostgresMachines } from './postgres.ts'
import { lacksProxy, openProxy, type ProxyMachine } from './proxy.ts'
import { openStore, type StoreMachine } from './store.ts'

/** An installation of several machines that share nothing but Postgres and an S3 store. */
export type Installation = {
  /** Of all machines. It is removed at the end. */
  folder: string
  network: Network
  postgres: PostgresMachines
  store: StoreMachine
  api: KinoraMachine[]
  worker: KinoraMachine[]
  live: KinoraMachine[]
  kinora: KinoraMachine[]
  /** Undefined without nginx. */
  proxy: ProxyMachine | undefined
  close(): Promise<void>
}

export type InstallationOptions = {
  /** How many machines of each role. */
  counts?: { api: number; worker: number; live: number }
  /** More settings of every service. */
  env?: Record<string, string>
  /** The disk of each machine that runs Kinora, in memory. */
  diskBytes?: number
  report?: (step: string) => void
}

const two = { api: 2, worker: 2, live: 2 }
const roles = ['api', 'worker', 'live'] as const

export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const { counts = two, env = {}, diskBytes, report = () => {} } = options
  const parent = await mkdtemp(join(tmpdir(), 'kinora-machines-'))
  // Postgres and ffmpeg run as other users.
  await chmod(parent, 0o755)
  const closers: (() => Promise<unknown>)[] = [() => rm(parent, { recursive: true, force: true })]
  const close = async () => {
    for (const each of closers.splice(0).reverse()) await each()
  }
  try {
    const network = await openNetwork()
    closers.push(() => network.close())
    const open = async (name: string, disk?: number) => {
      const machine = await openMachine({
        network,
        parent,
        name,
        ...(disk !== undefined && { diskBytes: disk }),
      })
      closers.push(() => machine.close())
      return machine
    }
    report('starting Postgres and the S3 store')
    const postgres = await openPostgres(parent, [await open('postgres-1'), await open('postgres-2')])
    closers.push(() => postgres.pair.kill())
    const store = await openStore(await open('store'))
    await store.launch()
    report('bundling the service')
    const program = process.env.TEST_SERVER ?? (await bundle(closers))
    const settings = {
      KINORA_DATABASE_URL: postgres.url,
      ...store.env,
      KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
      KINORA_ADMIN_PASSWORD: 'machines',
      KINORA_RATE_LIMITS: 'off',
      ...env,
    }
    const kinora: KinoraMachine[] = []
    for (const role of roles)
      for (let i = 1; i <= counts[role]; i++) {
        const machine = await open(`${role}-${i}`, diskBytes)
        kinora.push(await openKinora({ machine, roles: role, program, env: settings }))
      }
    report('starting the services')
    // The first one creates the schema.
    await kinora[0]?.launch()
    await Promise.all(kinora.slice(1).map((each) => each.launch()))
    closers.push(() => Promise.all(kinora.map((each) => each.service().end())))
    const having = (role: string) => kinora.filter((each) => each.roles === role)
    const upstreams = having('api').map(({ url }) => url)
    const proxy = lacksProxy ? undefined : await openProxy(await open('proxy'), upstreams)
    return {
      folder: parent,
      network,
      postgres,
      store,
      kinora,
      proxy,
      api: having('api'),
      worker: having('worker'),
      live: having('live'),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function bundle(closers: (() => Promise<unknown>)[]): Promise<string> {
  const { service, remove } = await bundleServer(root)
  closers.push(remove)
  return service
}
