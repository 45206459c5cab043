import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { get } from 'node:https'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { freePort } from '../../bench/nginx.ts'
import { settings } from '../../server/read-config.ts'
import { type ComposeService, type Composition, readComposition, startOrder } from '../support/compose.ts'
import {
  type Container,
  type Place,
  startCaddyContainer,
  startKinoraContainer,
  startPostgresContainer,
  storeContainer,
} from '../support/compose-containers.ts'
import { call, root, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { startS3Store } from '../support/s3-store.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

// No container engine is needed: the test reads deploy/*.yaml and starts the same processes with the same commands,
// environment, health checks and order on the loopback address. compose-containers.ts has the differences.

const one = ['compose.yaml']
const scaled = ['compose.yaml', 'compose.scale.yaml']
const password = 'correct horse $battery'
const values = (domain: string) => ({
  DOMAIN: domain,
  EMAIL: 'operator@example.com',
  ADMIN_PASSWORD: password,
  STORE_SECRET: '00'.repeat(32),
})
const lacksCaddy = spawnSync('caddy', ['version']).error ? 'caddy is not installed' : false
const isOwn = ({ image }: ComposeService) => image === 'kinora:latest'

for (const files of [one, scaled]) {
  const composition = readComposition(files, values('video.example.com'))
  const services = Object.entries(composition.services)

  describe(files.at(-1)!, () => {
    test('every setting exists', () => {
      for (const [service, { environment = {} }] of services)
        for (const name of Object.keys(environment).filter((each) => each.startsWith('KINORA_')))
          assert.ok(name in settings, `${service} sets ${name}`)
    })

    test('images have a fixed version, and everything that a service refers to exists', () => {
      for (const [name, service] of services) {
        if (!isOwn(service)) assert.match(service.image, /:v?\d+\.\d+(\.\d+)?(-\w+)?$/, name)
        assert.ok(service.healthcheck, `${name} has no health check`)
        assert.equal(service.read_only, true, `${name} can write to its root`)
        for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
          assert.ok(composition.services[other], `${name} depends on ${other}`)
          assert.equal(condition, 'service_healthy')
        }
        for (const volume of service.volumes ?? []) {
          const [source = '', path] = volume.split(':')
          if (source.startsWith('./')) assert.ok(existsSync(join(root, 'deploy', source)), volume)
          else if (path) assert.ok(source in composition.volumes, volume)
        }
      }
    })

    test('only the ports for browsers and encoders are published', () => {
      const ports = services.flatMap(([, { ports = [] }]) => ports)
      assert.deepEqual(ports.sort(), [
        '1935:1935',
        '443:443',
        '443:443/udp',
        '6200:6200/udp',
        '80:80',
        '8189:8189/udp',
      ])
    })

    test('a process of Kinora has more time to stop than it takes', () => {
      const own = services.filter(([, service]) => isOwn(service))
      assert.equal(own.length, files === one ? 1 : 5)
      for (const [, { stop_grace_period: period = '' }] of own) assert.ok(Number.parseInt(period, 10) > 30)
    })
  })
}

test('the files have no secrets, and compose names the value that is missing in .env', () => {
  const example = readFileSync(join(root, 'deploy/.env.example'), 'utf8')
  const names = [...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])
  assert.deepEqual(names, [
    ['DOMAIN', ''],
    ['EMAIL', ''],
    ['ADMIN_PASSWORD', "''"],
  ])
  const all: Record<string, string> = values('video.example.com')
  for (const name of Object.keys(all)) {
    const without = { ...all, [name]: '' }
    assert.throws(() => readComposition(scaled, without), new RegExp(`set ${name} in \\.env`))
  }
})

