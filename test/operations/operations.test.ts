import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { isUnreachable } from '../../server/lib/database/errors.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import {
  assertProblem,
  call,
  callRaw,
  callUntilAvailable,
  createDatabase,
  type Kinora,
  kinora,
  productionKey,
  query,
  root,
  runKinora,
  sandboxKey,
  sendRaw,
  sharedKinora,
  startKinora,
  temporaryFolder,
  waitFor,
  waitUntilReady,
} from '../support/harness.ts'
import { lossyPostgres } from '../support/lossy-postgres.ts'

// The service as an operator sees it: health, settings, metrics, logs and startup errors.

const twoAtOnce = { concurrency: 2 }

// The tests of its metrics come first, because they count requests.
const service = sharedKinora({ KINORA_LOG_LEVEL: 'debug' })

describe('metrics', () => {
  test('and the dashboard are available only at host names of the service', async (t) => {
    const { url } = await kinora(t, { KINORA_ROLES: 'api', KINORA_ALLOWED_HOSTS: 'kinora' })
    const paths = [
      '/metrics',
      '/metrics/',
      '/metrics?x=%',
      '/%6detrics?x=%',
      '/dashboard',
      '/%64ashboard/session?x=%',
    ]
    const more = [
      '/dashboard/login',
      '/dashboard/api/production/videos',
      '/dashboard/api/x',
      '/sandbox//dashboard',
    ]
    for (const path of [...paths, ...more])
      for (const method of ['GET', 'POST']) {
        // What a script of a rebound page can set.
        const headers = { 'x-forwarded-host': 'localhost', origin: 'http://attacker.example:8080' }
        const host = 'attacker.example:8080'
        const refused = await callRaw(url, path, { method, headers: { ...headers, host } })
        assertProblem(refused, 421, 'host-not-allowed')
        assert.match(refused.body.title, /KINORA_PUBLIC_URL.*KINORA_ALLOWED_HOSTS/)
        assert.equal(refused.headers.get('access-control-allow-origin'), null)
      }
    for (const host of ['localhost', '127.0.0.1:1', '[::1]:8080', 'KINORA:9000'])
      for (const path of ['/metrics', '/dashboard'])
        assert.equal((await callRaw(url, path, { headers: { host } })).status, 200, `${host} ${path}`)
    for (const path of ['/healthz', '/readyz', '/'])
      assert.equal((await callRaw(url, path, { headers: { host: 'any.example' } })).status, 200, path)
  })

  test('and other paths for operators do not exist below the prefix of an environment', async () => {
    for (const path of ['/sandbox/metrics', '/sandbox/%6detrics', '//sandbox//metrics/', '/sandbox/healthz'])
      assertProblem(await callRaw(service.url, path), 404, 'unrecognized-request-url')
    const below = await callRaw(service.url, '/dashboard/api/production/metrics')
    assert.ok([401, 404].includes(below.status), below.text)
  })

  test('and health checks have no CORS headers', async () => {
    for (const path of [
      '/metrics',
      '/healthz',
      '/readyz',
      '/internal/live/x/feed',
      '/metrics?x=%',
      '/%6detrics',
    ])
      for (const method of ['GET', 'OPTIONS']) {
        const headers = { origin: 'https://page.example', 'access-control-request-method': 'GET' }
        const response = await callRaw(service.url, path, { method, headers })
        const cors = [...response.headers.keys()].filter((name) => name.startsWith('access-control'))
        assert.deepEqual(cors, [], `${method} ${path}`)
      }
  })

  test('request metrics are labeled by route and contain no ids, keys or unknown paths', async () => {
    const { url } = service
    const { id } = (await call(`${url}/videos`, { method: 'POST', json: {} })).body
    for (let n = 0; n < 3; n++) await call(`${url}/videos/${id}`)
    await call(`${url}/videos/vi0123456789012345678901`)
    await call(`${url}/sandbox/videos`, { key: sandboxKey })
    await call(`${url}/no/such/address`)
    const { headers, text } = await call(`${url}/metrics`, { key: '' })
    assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
    const count = (labels: string) => {
      const escaped = labels.replaceAll(/[{}.*+?]/g, '\\$&')
      return Number(
        new RegExp(`^kinora_http_request_seconds_count\\{${escaped}\\} (\\d+)$`, 'm').exec(text)?.[1],
      )
    }
    assert.equal(count('route="/videos/:videoId",method="GET",status="200"'), 3)
    assert.equal(count('route="/videos/:videoId",method="GET",status="404"'), 1)
    assert.equal(count('route="/videos",method="POST",status="201"'), 1)
    assert.equal(count('route="none",method="GET",status="404"'), 1)
    for (const secret of [id, productionKey, sandboxKey, 'no/such', 'vi0123'])
      assert.ok(!text.includes(secret), secret)
    for (const name of [
      'kinora_database_connections{state="idle"}',
      'process_cpu_seconds_total',
      'nodejs_heap_size',
    ])
      assert.ok(text.includes(name), name)
  })
})

