import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import {
  call,
  kinora,
  kinoraCommand,
  productionKey,
  root,
  runKinora,
  sandboxKey,
  settingsOf,
  sharedKinora,
  startKinora,
  temporaryFolder,
} from '../support/harness.ts'

const service = sharedKinora({ KINORA_ROLES: 'api' })

/** Runs commands with a config folder and a data folder of their own. */
async function createUser(t: TestContext, more: Record<string, string> = {}) {
  const folder = await temporaryFolder(t)
  const env = { XDG_CONFIG_HOME: folder, KINORA_DATA_DIR: join(folder, 'data'), ...more }
  const run = (args: string[], other = {}) => runKinora(args, { ...env, ...other })
  return {
    file: join(folder, 'kinora/config.json'),
    env,
    run,
    /** The output of a command that succeeds. */
    async succeed(args: string[], other = {}): Promise<string> {
      const { code, stdout, stderr } = await run(args, other)
      assert.deepEqual([code, stderr], [0, ''], stdout)
      return stdout
    },
    async fail(args: string[], expected: RegExp, other = {}): Promise<void> {
      const { code, stdout, stderr } = await run(args, other)
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, expected)
      assert.match(stderr, /^kinora: [^\n]+\n$/)
    },
    async login(args: string[], key: string) {
      const child = spawn(process.execPath, [kinoraCommand(), 'login', ...args], {
        cwd: root,
        env: { PATH: process.env.PATH, HOME: folder, ...env },
      })
      child.stdin.end(`${key}\n`)
      const [stdout, stderr] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ])
      return { code: child.exitCode, stdout, stderr }
    },
  }
}

/** A server that records what it receives. */
async function startOther(t: TestContext) {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(`${request.url} ${request.headers.authorization ?? 'without a key'}`)
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"title":"The API key is invalid."}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

describe('the service on this machine', () => {
  test('commands need no key', async (t) => {
    const { data } = service
    const { succeed } = await createUser(t, { KINORA_DATA_DIR: data })
    assert.equal(await succeed(['videos', 'list']), 'There are no videos.\n')
    const { body } = await call(`${service.url}/videos`, {
      method: 'POST',
      key: sandboxKey,
      json: { title: 'x' },
    })
    assert.match(await succeed(['videos', 'list', '-e', 'sandbox']), new RegExp(body.videoId))
    assert.equal(await succeed(['videos', 'list', '--environment', 'production']), 'There are no videos.\n')
    const { url, environment, urlFrom } = JSON.parse(await succeed(['whoami', '--json']))
    assert.deepEqual([environment, urlFrom], ['production', data])
    // The same service by its URL.
    for (const KINORA_URL of [url, service.url, `${service.url}/sandbox`])
      assert.match(
        await succeed(['whoami'], { KINORA_URL }),
        KINORA_URL.endsWith('x') ? /sandbox/ : /production/,
      )
  })

  test('its keys survive a restart, and no other service accepts them', async (t) => {
    const own = await kinora(t, { KINORA_ROLES: 'api' })
    const { succeed } = await createUser(t, { KINORA_DATA_DIR: own.data })
    const read = async () => JSON.parse(await readFile(join(own.data, 'local-keys.json'), 'utf8'))
    const keys = await read()
    await own.stop()
    const again = await startKinora({ ...settingsOf(own), KINORA_ROLES: 'api' })
    t.after(() => again.stop())
    assert.deepEqual(await read(), keys)
    assert.equal(await succeed(['videos', 'list']), 'There are no videos.\n')
    const status = async (url: string, key: string) => (await call(`${url}/videos`, { key })).status
    assert.deepEqual(
      await Promise.all([
        status(again.url, keys.production),
        status(`${again.url}/sandbox`, keys.sandbox),
        status(`${again.url}/sandbox`, keys.production),
        status(service.url, keys.production),
      ]),
      [200, 200, 401, 401],
    )
  })

  test('without a service, the command says how to get one', async (t) => {
    const { fail, run } = await createUser(t)
    await fail(
      ['videos', 'list'],
      /No service is running on \S+data\. Start it with "npm run kinora -- start"/,
    )
    const { code, stderr } = await run(['login'])
    assert.deepEqual([code, /URL is missing/.test(stderr)], [2, true], stderr)
  })
})

