import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../bench/nginx.ts'
import { chooseAccount } from '../../server/lib/postgres/account.ts'
import { findPackage, prepareBinaries } from '../../server/lib/postgres/binaries.ts'
import type { ComposeService } from './compose.ts'
import { kinoraCommand, root, runKinora, spawnKinora, temporaryFolder, waitFor } from './harness.ts'
import type { S3Store } from './s3-store.ts'

// Runs the services of the compose files as processes on the loopback address: what a container has, its own network,
// folders and programs, is translated by `translate`. Nothing else of the files is changed.

type Cleanup = { after(end: () => unknown): void }

/** What the tests have instead of the network and the volumes of containers. */
export type Place = {
  /** `kinora:8080`, as it is in the files, and the address of the process that runs here instead. */
  addresses: Map<string, string>
  socketFolder: string
  postgresPort: number
  store: S3Store | undefined
}

export type Container = {
  name: string
  output(): string
  /** Runs the health check of the file. Undefined: its program is not on this machine. */
  isHealthy(): Promise<boolean | undefined>
  kill(): Promise<void>
}

const host = '127.0.0.1'

/** All differences between the environment of a container and that of the process that stands for it. */
function translate(environment: Record<string, string>, place: Place): Record<string, string> {
  const replace = (value: string) => {
    let text = value
      .replace(
        'localhost/kinora?host=/run/postgresql',
        `localhost:${place.postgresPort}/kinora?host=${place.socketFolder}`,
      )
      // The networks of Docker
      .replace('10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7', host)
    for (const [name, address] of place.addresses)
      text = text.replaceAll(new RegExp(`(?<![\\w.-])${name}(?![\\w.])`, 'g'), address)
    return text
  }
  const translated = Object.entries(environment).map(([name, value]) => [name, replace(String(value))])
  // The store of the tests has fixed keys.
  return { ...Object.fromEntries(translated), ...(environment.KINORA_S3_BUCKET && place.store?.env) }
}

/** A process of Kinora, with the settings of the image. */
export async function startKinoraContainer(
  t: Cleanup,
  name: string,
  { environment = {}, healthcheck, command = ['kinora', 'start'] }: ComposeService,
  place: Place,
): Promise<Container> {
  const [program, ...args] = command
  if (program !== 'kinora') throw new Error(`${name} runs ${program}`)
  const image = { KINORA_HOST: '0.0.0.0', KINORA_PORT: '8080', KINORA_RTMP_PORT: '1935' }
  const addressOf = (port: string) => place.addresses.get(`${name}:${port}`) ?? `${host}:0`
  const env = {
    ...translate(environment, place),
    ...image,
    KINORA_HOST: host,
    KINORA_PORT: new URL(`http://${addressOf(image.KINORA_PORT)}`).port,
    KINORA_RTMP_PORT: new URL(`http://${addressOf(image.KINORA_RTMP_PORT)}`).port,
    KINORA_SRT_PORT: '0',
    KINORA_WEBRTC_PORT: '0',
    KINORA_DATA_DIR: await temporaryFolder(t),
  }
  const service = spawnKinora(env, [kinoraCommand(), ...args])
  t.after(() => service.stop())
  const [, checked, ...options] = healthcheck?.test ?? []
  if (checked !== 'kinora') throw new Error(`${name} has another health check: ${checked}`)
  return {
    name,
    output: service.output,
    kill: service.kill,
    isHealthy: async () => (await runKinora(options, env)).code === 0,
  }
}

