import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder, waitFor } from './harness.ts'

// The certificate authority of caddy, which is a real one. It checks a domain at port 80, so it runs in a network of its
// own, where the domains lead to loopback. Unix sockets connect it with the test: one for requests to the authority, and
// one for its requests to port 80.

const isolate = ['--map-root-user', '--net', '--mount', 'sh', '-c']
const enter = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"'

const runs = (program: string, args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0

/** The reason to skip tests of the authority. False if it can run. */
export const lacksAuthority: string | false = !runs('caddy', ['version']) && 'caddy is not installed'

/** The reason to skip tests in which it issues certificates. False if it can. */
export const cannotIssue: string | false =
  lacksAuthority ||
  (!runs('unshare', [...isolate, enter, '/dev/null', 'true']) &&
    'unshare and ip cannot create a network for the certificate authority')

/** Answered instead of the authority. `hang`: never. */
export type Fault = { status: number; headers?: Record<string, string>; body?: object | string } | 'hang'

export type Authority = {
  directoryUrl: string
  /** The certificate of the directory, for NODE_EXTRA_CA_CERTS. */
  caFile: string
  /** The root of the certificates that it issues. */
  root: string
  /** `POST /acme/local/new-order`, in the order of their arrival. */
  requests: string[]
  /** The payloads of new orders. */
  orders: Record<string, unknown>[]
  /** Decides about each request before the authority sees it. */
  intercept: (call: string) => Fault | undefined
  /** What is at port 80 of the domains. */
  challengePort: number | undefined
}

type Cleanup = { after(end: () => unknown): void }

export async function startAuthority(t: Cleanup, domains: string[]): Promise<Authority> {
  const folder = await temporaryFolder(t)
  const [hosts, config, ca, http] = ['hosts', 'caddy.json', 'ca.sock', 'http.sock'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string]
  await writeFile(hosts, `127.0.0.1 localhost ${domains.join(' ')}\n`)
  await writeFile(config, JSON.stringify(configOf(folder, { ca, http })))
  const caddy = ['caddy', 'run', '--config', config]
  const [program, args]: [string, string[]] = cannotIssue
    ? [caddy[0]!, caddy.slice(1)]
    : ['unshare', [...isolate, enter, hosts, ...caddy]]
  const child = spawn(program, args, { env: { ...process.env, HOME: folder }, stdio: 'ignore' })
  const exited = once(child, 'exit')
  t.after(() => {
    child.kill('SIGKILL')
    return exited
  })

  const authority = { requests: [], orders: [], intercept: () => undefined } as unknown as Authority
  const challenges = createServer((socket) => {
    const target = connect(authority.challengePort ?? 0, '127.0.0.1')
    socket.on('error', () => target.destroy())
    target.on('error', () => socket.destroy())
    socket.pipe(target).pipe(socket)
  })
  challenges.listen(http)
  t.after(() => challenges.close())

  const { cert, key } = makeCertificate(folder)
  const front = createHttpsServer({ cert, key }, (incoming, response) =>
    forward(authority, ca, incoming, response),
  )
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.after(() => {
    front.closeAllConnections()
    front.close()
  })
  const root = join(folder, 'storage/pki/authorities/local/root.crt')
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const probe = request({ socketPath: ca, path: '/acme/local/directory' }, (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      })
      probe.on('error', () => resolve(false)).end()
    })
  await waitFor(isUp, () => `caddy ${child.exitCode === null ? 'runs' : `ended with ${child.exitCode}`}`)
  return Object.assign(authority, {
    directoryUrl: `https://localhost:${(front.address() as AddressInfo).port}/acme/local/directory`,
    caFile: join(folder, 'front.pem'),
    root: await readFile(root, 'utf8'),
  })
}

function configOf(folder: string, { ca, http }: { ca: string; http: string }) {
  const authority = { listen: [`unix/${ca}`], routes: [{ handle: [{ handler: 'acme_server' }] }] }
  // Each request is a connection, because tests change what is at port 80.
  const transport = { protocol: 'http', keep_alive: { enabled: false } }
  const upstreams = [{ dial: `unix/${http}` }]
  const port80 = {
    listen: ['127.0.0.1:80'],
    routes: [{ handle: [{ handler: 'reverse_proxy', transport, upstreams }] }],
  }
  const servers = cannotIssue ? { authority } : { authority, port80 }
  const withoutHttps = Object.entries(servers).map(([name, server]) => [
    name,
    { ...server, automatic_https: { disable: true } },
  ])
  return {
    admin: { disabled: true },
    storage: { module: 'file_system', root: join(folder, 'storage') },
    apps: {
      http: { servers: Object.fromEntries(withoutHttps) },
      pki: { certificate_authorities: { local: { install_trust: false } } },
    },
  }
}

async function forward(
  authority: Authority,
  socketPath: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url: path = '', headers } = incoming
  const body = Buffer.concat(await incoming.toArray())
  const call = `${method} ${path}`
  authority.requests.push(call)
  if (call === 'POST /acme/local/new-order') {
    const { payload } = JSON.parse(body.toString())
    authority.orders.push(JSON.parse(Buffer.from(payload, 'base64url').toString()))
  }
  const fault = authority.intercept(call)
  if (fault === 'hang') return
  if (fault) {
    const text = typeof fault.body === 'object' ? JSON.stringify(fault.body) : (fault.body ?? '')
    return void response.writeHead(fault.status, fault.headers).end(text)
  }
  const sent = request({ socketPath, method, path, headers }, (received) => {
    response.writeHead(received.statusCode!, received.headers)
    received.pipe(response)
  })
  sent.on('error', () => response.destroy())
  sent.end(body)
}

function makeCertificate(folder: string) {
  const [cert, key] = [join(folder, 'front.pem'), join(folder, 'front.key')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'pipe',
  })
  return { cert: readFileSync(cert), key: readFileSync(key) }
}

/** Ports that nothing uses at the moment. */
export async function freePorts<N extends string>(...names: N[]): Promise<Record<N, number>> {
  const servers = await Promise.all(
    names.map(async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))))
  return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as Record<N, number>
}