describe('health', () => {
  test('the health endpoints need no key', async () => {
    const { url } = service
    const alive = await call(`${url}/healthz`, { key: '' })
    assert.deepEqual([alive.status, alive.body], [200, { status: 'alive' }])
    const { body } = await waitUntilReady(url)
    assert.deepEqual(body, { status: 'ready', database: 'reachable', files: 'reachable' })
  })

  // The sweep would write a file into the folder while a test removes it.
  const disturbed = sharedKinora({ KINORA_LOG_LEVEL: 'silent', KINORA_SWEEP: 'off' })

  test('a process that cannot reach its database or its files is alive but not ready, and recovers when they return', async (t) => {
    const { url, database, data: folder } = disturbed
    const readiness = async () => {
      const { status, body } = await call(`${url}/readyz`)
      return [status, body.database, body.files]
    }
    // On a busy machine a check can exceed its time limit.
    const waitForReadiness = (...expected: unknown[]) =>
      waitFor(async () => isDeepStrictEqual(await readiness(), expected))
    await rm(join(folder, 'files'), { recursive: true })
    await waitForReadiness(503, 'reachable', 'unreachable')
    await mkdir(join(folder, 'files'))
    await waitForReadiness(200, 'reachable', 'reachable')

    const name = new URL(database).pathname.slice(1)
    const renamed = `${name}_renamed`
    const server = process.env.TEST_POSTGRES!
    t.after(() => query(server, `drop database if exists ${renamed} with (force)`))
    await query(server, `alter database ${name} allow_connections false`)
    // A connection that is being made may not be listed yet. It keeps the database in use.
    await waitFor(async () => {
      await query(
        server,
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
      )
      return query(server, `alter database ${name} rename to ${renamed}`).then(
        () => true,
        (error) => {
          if (error.code !== '55006') throw error
          return false
        },
      )
    })
    await waitForReadiness(503, 'unreachable', 'reachable')
    assert.equal((await call(`${url}/healthz`)).status, 200)
    const rejected = await call(`${url}/videos`)
    assert.deepEqual(
      [rejected.status, rejected.headers.get('content-type')],
      [503, 'application/problem+json'],
    )

    await query(server, `alter database ${renamed} rename to ${name}`)
    await query(server, `alter database ${name} allow_connections true`)
    await waitForReadiness(200, 'reachable', 'reachable')
    assert.equal((await callUntilAvailable(`${url}/videos`)).status, 200)
  })

  test('the service replaces connections that the database terminates, even under load', async () => {
    const service = disturbed
    const counts = new Map<number, number>()
    let isStopping = false
    const writers = Array.from({ length: 8 }, async () => {
      while (!isStopping) {
        const { status } = await call(`${service.url}/videos`, { method: 'POST', json: { tags: ['a'] } })
        counts.set(status, (counts.get(status) ?? 0) + 1)
      }
    })
    const load = Promise.all(writers)
    try {
      for (let round = 1; round <= 10; round++) {
        await waitFor(() => (counts.get(201) ?? 0) >= round * 20 || isStopping)
        const terminate = `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`
        await Promise.race([query(service.database, terminate), load])
      }
    } finally {
      isStopping = true
      await load.catch((error) => assert.fail(`${error} ${service.output()}`))
    }
    assert.equal(service.process.exitCode, null, service.output())
    assert.deepEqual(
      [...counts.keys()].filter((status) => status !== 201 && status !== 503),
      [],
    )
    // An idle connection may be terminated already although the service has not noticed it yet.
    const list = await callUntilAvailable(`${service.url}/videos`)
    assert.equal(list.status, 200, list.text)
    const { itemsTotal } = list.body.pagination
    assert.ok(itemsTotal >= counts.get(201)!, `${itemsTotal} of ${counts.get(201)}`)
    const tags = await callUntilAvailable(`${service.url}/tags`)
    assert.equal(tags.status, 200, tags.text)
    assert.equal(tags.body.data[0].videoCount, itemsTotal)
  })
})

