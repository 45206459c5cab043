import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { provideSettingKeys } from '../../server/accounts/keys.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import {
  call,
  callUntilAvailable,
  createDatabase,
  type Kinora,
  kinora,
  productionKey,
  query,
  runKinora,
  sandboxKey,
  sharedKinora,
  startKinora,
  temporaryFolder,
  waitFor,
  waitUntilReady,
} from '../support/harness.ts'

const keys = { KINORA_PRODUCTION_KEY: productionKey, KINORA_SANDBOX_KEY: sandboxKey }

/** Starts a process of the service, with a new data folder unless one is given. It is stopped after the test. */
async function start(t: TestContext, env: Record<string, string>): Promise<Kinora> {
  const folder = env.KINORA_DATA_DIR ?? (await temporaryFolder(t))
  const service = await startKinora({ KINORA_DATA_DIR: folder, ...env })
  t.after(() => service.stop())
  return service
}

/** The pids of the Postgres servers in the folder, without their child processes. */
async function postgresServers(folder: string): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [stat, cwd] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
    ])
    const [, state, parent] = /^\d+ \(postgres\) (\w) (\d+)/.exec(stat) ?? []
    if (parent && state !== 'Z' && cwd.startsWith(folder)) parents.set(Number(pid), Number(parent))
  }
  return [...parents].filter(([, parent]) => !parents.has(parent)).map(([pid]) => pid)
}

const create = (url: string, title: string) =>
  call(`${url}/videos`, { method: 'POST', json: { title, tags: ['kept'] } })

describe('two processes on one Postgres', () => {
  let two: Kinora
  // Before the database of the other process is dropped.
  after(() => two?.stop())
  const one = sharedKinora()
  before(async () => {
    two = await startKinora({ KINORA_DATABASE_URL: one.database, KINORA_DATA_DIR: one.data })
  })

  test('a process immediately shows what the other has stored', async () => {
    for (let n = 1; n <= 10; n++) {
      const [here, there] = n % 2 ? [one.url, two.url] : [two.url, one.url]
      const { id } = (await create(here, `${n}`)).body
      assert.equal((await call(`${there}/videos/${id}`)).body.title, `${n}`)
      assert.equal((await call(`${there}/videos?tags[]=kept`)).body.pagination.itemsTotal, n)
      assert.equal((await call(`${there}/tags`)).body.data[0].videoCount, n)
    }
  })

  test('revoking a key takes effect immediately on both processes, also for tokens made from it', async () => {
    const services = [one, two]
    const KINORA_DATABASE_URL = one.database
    const named = ['--environment', 'production', '--name', 'short-lived', '--json']
    const made = await runKinora(['keys', 'create', ...named], { KINORA_DATABASE_URL })
    assert.equal(made.code, 0, made.stderr)
    const { key } = JSON.parse(made.stdout)

    const login = { method: 'POST', json: { apiKey: key }, key: '' }
    const tokens = (await call(`${services[0]!.url}/auth/api-key`, login)).body
    const bearer = { key: '', headers: { authorization: `Bearer ${tokens.access_token}` } }
    const statuses = async () => {
      const responses = services.flatMap(({ url }) => [
        call(`${url}/videos`, { key }),
        call(`${url}/videos`, bearer),
      ])
      return (await Promise.all(responses)).map(({ status }) => status)
    }
    // The second call fills the caches of both processes.
    assert.deepEqual(await statuses(), [200, 200, 200, 200])
    assert.deepEqual(await statuses(), [200, 200, 200, 200])

    const revoked = await runKinora(['keys', 'revoke', ...named], { KINORA_DATABASE_URL })
    assert.equal(revoked.code, 0, revoked.stderr)
    // Postgres notifies the processes.
    await waitFor(async () => (await statuses()).every((status) => status === 401))
    for (const { url } of services) {
      assert.equal((await call(`${url}/auth/api-key`, login)).status, 400)
      const refresh = { method: 'POST', json: { refreshToken: tokens.refresh_token }, key: '' }
      assert.equal((await call(`${url}/auth/refresh`, refresh)).status, 400)
    }
  })

  test('two processes that start at the same time on an empty database become ready and print one pair of keys', async (t) => {
    const KINORA_DATABASE_URL = await createDatabase(t, { isEmpty: true })
    const services = await Promise.all([1, 2].map(() => start(t, { KINORA_DATABASE_URL })))
    const shown = services.map(({ output }) => output()).join('\n')
    const found = [...shown.matchAll(/^ {2}(production|sandbox) +key {2}(\S+)$/gm)]
    assert.deepEqual(found.map(([, environment]) => environment).sort(), ['production', 'sandbox'])
    for (const { url } of services) {
      await waitUntilReady(url)
      for (const [, environment, key] of found) {
        const base = environment === 'sandbox' ? '/sandbox' : ''
        assert.equal((await call(`${url}${base}/videos`, { key: key! })).status, 200)
      }
    }
  })

  test('processes that start at the same time with the same configured keys do not conflict', async (t) => {
    const db = openDb<Tables>(openPool(await createDatabase(t), () => {}))
    t.after(() => db.destroy())
    for (let round = 0; round < 40; round++) {
      const both = { production: `production-${round}`, sandbox: `sandbox-${round}` }
      // The conflict window is less than a millisecond, so this repeats the step instead of starting many processes.
      await Promise.all(Array.from({ length: 15 }, () => provideSettingKeys(db, both, new Date())))
    }
  })
})

