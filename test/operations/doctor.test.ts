import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type CheckResult, runChecks, withoutDatabase } from '../../server/doctor/check.ts'
import { explainAccess, judgeDisk } from '../../server/doctor/data-folder.ts'
import { judgeClock, judgeConnections } from '../../server/doctor/database.ts'
import { judgeHost } from '../../server/doctor/dns.ts'
import { judgeMemory } from '../../server/doctor/host.ts'
import { judgePort } from '../../server/doctor/ports.ts'
import { judgeBackups, judgeExpiry, judgeProcesses } from '../../server/doctor/service.ts'
import { freePorts } from '../support/certificate-authority.ts'
import {
  createDatabase,
  kinora,
  kinoraCommand,
  query,
  runKinora,
  settingsOf,
  sharedKinora,
  spawnKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startS3Store } from '../support/s3-store.ts'

// `kinora doctor` on healthy and on deliberately broken installations.

async function runDoctor(env: Record<string, string>) {
  const { code, stdout, stderr } = await runKinora(['doctor', '--json'], {
    KINORA_RTMP_PORT: '0',
    KINORA_SRT_PORT: '0',
    KINORA_WEBRTC_PORT: '0',
    ...env,
  })
  assert.equal(stderr, '')
  const { isHealthy, checks }: { isHealthy: boolean; checks: CheckResult[] } = JSON.parse(stdout)
  assert.equal(isHealthy, code === 0, stdout)
  const find = (name: string, state?: string) =>
    checks.find((check) => check.name === name && (state === undefined || check.state === state))!
  const broken = checks.filter(({ state }) => state === 'failed').map(({ name }) => name)
  for (const { state, advice } of checks) assert.equal(advice === null, state === 'ok')
  return { checks, find, broken, stdout }
}

async function listen(t: TestContext, answer: string | RequestListener): Promise<number> {
  const server = createServer(
    typeof answer === 'string' ? (_request, response) => response.end(answer) : answer,
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

describe('kinora doctor', () => {
  const service = sharedKinora()

  test('finds nothing broken in a running service, and leaves nothing behind', async () => {
    const { broken, find } = await runDoctor(settingsOf(service))
    assert.deepEqual(broken, [])
    assert.match(find('public URL').message, /reaches this installation/)
    assert.match(find('processes').message, /1 process on 1 machine/)
    assert.match(find('file store').message, /written, read, read in parts, listed and deleted/)
    assert.match(find('service').message, /is ready/)
    const left = await readdir(join(service.data, 'work'))
    assert.deepEqual([left, await readdir(join(service.data, 'files', 'spool')).catch(() => [])], [[], []])
  })

  test('finds a public URL that reaches another installation or something else', async (t) => {
    const other = await createDatabase(t)
    await query(
      other,
      `insert into secrets values ('service', $1) on conflict (name) do update set value = excluded.value`,
      [randomBytes(32)],
    )
    const wrong = await runDoctor({ ...settingsOf(service), KINORA_DATABASE_URL: other })
    assert.match(wrong.find('public URL', 'failed').message, /reaches another installation of Kinora/)
    const stranger = await kinora(t, { KINORA_PUBLIC_URL: `http://127.0.0.1:${await listen(t, 'Hello')}` })
    const { find, broken } = await runDoctor(settingsOf(stranger))
    assert.ok(broken.includes('public URL'))
    assert.match(find('public URL').message, /answered by something else/)
    assert.match(find('settings', 'warning').advice!, /environment of the service/)
  })

  test('names the missing abilities of ffmpeg', async (t) => {
    const program = join(await temporaryFolder(t), 'ffmpeg')
    const script = `#!/bin/sh\nexec ffmpeg "$@" | grep -v libx264\n`
    await writeFile(program, script)
    await chmod(program, 0o755)
    const { find } = await runDoctor({ ...settingsOf(service), KINORA_FFMPEG: program })
    assert.equal(find('ffmpeg').state, 'failed')
    assert.match(find('ffmpeg').message, /lacks encoder libx264\.$/)
    assert.match(find('ffmpeg').advice!, /Install ffmpeg 5\.1 or newer with libx264/)
  })

  test('compares the clocks of all processes', async () => {
    await query(
      service.database,
      `insert into processes select 'other', 'studio', 1, '9.9.9', '{worker}', 2, now(), now(), 7000`,
    )
    const { checks } = await runDoctor(settingsOf(service))
    const found = checks.filter(({ name }) => name === 'processes').map(({ message }) => message)
    assert.match(found.join(), /different versions/)
    assert.match(found.join(), /clock of studio differs by 7\.0 s/)
    await query(service.database, `delete from processes where id = 'other'`)
  })
})

test('a broken installation gets one sentence of advice for each problem, and no secret is printed', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'file'), '')
  const port = await listen(t, 'Hello')
  const { broken, find, stdout } = await runDoctor({
    KINORA_DATA_DIR: join(folder, 'file', 'data'),
    KINORA_DATABASE_URL: 'postgres://kinora:hunter2-secret@127.0.0.1:1/kinora',
    KINORA_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    KINORA_S3_BUCKET: 'films',
    KINORA_S3_ACCESS_KEY: 'access',
    KINORA_S3_SECRET_KEY: 'another-secret',
    KINORA_PUBLIC_URL: 'http://kinora.invalid',
    KINORA_PORT: String(port),
    KINORA_FFMPEG: join(folder, 'none'),
    KINORA_COLOUR: 'red',
    KINORA_SWEEP: 'sometimes',
  })
  const expected = ['settings', 'data folder', 'database', 'file store', 'ffmpeg', 'ports', 'DNS']
  for (const name of expected) assert.ok(broken.includes(name), `${name}: ${stdout}`)
  assert.match(find('settings').message, /KINORA_COLOUR is not a setting/)
  assert.match(stdout, /KINORA_SWEEP must be one of/)
  assert.match(find('data folder').message, /\/file is a file, not a folder\.$/)
  assert.match(find('data folder').advice!, /^Correct KINORA_DATA_DIR/)
  assert.match(find('database').advice!, /Start Postgres, or correct the host and port/)
  assert.match(find('ports').advice!, /KINORA_PORT/)
  assert.match(find('DNS').advice!, /A or AAAA record/)
  assert.doesNotMatch(stdout, /hunter2|another-secret/)
})