test('every query on a terminated connection fails as unreachable', async (t) => {
  const db = openDb(openPool(await createDatabase(t), () => {}))
  const terminate = sql`select pg_terminate_backend(pg_backend_pid())`
  try {
    await db.connection().execute(async (connection) => {
      const transaction = connection.transaction().execute((trx) => terminate.execute(trx))
      await assert.rejects(transaction, isUnreachable)
      for (let round = 1; round <= 2; round++)
        await assert.rejects(terminate.execute(connection), isUnreachable)
    })
  } finally {
    await db.destroy()
  }
})

describe('settings', twoAtOnce, () => {
  test('videos and error responses contain the public URL', async (t) => {
    const settings = { KINORA_PUBLIC_URL: 'https://video.example.com/', KINORA_LOG_LEVEL: 'info' }
    const { output } = await kinora(t, settings)
    await waitFor(() => /listening at (http\S+\d)/.test(output()))
    const [, url = ''] = /listening at (http\S+\d)/.exec(output()) ?? []
    assert.ok(output().includes('kinora ready  api https://video.example.com  '))
    const { body: video } = await call(`${url}/videos`, { method: 'POST', json: {} })
    assert.equal(video.assets.player, `https://video.example.com/vod/${video.id}`)
    const { body: problem } = await call(`${url}/nothing`)
    assert.ok(problem.type.startsWith('https://video.example.com/docs/errors/'))
  })

  test('a process with only the worker role serves health and metrics but no API', async (t) => {
    const { url } = await kinora(t, { KINORA_ROLES: 'worker' })
    await waitUntilReady(url)
    assert.equal((await call(`${url}/metrics`)).status, 200)
    for (const path of ['/videos', '/docs', '/auth/api-key'])
      assert.equal((await call(url + path)).body.type.split('/').pop(), 'unrecognized-request-url')
  })
})

test('a service whose database does not answer stops nevertheless', async (t) => {
  let service: Kinora | undefined
  t.after(() => service?.kill())
  const postgres = await lossyPostgres(t, await createDatabase(t))
  service = await startKinora({
    KINORA_DATABASE_URL: postgres.url,
    KINORA_DATA_DIR: await temporaryFolder(t),
  })
  postgres.freeze()
  await waitFor(async () => (await call(`${service!.url}/readyz`)).status === 503)
  const { process, output } = service
  process.kill('SIGTERM')
  await waitFor(() => process.exitCode !== null, output)
})