describe('the embedded Postgres', () => {
  let env: Record<'KINORA_DATA_DIR' | 'KINORA_LOG_LEVEL', string>
  // Two tests use the same folder one after the other, because creating a cluster takes longer than either of them.
  before(async () => {
    env = { KINORA_DATA_DIR: await temporaryFolder({ after() {} }), ...keys, KINORA_LOG_LEVEL: 'silent' }
  })

  test('the first start prints both keys and a command that creates a video; later starts print no key', async (t) => {
    const KINORA_DATA_DIR = join(await temporaryFolder(t), 'not there yet', 'data')
    const first = await start(t, { KINORA_DATA_DIR })
    const keyOf = (environment: string) =>
      new RegExp(`^ {2}${environment} +key {2}([0-9A-Za-z]{43})$`, 'm').exec(first.output())?.[1]
    assert.equal((await call(`${first.url}/videos`, { key: keyOf('production')! })).status, 200)
    assert.equal((await call(`${first.url}/sandbox/videos`, { key: keyOf('sandbox')! })).status, 200)
    for (const path of ['', '/sandbox', '/docs']) assert.ok(first.output().includes(` ${first.url}${path}`))

    const [line = '', url = '', json = ''] =
      / {2}(?:curl \S+ \S+ (\S+) .* -d '(.*)')$/m.exec(first.output()) ?? []
    assert.ok(line.includes(`-u ${keyOf('production')}: `))
    const hasCurl = spawnSync('curl', ['--version']).status === 0
    const response = hasCurl
      ? JSON.parse(spawnSync('sh', ['-c', `${line} --silent --max-time 300`], { encoding: 'utf8' }).stdout)
      : (await call(url, { method: 'POST', key: keyOf('production')!, json: JSON.parse(json) })).body
    assert.match(response.id, /^vi/)
    assert.equal(response.title, 'My first video')

    assert.equal(await first.stop(), 0)
    assert.deepEqual(await postgresServers(KINORA_DATA_DIR), [], 'the stopped service left Postgres running')
    const second = await start(t, { KINORA_DATA_DIR })
    assert.doesNotMatch(second.output(), / key {2}/)
    assert.ok(second.output().includes('curl -u $KINORA_KEY: '))
    const { body } = await call(`${second.url}/videos`, { key: keyOf('production')! })
    assert.deepEqual(body.data[0].id, response.id)
  })

  test('after kill -9, a restarted service has every accepted video, with a single Postgres server', async (t) => {
    const first = await start(t, env)
    const accepted: string[] = []
    let isKilled = false
    const writers = [1, 2, 3, 4].map(async () => {
      while (!isKilled) {
        const response = await create(first.url, 'accepted').catch(() => undefined)
        if (response?.status === 201) accepted.push(response.body.id)
      }
    })
    await waitFor(() => accepted.length >= 40)
    await first.kill()
    isKilled = true
    await Promise.all(writers)

    const second = await start(t, env)
    assert.equal((await postgresServers(env.KINORA_DATA_DIR)).length, 1)
    const { itemsTotal } = (await call(`${second.url}/videos?tags[]=kept`)).body.pagination
    // A request in progress may have been stored although its response never arrived.
    assert.ok(itemsTotal >= accepted.length && itemsTotal <= accepted.length + 4, `${itemsTotal}`)
    const stored = new Set<string>()
    for (let page = 1; stored.size < itemsTotal; page++) {
      const { body } = await call(`${second.url}/videos?pageSize=100&currentPage=${page}`)
      assert.ok(body.data.length > 0)
      for (const { id } of body.data) stored.add(id)
    }
    assert.deepEqual(
      accepted.filter((id) => !stored.has(id)),
      [],
    )
    assert.equal(await second.stop(), 0)
    assert.deepEqual(await postgresServers(env.KINORA_DATA_DIR), [])
  })

  test('requests return 503 while the embedded Postgres is down, and succeed once it is back', async (t) => {
    const { url } = await start(t, env)
    assert.equal((await create(url, 'before')).status, 201)
    const [server] = await postgresServers(env.KINORA_DATA_DIR)
    process.kill(server!, 'SIGKILL')
    const rejections = new Set<string>()
    const writeUntilStored = () =>
      waitFor(
        async () => {
          const response = await create(url, 'after')
          if (response.status !== 201)
            rejections.add(`${response.status} ${response.body?.type.split('/').pop()}`)
          return response.status === 201
        },
        () => [...rejections].join('\n'),
      )
    await Promise.all([1, 2, 3, 4].map(writeUntilStored))
    assert.deepEqual(
      [...rejections].filter((response) => response !== '503 service-unavailable'),
      [],
    )
    await waitUntilReady(url)
    // On a busy machine, a request can still get no connection.
    const found = await callUntilAvailable(`${url}/videos?title=before`)
    assert.equal(found.status, 200, found.text)
    assert.equal(found.body.pagination.itemsTotal, 1)
    assert.equal((await postgresServers(env.KINORA_DATA_DIR)).length, 1)
  })
})