test('wrong settings of a group, and an ffmpeg that only converts images', async (t) => {
  const data = await temporaryFolder(t)
  await mkdir(join(data, 'work'))
  const { broken, find } = await runDoctor({
    KINORA_DATA_DIR: data,
    KINORA_ROLES: 'api',
    KINORA_PORT: '0',
    KINORA_DISK_RESERVE: '1000TB',
    KINORA_FFMPEG: join(data, 'none'),
    KINORA_S3_ENDPOINT: 'http://127.0.0.1:1',
    KINORA_S3_BUCKET: 'b',
    KINORA_S3_ACCESS_KEY: 'access',
    KINORA_S3_SECRET_KEY: 'secret',
  })
  assert.deepEqual(broken, ['settings', 'disk space'])
  assert.match(find('settings').message, /^KINORA_S3_BUCKET must be/)
  assert.deepEqual(find('ffmpeg').state, 'warning')
  assert.match(find('ffmpeg').message, /only uploads of thumbnails and watermarks need it\.$/)
  assert.match(find('disk speed').message, /^Not measured: the disk is almost full/)
})

test('a disk that hangs does not keep the command from ending', async (t) => {
  const data = await temporaryFolder(t)
  const cluster = join(data, 'postgres/cluster')
  await mkdir(cluster, { recursive: true })
  // Nothing writes to the pipe, so reading it does not end.
  execFileSync('mkfifo', [join(cluster, 'postmaster.pid')])
  const doctor = await runKinora(['doctor'], {
    KINORA_DATA_DIR: data,
    KINORA_PORT: '0',
    KINORA_RTMP_PORT: '0',
    KINORA_SRT_PORT: '0',
    KINORA_WEBRTC_PORT: '0',
  })
  assert.match(doctor.stdout, /^✓ database +Not examined: see the result for the data folder\.$/m)
  assert.match(doctor.stdout, /\d problems?, \d warnings?\.\n$|Everything is fine\.\n$/)
})

test('a service that has not announced its URL is found at its port', async (t) => {
  const { port } = await freePorts('port')
  const env = { KINORA_ROLES: 'worker', KINORA_PORT: String(port) }
  const worker = await kinora(t, env)
  const { find } = await runDoctor({ ...settingsOf(worker), ...env })
  assert.match(find('ports').message, /is used by the running service\.$/)
  assert.match(find('service').message, /is ready at http:\/\/127\.0\.0\.1:/)
})

test('a data folder that is a file or read-only gets its own advice', async (t) => {
  const file = join(await temporaryFolder(t), 'file')
  await writeFile(file, '')
  const { find, broken } = await runDoctor({ KINORA_DATA_DIR: file })
  assert.ok(broken.includes('data folder'))
  assert.match(find('data folder').message, /\/file is a file, not a folder\.$/)
  const { message, advice } = explainAccess('/data', Object.assign(new Error(), { code: 'EROFS' }))
  assert.match(`${message} ${advice}`, /^\/data cannot be written \(EROFS\)\. .* mount it writable/)
})