test('the processes of both files have the same restrictions', () => {
  const { kinora } = readComposition(one, values('a')).services
  const others = Object.values(readComposition(scaled, values('a')).services).filter(isOwn)
  const restrictions = [
    'build',
    'restart',
    'stop_grace_period',
    'read_only',
    'cap_drop',
    'security_opt',
    'healthcheck',
  ]
  for (const other of others)
    for (const name of restrictions) assert.deepEqual(other[name], kinora![name], name)
  for (const { environment = {} } of others)
    for (const [name, value] of Object.entries(kinora!.environment ?? {}))
      if (name !== 'KINORA_ALLOWED_HOSTS') assert.equal(environment[name], value)
})

type Running = { url: string; containers: Map<string, Container>; addresses: Place['addresses'] }

/** Starts everything in the order of the files, and waits for the health checks that others depend on. */
async function up(t: TestContext, files: string[]): Promise<Running> {
  const domain = `localhost:${await freePort()}`
  const composition = readComposition(files, values(domain))
  const ends: (() => unknown)[] = []
  // In the reverse order: the database stops last.
  t.after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const cleanup = { after: (end: () => unknown) => ends.push(end) }
  const place = await findPlace(t, composition)
  const containers = new Map<string, Container>()
  for (const name of startOrder(composition)) {
    const service = composition.services[name]!
    const start = isOwn(service) ? startKinoraContainer : starts[name]
    assert.ok(start, name)
    const container = await start(cleanup, name, service, place)
    containers.set(name, container)
    await waitUntilHealthy(t, container)
  }
  return { url: `https://${domain}`, containers, addresses: place.addresses }
}

const starts: Record<string, typeof startKinoraContainer> = {
  postgres: startPostgresContainer,
  proxy: startCaddyContainer,
  store: async (_, name) => storeContainer(name),
}

async function findPlace(t: TestContext, { services }: Composition): Promise<Place> {
  const addresses = new Map<string, string>()
  for (const [name, service] of Object.entries(services).filter(([, each]) => isOwn(each))) {
    addresses.set(`${name}:8080`, `127.0.0.1:${await freePort()}`)
    if (service.ports) addresses.set(`${name}:1935`, `127.0.0.1:${await freePort()}`)
  }
  const socketFolder = join(await temporaryFolder(t), 'socket')
  await mkdir(socketFolder, { mode: 0o775 })
  const store = services.store ? await startS3Store(t) : undefined
  return { addresses, socketFolder, postgresPort: await freePort(), store }
}

async function waitUntilHealthy(t: TestContext, { name, isHealthy, output }: Container): Promise<void> {
  await waitFor(async () => {
    const isReady = await isHealthy()
    if (isReady === undefined) t.diagnostic(`the health check of ${name} was not run: its program is missing`)
    return isReady !== false
  }, output)
}

/** The keys that the first start prints. In a container: docker compose logs. */
async function printedKey({ containers }: Running): Promise<string> {
  const output = () => [...containers.values()].map((container) => container.output()).join('\n')
  const keys = () => [...output().matchAll(/^ {2}production +key {2}(\S+)$/gm)]
  // They are printed at the end of the start, shortly after the process is healthy.
  await waitFor(() => keys().length > 0, output)
  assert.equal(keys().length, 1)
  return keys()[0]![1]!
}

const playlistUrls = (text: string, base: string) =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => new URL(line, base).href)

async function loadText(url: string): Promise<string> {
  const { status, text } = await call(url, { key: '' })
  assert.equal(status, 200, `${url}: ${text}`)
  return text
}

/** Loads the first segment of each quality, as a viewer does. */
async function watch(master: string): Promise<void> {
  const qualities = playlistUrls(await loadText(master), master)
  assert.ok(qualities.length > 0)
  for (const quality of qualities) {
    const [segment] = playlistUrls(await loadText(quality), quality)
    const response = await fetch(segment!)
    assert.equal(response.status, 200, segment)
    assert.ok((await response.arrayBuffer()).byteLength > 100, segment)
  }
}

