import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { temporaryFolder, waitFor } from './harness.ts'

// OpenStack Swift with its S3 layer, as one node on loopback. A real store behaves differently from an emulator: it starts
// slowly, has its own limits, keeps the parts of objects visible, and words its responses differently.

const servers = ['account', 'container', 'object', 'proxy'] as const
type Server = (typeof servers)[number]

const isOnPath = (program: string) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** The reason to skip tests that need Swift. False if Swift is installed. */
export const lacksSwift: string | false =
  !servers.every((server) => isOnPath(`swift-${server}-server`)) &&
  'packages are not installed: swift-proxy swift-account swift-container swift-object'

export type Swift = {
  endpoint: string
  keys: { region: string; accessKey: string; secretKey: string }
  /** Creates a bucket with a new name. */
  createBucket(): Promise<string>
  /** Every object of a bucket, and every stored part that belongs to no object, as `segments/…`. */
  list(bucket: string): Promise<string[]>
  /** kill -9 of all its processes. */
  kill(): Promise<void>
  /** Starts it again at the same endpoint, with the same content. */
  start(): Promise<void>
  /** SIGSTOP or SIGCONT to the process that clients talk to. */
  signal(signal: NodeJS.Signals): void
}

const account = 'AUTH_test'
const keys = { region: 'us-east-1', accessKey: 'test:tester', secretKey: 'testing' }

export async function startSwift(t: { after(end: () => unknown): void }): Promise<Swift> {
  const folder = await temporaryFolder(t)
  const ports = await freePorts()
  const cache = await startCache(t)
  await mkdir(join(folder, 'devices/d1'), { recursive: true })
  for (const server of servers) {
    await writeFile(join(folder, `${server}.conf`), configOf(server, folder, ports[server], cache))
    if (server !== 'proxy') await writeFile(join(folder, `${server}.ring.gz`), ringOf(ports[server]))
  }
  const endpoint = `http://127.0.0.1:${ports.proxy}`
  const client = new S3Client({
    endpoint,
    region: keys.region,
    forcePathStyle: true,
    credentials: { accessKeyId: keys.accessKey, secretAccessKey: keys.secretKey },
  })
  let children: Child[] = []
  let buckets = 0
  const kill = async () => {
    await Promise.all(children.map(({ end }) => end()))
    children = []
  }
  const start = async () => {
    children = servers.map((server) => startServer(folder, server))
    const output = () => children.map((child) => child.output()).join('')
    await waitFor(async () => (await Promise.all(Object.values(ports).map(accepts))).every(Boolean), output)
  }
  t.after(() => client.destroy())
  t.after(kill)
  // The Swift processes run in sessions of their own, which Ctrl-C does not reach. They are killed when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  await start()
  return {
    endpoint,
    keys,
    async createBucket() {
      const name = `videos-${++buckets}`
      await client.send(new CreateBucketCommand({ Bucket: name }))
      return name
    },
    list: (bucket) => listBucket(ports, bucket),
    kill,
    start,
    signal: (signal) => children.at(-1)?.process.kill(signal),
  }
}

type Ports = Record<Server, number>

/** All ports are open at the same time, so that they differ. */
async function freePorts(): Promise<Ports> {
  const listeners = servers.map(() => createServer().listen(0, '127.0.0.1'))
  await Promise.all(listeners.map((listener) => once(listener, 'listening')))
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port)
  await Promise.all(listeners.map((listener) => once(listener.close(), 'close')))
  return Object.fromEntries(servers.map((server, i) => [server, ports[i]])) as Ports
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/**
 * A ring of one device and one partition, in Swift's format 1. `swift-ring-builder` needs three calls for each ring, which
 * take nine seconds in total.
 */
function ringOf(port: number): Buffer {
  const address = { ip: '127.0.0.1', port, replication_ip: '127.0.0.1', replication_port: port }
  const device = { id: 0, device: 'd1', region: 1, zone: 1, weight: 1, meta: '', ...address }
  const ring = { devs: [device], part_shift: 32, replica_count: 1, byteorder: 'little', version: 1 }
  const json = Buffer.from(JSON.stringify(ring))
  const head = Buffer.from('R1NG\0\x01\0\0\0\0')
  head.writeUInt32BE(json.length, 6)
  return gzipSync(Buffer.concat([head, json, Buffer.from([0, 0])]))
}