describe('logs', () => {
  test('every log line is JSON, requests are logged with their id, and no line contains a secret', async () => {
    const { url, output } = service
    const tokens = (await call(`${url}/auth/api-key`, { method: 'POST', json: { apiKey: productionKey } }))
      .body
    const refresh = { refreshToken: tokens.refresh_token }
    const renewed = (await call(`${url}/auth/refresh`, { method: 'POST', json: refresh })).body
    const bearer = { authorization: `Bearer ${tokens.access_token}` }
    const wrong = 'mistyped-production-key'
    await call(`${url}/videos`, { key: '', headers: bearer })
    await call(`${url}/sandbox/videos`, { key: sandboxKey })
    await call(`${url}/videos`, { key: wrong })
    await call(`${url}/auth/api-key`, { method: 'POST', json: { apiKey: wrong } })
    await call(`${url}/auth/api-key`, { method: 'POST', body: `{"apiKey":"${productionKey}"` })
    for (const name of ['token', 'access_token', 'apiKey', 'avh']) {
      await call(`${url}/videos?title=x&${name}=${tokens.access_token}&pageSize=0`)
      await call(`${url}/nothing?${name}=${tokens.access_token}`)
    }
    await call(`${url}/videos/%zz?token=${tokens.access_token}`)
    const { token } = (await call(`${url}/upload-tokens`, { method: 'POST', json: {} })).body
    for (const method of ['GET', 'DELETE']) await call(`${url}/upload-tokens/${token}`, { method })
    const creation = { 'tus-resumable': '1.0.0', 'upload-length': '5' }
    const created = await call(`${url}/tus`, { method: 'POST', headers: creation })
    const uploadUrl = created.headers.get('location')!
    await call(uploadUrl, { method: 'HEAD', key: '', headers: creation })
    const last = await call(`${url}/videos?title=last`)
    const id = last.headers.get('x-request-id')!
    await waitFor(() => output().includes(`"${id}"`))

    const lines = output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    const entries = lines.map((line) => JSON.parse(line))
    const printed = output().slice(output().indexOf('{"level"'))
    assert.ok(
      printed
        .split('\n')
        .every((line) => line === '' || line.startsWith('{') || /^(kinora|Create| )/.test(line)),
    )
    const { time, level, ms, keyId, ...entry } = entries.find(({ requestId }) => requestId === id)
    assert.deepEqual(entry, {
      requestId: id,
      method: 'GET',
      url: '/videos?title=last',
      status: 200,
      msg: 'request',
    })
    assert.ok(!Number.isNaN(Date.parse(time)) && level === 'info' && ms >= 0 && keyId.startsWith('key'))
    for (const secret of [
      productionKey,
      sandboxKey,
      wrong,
      ...Object.values<string>(tokens),
      renewed.access_token,
      token,
      uploadUrl.split('-').pop()!,
    ]) {
      if (secret.length > 10) assert.ok(!output().includes(secret), secret)
    }
  })
})

test('at level info, requests of viewers and of the dashboard are not logged', async (t) => {
  const { url, output } = await kinora(t, { KINORA_LOG_LEVEL: 'info', KINORA_ROLES: 'api' })
  const paths = ['/vod/vi1/hls/manifest.m3u8', '/live/li1.m3u8', '/dashboard/login', '/docs', '/healthz', '/']
  for (const path of paths) await call(url + path, { key: '' })
  for (const path of ['/nowhere', '/videos?title=last']) await call(url + path)
  await waitFor(() => output().includes('/videos?title=last'))
  const logged = [...output().matchAll(/"url":"([^"]*)"/g)].map(([, path]) => path)
  assert.deepEqual(logged, ['/nowhere', '/videos?title=last'])
})