test('with KINORA_DOMAIN, the port for certificates and the DNS of all domains are checked', async (t) => {
  const port = String(await listen(t, 'Hello'))
  const { checks, broken } = await runDoctor({
    KINORA_DATA_DIR: join(await temporaryFolder(t), 'data'),
    KINORA_DOMAIN: 'kinora.invalid,www.kinora.invalid',
    KINORA_HOST: '127.0.0.1',
    KINORA_PORT: '0',
    KINORA_RTMPS_PORT: '0',
    KINORA_HTTP_PORT: port,
  })
  assert.deepEqual(broken, ['ports', 'DNS', 'DNS'])
  const messages = checks.map(({ message, advice }) => `${message} ${advice}`).join('\n')
  assert.match(
    messages,
    new RegExp(`Port ${port} \\(HTTP\\) is used by another .* KINORA_HTTP_PORT and forward port 80`),
  )
  assert.match(messages, /^kinora\.invalid has no address .* correct KINORA_DOMAIN/m)
  assert.match(messages, /^www\.kinora\.invalid has no address/m)
  assert.match(messages, /https:\/\/kinora\.invalid was not requested/)
})

test('the service removes what a killed doctor leaves behind', async (t) => {
  const store = await startS3Store(t)
  const data = await temporaryFolder(t)
  const isProbe = (path: string) => path.includes('/spool/')
  const release = store.hold((method, path) => method === 'GET' && isProbe(path))
  const doctor = spawnKinora({ KINORA_DATA_DIR: data, ...store.env }, [kinoraCommand(), 'doctor'])
  const held = () => store.requests.find(({ state, path }) => state === 'held' && isProbe(path))
  await waitFor(async () => held() !== undefined, doctor.output)
  await doctor.kill()
  const probe = basename(new URL(held()!.path, store.endpoint).pathname)
  release()
  // The probe of the disk has a name of the same process.
  const folder = join(data, 'work', probe)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'probe'), 'probe')
  const service = await kinora(t, { KINORA_DATA_DIR: data, ...store.env })
  const removed = () =>
    store.requests.some(
      ({ method, path, state }) => method === 'DELETE' && path.includes(probe) && state === 'completed',
    )
  await waitFor(async () => removed() && !(await readdir(join(data, 'work'))).includes(probe), service.output)
})

test('a store that is away or refuses to write is named with what to change', async (t) => {
  const store = await startS3Store(t)
  const env = { KINORA_DATA_DIR: join(await temporaryFolder(t), 'data'), ...store.env }
  const port = await listen(t, ({ method }, response) => {
    const code = method === 'PUT' ? 'AccessDenied' : 'NoSuchKey'
    response.writeHead(method === 'PUT' ? 403 : 404, { 'content-type': 'application/xml' })
    response.end(`<Error><Code>${code}</Code><Message>Access denied.</Message></Error>`)
  })
  const refused = await runDoctor({ ...env, KINORA_S3_ENDPOINT: `http://127.0.0.1:${port}` })
  assert.deepEqual(refused.broken, ['file store'])
  assert.match(refused.find('file store').message, /cannot be written: /)
  assert.match(refused.find('file store').advice!, /allow this key to get, put, list and delete/)
  await store.stop()
  const away = await runDoctor(env)
  assert.deepEqual(away.broken, ['file store'])
  assert.match(away.find('file store').advice!, /whether the store runs/)
})

test('a service with HTTPS is ready even if this machine cannot reach its public name', async (t) => {
  const folder = await temporaryFolder(t)
  const [KINORA_TLS_CERT, KINORA_TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '90']
  const files = ['-keyout', KINORA_TLS_KEY, '-out', KINORA_TLS_CERT]
  execFileSync('openssl', ['req', ...kind, ...files, '-subj', '/CN=kinora.invalid'], { stdio: 'pipe' })
  const { port } = await freePorts('port')
  const env = { KINORA_TLS_CERT, KINORA_TLS_KEY, KINORA_RTMPS_PORT: '0', KINORA_PORT: String(port) }
  const named = await kinora(t, { ...env, KINORA_PUBLIC_URL: 'https://kinora.invalid' })
  const away = await runDoctor({
    ...settingsOf(named),
    ...env,
    KINORA_PUBLIC_URL: 'https://kinora.invalid',
  })
  assert.deepEqual(away.broken, ['DNS', 'public URL'])
  assert.match(away.find('service').message, /is ready/)
})