async function uploadAndWatch(t: TestContext, { url }: Running, key: string): Promise<void> {
  const file = join(await temporaryFolder(t), 'film.mp4')
  await makeClip(file, { size: '160x120', rate: '10', seconds: 1 })
  const videoId = await uploadVideo({ url, key }, file)
  const { qualities } = await waitForEncoding({ url, key }, videoId)
  assert.ok(
    qualities.every(({ status }) => status === 'encoded'),
    JSON.stringify(qualities),
  )
  await watch(`${url}/vod/${videoId}/hls/manifest.m3u8`)
}

async function broadcastAndWatch({ url, addresses }: Running, key: string): Promise<void> {
  const rtmp = [...addresses].find(([name]) => name.endsWith(':1935'))![1]
  const { liveStreamId, streamKey } = await createLiveStream({ url, key }, { record: false })
  const encoder = await RtmpEncoder.connect({ output: () => `rtmp://${rtmp}/s` }, streamKey)
  await encoder.send(makeSource({ frameRate: 10, seconds: 8 }))
  const master = `${url}/live/${liveStreamId}.m3u8`
  await waitFor(async () => (await call(master, { key: '' })).status === 200)
  await watch(master)
  // Low latency: the request for a part that does not exist yet is answered when it does.
  const [source = ''] = playlistUrls(await loadText(master), master)
  assert.match(await loadText(source), /#EXT-X-PART:/)
  await call(`${url}/live-streams/${liveStreamId}/complete`, { method: 'PUT', key })
  await encoder.abort()
}

/** The proxy passes on each event when it is sent, and a disconnected client ends the request. */
async function receiveEvents({ url }: Running): Promise<void> {
  const login = await call(`${url}/dashboard/login`, {
    method: 'POST',
    key: '',
    json: { password },
    headers: { origin: url },
  })
  assert.ok(login.status < 300, login.text)
  const cookie = login.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const request = get(`${url}/dashboard/changes/production`, { headers: { cookie } })
  const [response] = await once(request, 'response')
  assert.match(response.headers['content-type'], /event-stream/)
  await once(response, 'data')
  request.destroy()
}

const internalPaths = [
  '/metrics',
  '/metrics/',
  '//metrics',
  '/%6detrics',
  '/METRICS',
  '/sandbox/metrics',
  '/dashboard/api/production/metrics',
  '/internal/live/x/feed',
]

/** Sends the path as it is. `fetch` would normalize it. */
async function statusOf(url: string, path: string): Promise<number> {
  const request = get(url, { path })
  const [response] = await once(request, 'response')
  response.resume()
  return response.statusCode
}

async function checkProxy(running: Running): Promise<void> {
  for (const path of internalPaths) assert.ok([401, 404].includes(await statusOf(running.url, path)), path)
  const client = connectHttp2(running.url)
  await once(client, 'connect')
  assert.equal(client.alpnProtocol, 'h2')
  client.close()
  await receiveEvents(running)
}

test('compose.yaml runs a service that encodes, plays and broadcasts', { skip: lacksCaddy }, async (t) => {
  const running = await up(t, one)
  const key = await printedKey(running)
  await uploadAndWatch(t, running, key)
  await broadcastAndWatch(running, key)
  await checkProxy(running)
})

test('compose.scale.yaml does the same with five processes, also without one of the api processes', {
  skip: lacksCaddy,
}, async (t) => {
  const running = await up(t, scaled)
  const key = await printedKey(running)
  await uploadAndWatch(t, running, key)
  await running.containers.get('api-1')!.kill()
  for (let n = 0; n < 4; n++) assert.equal((await call(`${running.url}/videos`, { key })).status, 200)
  // Old versions of Caddy do not repeat requests with a body, so wait until it knows.
  const { output } = running.containers.get('proxy')!
  const failed = `"host":"${running.addresses.get('api-1:8080')}"`
  await waitFor(() => output().includes(failed), output)
  await broadcastAndWatch(running, key)
})