/** Does what the entrypoint of the image does with its variables, and then runs the command of the file. */
export async function startPostgresContainer(
  t: Cleanup,
  name: string,
  { environment = {}, command = [], healthcheck }: ComposeService,
  place: Place,
): Promise<Container> {
  const folder = await temporaryFolder(t)
  const data = join(folder, 'data')
  await mkdir(data)
  const account = await chooseAccount(folder, data)
  for (const each of [data, place.socketFolder]) await chown(each, account.uid, account.gid)
  const { initdb, postgres, env: ownEnv } = await prepareBinaries(findPackage(), folder, account.user)
  const env = { ...ownEnv, PGPORT: String(place.postgresPort) }
  const as = { env, ...(account.user && { uid: account.uid, gid: account.gid }) }
  const { POSTGRES_USER: user = '', POSTGRES_DB: database, POSTGRES_HOST_AUTH_METHOD: method } = environment
  const initdbArgs = environment.POSTGRES_INITDB_ARGS?.split(' ') ?? []
  // Without waiting for the disk, and for no checkpoint: no test depends on it.
  await promisify(execFile)(
    initdb,
    ['-D', data, '-U', user, '--auth-local=trust', `--auth-host=${method}`, '--no-sync', ...initdbArgs],
    as,
  )
  const [program, ...args] = command
  if (program !== 'postgres') throw new Error(`${name} runs ${program}`)
  const child = spawn(postgres, [...args, '-D', data, '-k', place.socketFolder, '-c', 'fsync=off'], as)
  const { output, end } = follow(child)
  t.after(() => end('SIGINT'))
  const connect = async (to: string) => {
    const client = new pg.Client({ host: place.socketFolder, port: place.postgresPort, user, database: to })
    await client.connect()
    return client
  }
  await waitFor(
    () =>
      connect('postgres')
        .then((client) => client.end().then(() => true))
        .catch(() => false),
    output,
  )
  const client = await connect('postgres')
  await client.query(`create database ${database}`)
  await client.end()
  return { name, output, kill: () => end('SIGKILL'), isHealthy: () => runCheck(healthcheck, env) }
}

/** The proxy with the Caddyfile of the project, its certificate from Caddy's own authority for localhost. */
export async function startCaddyContainer(
  t: Cleanup,
  name: string,
  { environment = {}, healthcheck, volumes = [] }: ComposeService,
  place: Place,
): Promise<Container> {
  const folder = await temporaryFolder(t)
  const [mounted] = volumes
    .map((volume) => volume.split(':'))
    .filter(([, path]) => path === '/etc/caddy/Caddyfile')
  const text = await readFile(join(root, 'deploy', mounted?.[0] ?? ''), 'utf8')
  const admin = `${host}:${await freePort()}`
  // The only changes to the Caddyfile: its ports, and that the authority is not added to those of this machine.
  const options = `{\n\tadmin ${admin}\n\thttp_port ${await freePort()}\n\tskip_install_trust\n`
  const config = join(folder, 'Caddyfile')
  await writeFile(config, text.replace(/^\{\n/m, options))
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    XDG_DATA_HOME: folder,
    ...translate(environment, place),
  }
  const child = spawn('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], { env })
  const { output, end } = follow(child)
  t.after(() => end('SIGTERM'))
  const certificate = join(folder, 'caddy/pki/authorities/local/root.crt')
  await waitFor(
    () =>
      readFile(certificate).then(
        () => true,
        () => false,
      ),
    output,
  )
  setDefaultCACertificates([await readFile(certificate, 'utf8')])
  const check = healthcheck && {
    ...healthcheck,
    test: healthcheck.test.map((word) => word.replace('127.0.0.1:2019', admin)) as [string, ...string[]],
  }
  return { name, output, kill: () => end('SIGKILL'), isHealthy: () => runCheck(check, env) }
}

/** The S3 store of the tests stands for that of the file, whose program is not available here. */
export const storeContainer = (name: string): Container => ({
  name,
  output: () => '',
  isHealthy: async () => undefined,
  async kill() {},
})

async function runCheck(
  healthcheck: ComposeService['healthcheck'],
  env: NodeJS.ProcessEnv,
): Promise<boolean | undefined> {
  const [kind, program = '', ...args] = healthcheck?.test ?? []
  if (kind !== 'CMD') throw new Error(`a health check of the kind ${kind}`)
  if (spawnSync(program, ['--version']).error) return undefined
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' })
  await once(child, 'exit')
  return child.exitCode === 0
}

function follow(child: ChildProcess) {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk
    })
  const exited = once(child, 'exit')
  return {
    output: () => output,
    async end(signal: NodeJS.Signals) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await exited
    },
  }
}