describe('kinora login', () => {
  test('stores the key of each environment for this user only, and logout removes them', async (t) => {
    const { login, succeed, fail, file } = await createUser(t)
    const first = await login([`${service.url}/`], sandboxKey)
    assert.equal(
      first.stdout,
      `Logged in to ${service.url} (sandbox). The key is in ${file}.\n`,
      first.stderr,
    )
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.match(await succeed(['whoami']), /Environment +sandbox\n/)
    await fail(
      ['videos', 'list', '-e', 'production'],
      /There is no production key for \S+\. Run "\S.* login http/,
    )
    await login([service.url], productionKey)
    assert.match(await succeed(['whoami']), /Environment +production\n/)
    assert.match(await succeed(['whoami', '-e', 'sandbox']), /Environment +sandbox\n/)
    assert.deepEqual(await readdir(join(file, '..')), ['config.json'])

    assert.match(await succeed(['logout']), /^Logged out of \S+\.\n$/)
    assert.deepEqual(await readdir(join(file, '..')), [])
    await fail(['logout'], /You are not logged in/)
    await fail(['videos', 'list'], /No service is running/)
  })

  test('does not store a key that the service rejects', async (t) => {
    const { login, file } = await createUser(t)
    const { code, stdout, stderr } = await login([service.url], 'wrong')
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /responded with 401: .* Check the key\.\n$/)
    const malformed = await login([service.url], 'a key')
    assert.deepEqual([malformed.code, /The key must be/.test(malformed.stderr)], [2, true], malformed.stderr)
    await assert.rejects(stat(file), { code: 'ENOENT' })
  })

  test('never sends a stored key to another service', async (t) => {
    const { login, fail, succeed } = await createUser(t, { KINORA_DATA_DIR: service.data })
    const other = await startOther(t)
    await login([service.url], productionKey)
    await fail(['videos', 'list'], /There is no API key for http/, { KINORA_URL: other.url })
    await fail(['videos', 'list'], /There is no API key for http/, {
      KINORA_URL: service.url.replace('localhost', 'localhost.example.com'),
    })
    assert.deepEqual(other.received, [])
    // A key in the environment without a URL is for the service of the data folder.
    const { urlFrom } = JSON.parse(await succeed(['whoami', '--json'], { KINORA_KEY: productionKey }))
    assert.equal(urlFrom, service.data)
    await fail(['videos', 'list'], /401: .* Check KINORA_KEY\./, {
      KINORA_URL: other.url,
      KINORA_KEY: 'mine',
    })
    assert.deepEqual(other.received, [
      `/videos?sortBy=createdAt&sortOrder=desc&pageSize=100 Basic ${btoa('mine:')}`,
    ])
  })

  test('the last login is used, and a revoked key is answered with the command to run', async (t) => {
    const { login, fail, succeed, file } = await createUser(t)
    await login([service.url], productionKey)
    const other = await startOther(t)
    const logins = JSON.parse(await readFile(file, 'utf8'))
    const revoked = { url: other.url, environment: 'production', keys: { production: 'revoked' } }
    await writeFile(file, JSON.stringify({ services: [revoked, ...logins.services] }))
    await fail(['videos', 'list'], new RegExp(`401: .* Run "npm run kinora -- login ${other.url}"\\.`))
    assert.match(await succeed(['whoami'], { KINORA_URL: service.url }), /Environment +production/)
    assert.equal(
      await succeed(['logout']),
      `Logged out of ${other.url}. Commands now use ${service.url} (production).\n`,
    )
    assert.equal(await succeed(['videos', 'list']), 'There are no videos.\n')
    await writeFile(file, '{"services":[null]}')
    await fail(['videos', 'list'], /config\.json is damaged/)
  })

  test('asks for the key without showing it', async (t) => {
    const { env, file } = await createUser(t)
    const command = [process.execPath, kinoraCommand(), 'login', service.url].join(' ')
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
    })
    t.after(() => child.kill('SIGKILL'))
    let shown = ''
    child.stdout.on('data', (chunk) => {
      const wasAsked = shown.includes('API key: ')
      shown += chunk
      if (!wasAsked && shown.includes('API key: ')) child.stdin.write(`${productionKey}\r`)
    })
    await once(child, 'close')
    assert.match(shown, /Create an API key: \S+\/dashboard\/production\/keys\r\nAPI key: /)
    assert.match(shown, /Logged in to \S+ \(production\)/)
    assert.doesNotMatch(shown, new RegExp(productionKey))
    assert.match(await readFile(file, 'utf8'), new RegExp(productionKey))
  })

  test('accepts a host name and rejects other URLs', async (t) => {
    const { run } = await createUser(t)
    for (const url of ['ftp://x', 'https://user@x', 'https://x/?a=b', 'https://'])
      assert.deepEqual([(await run(['login', url])).code, url], [2, url])
    // Without a key on stdin, nothing is sent.
    assert.match((await run(['login', 'video.example.com'])).stderr, /The key must be/)
    assert.match((await run(['login', 'http://192.0.2.1'])).stderr, /http:\/\/192\.0\.2\.1 has no HTTPS/)
  })
})

test('KINORA_KEY and --environment contradict each other', async (t) => {
  const { run } = await createUser(t, { KINORA_URL: service.url, KINORA_KEY: productionKey })
  const { code, stderr } = await run(['videos', 'list', '-e', 'sandbox'])
  assert.deepEqual([code, /KINORA_KEY decides the environment/.test(stderr)], [2, true], stderr)
})