test('ports and addresses are judged', () => {
  const http = { port: 80, setting: 'KINORA_HTTP_PORT', what: 'HTTP' }
  const judge = (code: string | undefined, isRunning: boolean) =>
    judgePort(http, code ? Object.assign(new Error(), { code }) : undefined, { host: '::', isRunning })
  assert.match(judge(undefined, false).message, /is free\.$/)
  assert.match(judge('EADDRINUSE', true).message, /used by the running service/)
  assert.match(judge('EACCES', false).advice!, /CAP_NET_BIND_SERVICE, .* forward port 80/)
  const inUse = Object.assign(new Error(), { code: 'EADDRINUSE' })
  assert.equal(judgePort(http, inUse, { host: '::', isRunning: false, isHidden: true }).state, 'warning')
  assert.match(withoutDatabase({ isDataHidden: true }).message, /result for the data folder/)
  const place = { setting: 'KINORA_DOMAIN' as const, known: ['8.8.8.8'] }
  assert.equal(judgeHost('example.com', ['8.8.8.8', '2001:4860::1'], place).state, 'ok')
  assert.match(judgeHost('example.com', ['9.9.9.9'], place).advice!, /behind NAT/)
  assert.equal(judgeHost('example.com', ['9.9.9.9'], { ...place, setting: 'KINORA_PUBLIC_URL' }).state, 'ok')
  assert.match(judgeHost('example.com', ['192.168.1.1'], place).message, /internet does not reach/)
})

test('without a running service, the embedded Postgres is neither created nor started', async (t) => {
  const folder = await temporaryFolder(t)
  const { broken, find } = await runDoctor({ KINORA_DATA_DIR: join(folder, 'data') })
  assert.deepEqual(broken, [])
  assert.match(find('database').message, /does not run/)
  assert.deepEqual(await readdir(folder), [])
})

test('a check that hangs or throws is a result', async () => {
  const hang = { name: 'slow', ifStuck: 'Wait.', run: () => new Promise<never>(() => {}) }
  const fail = { name: 'bad', ifStuck: 'Look.', run: () => Promise.reject(new Error('no luck')) }
  assert.deepEqual(await runChecks([hang, fail], {} as Parameters<typeof runChecks>[1], 10), [
    { name: 'slow', state: 'failed', message: 'No result within 0.01 s.', advice: 'Wait.' },
    { name: 'bad', state: 'failed', message: 'The check failed: no luck.', advice: 'Look.' },
  ])
})

test('measurements are judged', () => {
  const valid = (from: string, to: string) => ({ notBefore: new Date(from), notAfter: new Date(to) })
  const states = [
    judgeClock(-20_000, 'that of the database'),
    judgeClock(3_000, 'that of the database'),
    judgeClock(500, 'that of the database'),
    judgeDisk(1e6, 2),
    judgeDisk(1e8, 400),
    judgeDisk(1e8, 20),
    judgeMemory(5e8, { isLimit: true, slots: 2 }),
    judgeConnections({ maxConnections: 100, reserved: 3, userLimit: -1, databaseLimit: -1 }, 3, 37),
    judgeConnections({ maxConnections: 100, reserved: 3, userLimit: -1, databaseLimit: -1 }, 2, 37),
    judgeConnections({ maxConnections: 100, reserved: 3, userLimit: 20, databaseLimit: -1 }, 1, 37),
    judgeExpiry('x', valid('2025-10-01', '2026-01-01'), new Date('2026-01-02')),
    judgeExpiry('x', valid('2025-10-01', '2026-01-10'), new Date('2026-01-02')),
    judgeExpiry('x', valid('2025-12-10', '2026-03-10'), new Date('2026-01-02')),
    judgeExpiry('x', valid('2026-01-01', '2026-01-07'), new Date('2026-01-04')),
    judgeExpiry('x', valid('2026-01-01', '2026-01-07'), new Date('2026-01-06T06:00:00Z')),
    ...judgeProcesses([], true),
  ].map(({ state }) => state)
  assert.deepEqual(states, [
    ...['failed', 'warning', 'ok'],
    ...['warning', 'warning', 'ok'],
    'warning',
    ...['warning', 'ok', 'warning'],
    ...['failed', 'warning', 'ok', 'ok', 'warning'],
    'ok',
  ])
})

test('no backup, an old one and one that failed are warnings', () => {
  const backup = (day: string, error: string | null = null) =>
    ({ started_at: new Date(day), destination: '/backup', error }) as Parameters<
      typeof judgeBackups
    >[0]['success']
  const now = new Date('2026-02-10')
  const judge = (success: typeof none, failure: typeof none, isEmpty = false) =>
    judgeBackups({ success, failure, isEmpty, now }).message
  const none = undefined as ReturnType<typeof backup>
  assert.match(judge(none, none), /There is no backup/)
  assert.match(judge(none, none, true), /nothing to back up/)
  assert.match(judge(backup('2026-02-01'), none), /9 days old/)
  assert.match(judge(backup('2026-02-09'), none), /began at 2026-02-09/)
  assert.match(
    judge(backup('2026-02-09'), backup('2026-02-10', 'The disk is full.')),
    /failed: The disk is full\.$/,
  )
  assert.match(judge(backup('2026-02-09'), backup('2026-02-08', 'The disk is full.')), /began at/)
})