describe('shutdown', { concurrency: 3 }, () => {
  const authorization = `Basic ${btoa(`${productionKey}:`)}`
  const body = '{"title":"in progress"}'

  function openConnection(url: string): { socket: Socket; received: () => string } {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => {})
    return { socket, received: () => received }
  }

  /** A request whose headers the service has read, with half of its body sent. */
  async function beginRequest(url: string): Promise<{ socket: Socket; received: () => string }> {
    const { socket, received } = openConnection(url)
    socket.write(
      `POST /videos HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    await waitFor(() => received().includes('100 Continue'))
    socket.write(body.slice(0, 5))
    return { socket, received }
  }

  async function isRefused(url: string): Promise<boolean> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    try {
      await once(socket, 'connect')
      return false
    } catch {
      return true
    } finally {
      socket.destroy()
    }
  }

  async function assertExits(service: Kinora) {
    try {
      await waitFor(() => service.process.exitCode !== null)
    } finally {
      await service.kill()
    }
    assert.equal(service.process.exitCode, 0)
  }

  test('on SIGTERM the service closes idle connections, accepts no new ones, finishes requests in progress and exits with 0', async (t) => {
    const service = await kinora(t)
    const idle = openConnection(service.url)
    idle.socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await waitFor(() => idle.received().includes('"alive"'))
    const { socket, received } = await beginRequest(service.url)
    service.process.kill('SIGTERM')
    await waitFor(() => isRefused(service.url))
    // While the other request is still in progress: an idle connection would otherwise outlive it.
    await waitFor(() => idle.socket.destroyed)
    socket.write(body.slice(5))
    await waitFor(() => received().includes('"title":"in progress"'))
    assert.match(received(), /HTTP\/1\.1 201 /)
    await assertExits(service)
    const rows = await query(service.database, 'select title from videos')
    assert.deepEqual(rows, [{ title: 'in progress' }])
  })

  test('SIGINT stops the service as well, without a warning', async (t) => {
    const service = await kinora(t)
    service.process.kill('SIGINT')
    await assertExits(service)
    // On a busy machine the connection for notifications may have been lost before.
    const warning = /"level":"warn"(?!.*lost the connection for notifications).*/
    assert.equal(service.output().match(warning)?.[0], undefined)
  })

  test('a client that never finishes its request does not block the shutdown', async (t) => {
    const service = await kinora(t)
    const { socket, received } = await beginRequest(service.url)
    t.after(() => socket.destroy())
    service.process.kill('SIGTERM')
    await assertExits(service)
    assert.doesNotMatch(received(), / 408 /, 'the service waited for the timeout of the request')
  })
})