describe('aborted requests', () => {
  /** Sends part of a body and closes the connection. */
  async function abortRequest(url: string, path: string, type: string, part: string): Promise<void> {
    const sent = httpRequest(url + path, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Basic ${btoa(`${productionKey}:`)}`,
        'content-type': type,
        'content-length': 100_000,
        'tus-resumable': '1.0.0',
        'upload-length': 100_000,
      },
    })
    sent.on('error', () => {})
    await new Promise<void>((done) => sent.write(part, () => done()))
    sent.destroy()
  }

  test('a request that its client aborts is not logged as an error of the service', async () => {
    const { url } = service
    const lengthBefore = service.output().length
    const output = () => service.output().slice(lengthBefore)
    const { videoId } = (await call(`${url}/videos`, { method: 'POST', json: {} })).body
    const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\nbytes'
    const cases = [
      ['/videos?brokenJson=1', 'application/json', '{"title":'],
      ['/auth/api-key?brokenAuth=1', 'application/json', '{"apiKey":'],
      ['/collector/vod', 'text/plain', '{"session":'],
      [`/videos/${videoId}/source?brokenForm=1`, 'multipart/form-data; boundary=x', form],
      ['/tus?brokenTus=1', 'application/offset+octet-stream', 'bytes'],
    ] as const
    for (const [path, type, part] of cases) await abortRequest(url, path, type, part)
    const logged = () => new Set(output().match(/broken(?:Json|Auth|Form)/g))
    await waitFor(() => logged().size === 3, output)
    // The service removes the upload that tus created, because the client never received its URL.
    const videosTotal = async () => (await call(`${url}/videos`)).body.pagination.itemsTotal
    await waitFor(async () => (await videosTotal()) === 1, output)
    // On a busy machine the background work of the service may lose its connection to the database.
    const background =
      /"msg":"(?:lost the connection for notifications|task failed, |a database connection was lost|error in the job queue)/
    const foreground = output()
      .split('\n')
      .filter((line) => !background.test(line))
    assert.doesNotMatch(foreground.join('\n'), /"level":"(?:warn|error|fatal)"|request failed/)
    await waitUntilReady(url)
  })
})

describe('HTTPS', () => {
  test('the service uses HTTPS when a certificate and its key are configured', async (t) => {
    const folder = await temporaryFolder(t)
    const [KINORA_TLS_CERT, KINORA_TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const files = ['-keyout', KINORA_TLS_KEY, '-out', KINORA_TLS_CERT]
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    execFileSync('openssl', ['req', '-x509', ...key, ...subject, ...files, '-days', '1'], { stdio: 'pipe' })

    const { url } = await kinora(t, { KINORA_TLS_CERT, KINORA_TLS_KEY })
    assert.match(url, /^https:\/\/localhost:/)
    const sent = request(`${url}/videos`, {
      method: 'POST',
      ca: await readFile(KINORA_TLS_CERT),
      headers: { authorization: `Basic ${btoa(`${productionKey}:`)}`, 'content-type': 'application/json' },
    })
    sent.end('{"title":"Safe"}')
    const [response] = await once(sent, 'response')
    let text = ''
    for await (const chunk of response) text += chunk
    assert.equal(response.statusCode, 201)
    assert.ok(JSON.parse(text).assets.hls.startsWith(`${url}/vod/`))
    // A plain HTTP request on the HTTPS port is rejected.
    assert.doesNotMatch(await sendRaw(url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'), / 200 /)
  })
})

describe('a service that cannot start exits with code 1 and prints the reason', twoAtOnce, () => {
  async function reasonOf(env: Record<string, string>, options: { uid?: number } = {}): Promise<string> {
    const { code, stdout, stderr } = await runKinora(['start'], env, options)
    assert.equal(code, 1, `${stdout}${stderr}`)
    assert.doesNotMatch(stderr, /^\s+at /m, 'stderr contains a stack trace')
    assert.doesNotMatch(stdout, /kinora ready/)
    const [, reason = ''] = /^kinora cannot start: (.+[.])\n$/s.exec(stderr) ?? []
    assert.ok(reason, stderr)
    return reason
  }

  test('every invalid, unknown or contradictory setting is listed', async () => {
    const lines = (
      await reasonOf({
        KINORA_PRT: '80',
        KINORA_PORT: '80.5',
        KINORA_LOG_LEVEL: 'loud',
        KINORA_ROLES: 'api,dance',
        KINORA_RATE_LIMITS: 'yes',
        KINORA_RATE_LIMIT_READS: '0',
        KINORA_DATABASE_URL: 'mysql://localhost',
        KINORA_PUBLIC_URL: 'https://example.com/path',
        KINORA_ALLOW_PRIVATE_NETWORKS: '1',
        KINORA_TLS_CERT: 'cert.pem',
        KINORA_S3_BUCKET: 'videos',
        KINORA_PRODUCTION_KEY: 'with space',
        KINORA_ENCODE_SLOTS: '-1',
      })
    ).split('\n')
    for (const name of [
      ...[
        'PRT',
        'PORT',
        'LOG_LEVEL',
        'ROLES',
        'RATE_LIMITS',
        'RATE_LIMIT_READS',
        'DATABASE_URL',
        'PUBLIC_URL',
      ],
      ...['ALLOW_PRIVATE_NETWORKS', 'S3_BUCKET', 'PRODUCTION_KEY', 'ENCODE_SLOTS'],
    ]) {
      assert.equal(lines.filter((line) => line.startsWith(`KINORA_${name} `)).length, 1, name)
    }
    assert.equal(lines.filter((line) => line.includes('KINORA_TLS_KEY')).length, 1)
    assert.equal(lines.length, 13)
    const same = { KINORA_PRODUCTION_KEY: sandboxKey, KINORA_SANDBOX_KEY: sandboxKey }
    assert.match(await reasonOf(same), /must differ/)
  })

  test('the port is in use', async (t) => {
    const occupant = createServer().listen(0, '127.0.0.1')
    t.after(() => occupant.close())
    await once(occupant, 'listening')
    const port = `${(occupant.address() as AddressInfo).port}`
    const env = { KINORA_DATABASE_URL: await createDatabase(t), KINORA_DATA_DIR: await temporaryFolder(t) }
    assert.match(
      await reasonOf({ ...env, KINORA_PORT: port }),
      new RegExp(`[Pp]ort ${port} is in use.*KINORA_PORT`),
    )
  })

  test('the database does not exist or rejects the login', async (t) => {
    const env = { KINORA_DATA_DIR: await temporaryFolder(t) }
    const server = new URL(process.env.TEST_POSTGRES!)
    const missing = new URL(server)
    missing.pathname = '/no_such_database'
    const wrongLogin = new URL(server)
    wrongLogin.username = 'stranger'
    wrongLogin.password = 'wrong-password'
    const reasons = await Promise.all(
      [missing.href, wrongLogin.href].map((KINORA_DATABASE_URL) => reasonOf({ ...env, KINORA_DATABASE_URL })),
    )
    for (const reason of reasons) {
      assert.match(reason, /database/i)
      assert.doesNotMatch(reason, /secret-password|wrong-password/)
    }
  })

  test('the data folder cannot be used', async (t) => {
    const folder = await temporaryFolder(t)
    const file = join(folder, 'file')
    await writeFile(file, '')
    const KINORA_DATABASE_URL = await createDatabase(t)
    const belowFile = join(file, 'data')
    assert.ok((await reasonOf({ KINORA_DATABASE_URL, KINORA_DATA_DIR: belowFile })).includes(belowFile))
    assert.ok((await reasonOf({ KINORA_DATA_DIR: belowFile })).includes(belowFile))
    // Such a file system says that the folder does not exist when it is created.
    const inProc = '/proc/kinora/data'
    assert.ok((await reasonOf({ KINORA_DATA_DIR: inProc })).includes(inProc))
    const command = await runKinora(['keys', 'create', '-e', 'production', '-n', 'a'], {
      KINORA_DATA_DIR: inProc,
    })
    assert.equal(command.code, 1)
    assert.match(command.stderr, /^kinora: The database folder \/proc\/kinora\/data\/postgres cannot be used/)

    // Root may write anywhere, so the service runs as a user without permission.
    const closed = join(folder, 'closed')
    await mkdir(closed, { mode: 0o555 })
    await chmod(folder, 0o755)
    const options = process.getuid!() === 0 ? { uid: 65_534 } : {}
    const reason = await reasonOf({ KINORA_DATABASE_URL, KINORA_DATA_DIR: closed }, options)
    assert.match(reason, new RegExp(`^This user \\(uid \\d+\\) cannot write to the data folder ${closed}`))
    assert.match(reason, new RegExp(`: run chown -R \\d+:\\d+ ${closed} as root`))
    const readOnly = join(folder, 'read-only')
    await mkdir(readOnly)
    for (const name of ['files', 'work']) await mkdir(join(readOnly, name), { mode: 0o555 })
    await chmod(readOnly, 0o755)
    assert.ok(
      (await reasonOf({ KINORA_DATABASE_URL, KINORA_DATA_DIR: readOnly }, options)).includes(readOnly),
    )
  })

  test('the certificate or its key is missing or invalid', async (t) => {
    const env = { KINORA_DATABASE_URL: await createDatabase(t), KINORA_DATA_DIR: await temporaryFolder(t) }
    const notPem = join(root, 'package.json')
    for (const [cert, key] of [
      [notPem, '/no/such/key.pem'],
      [notPem, notPem],
    ] as const) {
      const reason = await reasonOf({ ...env, KINORA_TLS_CERT: cert, KINORA_TLS_KEY: key })
      assert.match(reason, /KINORA_TLS_/)
    }
  })

  test('a configured key was revoked or belongs to the other environment', async (t) => {
    const env = { KINORA_DATABASE_URL: await createDatabase(t), KINORA_DATA_DIR: await temporaryFolder(t) }
    const args = ['--environment', 'production', '--name', 'one', '--json']
    const { key } = JSON.parse((await runKinora(['keys', 'create', ...args], env)).stdout)
    assert.match(await reasonOf({ ...env, KINORA_SANDBOX_KEY: key }), /KINORA_SANDBOX_KEY.*production/)
    await runKinora(['keys', 'revoke', ...args], env)
    const reason = await reasonOf({ ...env, KINORA_PRODUCTION_KEY: key })
    assert.match(reason, /KINORA_PRODUCTION_KEY was revoked/)
    assert.ok(!reason.includes(key))
  })
})