/**
 * Each server is one process. The timeouts are long because no replicator runs here that would repair an incomplete
 * listing later. Listing pages are short, so that clients have to page.
 */
function configOf(server: Server, folder: string, port: number, cache: number): string {
  const shared = `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, 'devices')}
mount_check = false
fallocate_reserve = 0
log_level = CRITICAL
conn_timeout = 60
node_timeout = 60
container_update_timeout = 60
`
  const app = `[app:${server}-server]
use = egg:swift#${server}
`
  if (server !== 'proxy') return `${shared}[pipeline:main]\npipeline = ${server}-server\n${app}`
  return `${shared}[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth copy slo dlo versioned_writes proxy-server
${app}account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = ${keys.secretKey} .admin
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cache}
[filter:s3api]
use = egg:swift#s3api
max_bucket_listing = 10
${['catch_errors', 'gatekeeper', 'copy', 'slo', 'dlo', 'listing_formats', 'versioned_writes'].map((name) => `[filter:${name}]\nuse = egg:swift#${name}\n`).join('')}`
}

/** The part of memcached that Swift uses. Without a cache every request takes twice as long. */
async function startCache(t: { after(end: () => unknown): void }): Promise<number> {
  const values = new Map<string, string>()
  const server = createServer((socket) => {
    let input = ''
    socket.setEncoding('latin1').on('error', () => {})
    socket.on('data', (chunk) => {
      input += chunk
      for (let end = input.indexOf('\r\n'); end >= 0; end = input.indexOf('\r\n')) {
        const [command, key = '', flags, , bytes] = input.slice(0, end).split(' ')
        const value = command === 'set' ? input.slice(end + 2, end + 2 + Number(bytes)) : ''
        const next = end + 2 + (command === 'set' ? Number(bytes) + 2 : 0)
        if (input.length < next) return
        input = input.slice(next)
        if (command === 'set') values.set(key, `VALUE ${key} ${flags} ${bytes}\r\n${value}\r\n`)
        if (command === 'delete') values.delete(key)
        const replies = { set: 'STORED', delete: 'DELETED', get: `${values.get(key) ?? ''}END` }
        socket.write(`${replies[command as keyof typeof replies] ?? 'ERROR'}\r\n`, 'latin1')
      }
    })
  }).listen(0, '127.0.0.1')
  server.unref()
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

type Child = { process: ChildProcess; output(): string; end(): Promise<void> }

function startServer(folder: string, server: Server): Child {
  const child = spawn(`swift-${server}-server`, [join(folder, `${server}.conf`), '-v'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const append = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', append)
  child.stderr.on('data', append)
  const exited = once(child, 'exit')
  const killNow = () => child.kill('SIGKILL')
  // Kills the server even if the tests exit early.
  process.once('exit', killNow)
  return {
    process: child,
    output: () => output,
    async end() {
      process.off('exit', killNow)
      killNow()
      await exited
    },
  }
}

/** Reads from the servers behind the proxy, because the S3 layer lists neither parts nor orphans. */
async function listBucket(ports: Ports, bucket: string): Promise<string[]> {
  const names = async (container: string) => {
    const path = `d1/0/${account}/${encodeURIComponent(container)}`
    const response = await fetch(`http://127.0.0.1:${ports.container}/${path}?format=json`)
    if (response.status === 404) return []
    return ((await response.json()) as { name: string }[]).map(({ name }) => name)
  }
  const objects = (await names(bucket)).filter((name) => name !== '.check')
  const known = new Set<string>()
  for (const name of objects) {
    const object = await fetch(`http://127.0.0.1:${ports.object}/d1/0/${account}/${bucket}/${name}`)
    const isLarge = object.headers.get('x-static-large-object') === 'True'
    if (!isLarge) await object.body?.cancel()
    else for (const { name } of (await object.json()) as { name: string }[]) known.add(name)
  }
  const segments = await names(`${bucket}+segments`)
  const orphans = segments.filter((name) => !known.has(`/${bucket}+segments/${name}`))
  return [...objects, ...orphans.map((name) => `segments/${name}`)].sort()
}
