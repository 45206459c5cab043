import assert from 'node:assert/strict'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import {
  call,
  createDatabase,
  query,
  root,
  runKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'

type CreatedKey = { id: string; environment: string; name: string; key: string; createdAt: string }

/** Runs `keys create`, `list` and `revoke` on one database and checks that they succeed. */
function keysOf(env: Record<string, string>) {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runKinora(['keys', ...args], env)
    assert.deepEqual([code, stderr], [0, ''], stdout)
    return stdout
  }
  const named = (environment: string, name: string) => ['--environment', environment, '--name', name]
  return {
    create: async (environment: string, name: string): Promise<CreatedKey> =>
      JSON.parse(await run('create', ...named(environment, name), '--json')),
    revoke: async (environment: string, name: string) =>
      JSON.parse(await run('revoke', ...named(environment, name), '--json')),
    list: async (...args: string[]): Promise<Record<string, unknown>[]> =>
      JSON.parse(await run('list', ...args, '--json')),
    run,
  }
}

/** A data folder that cannot be created: a command that opens the database fails. */
const noDatabase = { KINORA_DATA_DIR: join(root, 'package.json', 'data') }

const databaseEnv = async (t: TestContext) => ({ KINORA_DATABASE_URL: await createDatabase(t) })

describe('kinora keys', { concurrency: 2 }, () => {
  test('a key is printed only on creation and stored as a hash', async (t) => {
    const env = await databaseEnv(t)
    const keys = keysOf(env)
    const text = await keys.run('create', '-e', 'production', '-n', 'for people')
    const [key = '', note] = text.split('\n')
    assert.match(key, /^[0-9A-Za-z]{43}$/)
    assert.match(note!, /only time/)
    const created = await keys.create('sandbox', 'for programs')
    assert.deepEqual([created.environment, created.name], ['sandbox', 'for programs'])
    assert.match(created.key, /^[0-9A-Za-z]{43}$/)
    assert.ok(Math.abs(Date.parse(created.createdAt) - Date.now()) < 60_000)

    const shown = (await keys.run('list')) + (await keys.run('list', '--json'))
    const stored = JSON.stringify(await query(env.KINORA_DATABASE_URL, 'select k::text from api_keys k'))
    for (const secret of [key, created.key]) {
      assert.ok(!shown.includes(secret))
      assert.ok(!stored.includes(secret) && !stored.includes(Buffer.from(secret).toString('hex')))
    }
    assert.doesNotMatch(shown, /hash/)
    for (const name of ['for people', 'for programs']) assert.ok(shown.includes(name))
  })

  test('the list shows the state of each key and filters by environment, and the name of a revoked key can be used again', async (t) => {
    const keys = keysOf(await databaseEnv(t))
    const first = await keys.create('production', 'app')
    await keys.create('sandbox', 'app')
    const revoked = await keys.revoke('production', 'app')
    assert.deepEqual([revoked.id, revoked.environment, revoked.name], [first.id, 'production', 'app'])
    const second = await keys.create('production', 'app')
    assert.notEqual(second.key, first.key)
    const listed = (await keys.list()).filter(({ name }) => name === 'app')
    assert.deepEqual(
      listed
        .map(({ environment, revokedAt }) => `${environment} ${revokedAt === null ? 'active' : 'revoked'}`)
        .sort(),
      ['production active', 'production revoked', 'sandbox active'],
    )
    assert.deepEqual(Object.keys(listed[0]!).sort(), ['createdAt', 'environment', 'id', 'name', 'revokedAt'])
    const inSandbox = await keys.list('--environment', 'sandbox')
    assert.ok(inSandbox.length > 0 && inSandbox.every(({ environment }) => environment === 'sandbox'))
  })

  test('a failed command prints one sentence and exits with code 1', async (t) => {
    const env = await databaseEnv(t)
    const named = ['--environment', 'production', '--name', 'twice']
    await keysOf(env).run('create', ...named)
    const cases = [
      [['create', ...named], {}, /already/],
      [['revoke', '--environment', 'sandbox', '--name', 'twice'], {}, /no active key/],
      [['list'], { KINORA_DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /cannot be reached/],
      [['list'], { KINORA_PRT: '1' }, /KINORA_PRT/],
    ] as const
    await Promise.all(
      cases.map(async ([args, more, expected]) => {
        const { code, stdout, stderr } = await runKinora(['keys', ...args], { ...env, ...more })
        assert.deepEqual([code, stdout], [1, ''], stderr)
        assert.match(stderr, /^kinora: [^\n]+\.\n$/)
        assert.match(stderr, expected)
      }),
    )
  })

  test('an invalid command exits with code 2 and does not open the database', async () => {
    const named = ['--name', 'x']
    const environment = ['--environment', 'production']
    const calls = [
      ['dance'],
      ['keys', 'list', 'all'],
      ['toString'],
      ['keys', 'create', ...named],
      ['keys', 'revoke', ...environment],
      ['keys', 'create', ...named, '--environment', 'mars'],
      ['keys', 'create', ...environment, '--name', 'x'.repeat(101)],
      ['keys', 'list', '--color'],
      ['keys', 'list', ...named],
      ['keys', 'create', ...named, ...environment, '--private'],
      ['keys', 'revoke', ...named, ...environment, '--title', 'x'],
      ['start', ...environment],
      ['start', '--watch'],
    ]
    const results = await Promise.all(calls.map((args) => runKinora(args, noDatabase)))
    for (const [i, { code, stdout, stderr }] of results.entries()) {
      const shown = `${calls[i]!.join(' ')}: ${stdout}${stderr}`
      assert.deepEqual([code, stdout], [2, ''], shown)
      assert.match(stderr, /^kinora: [^\n]+\n\nFor help: npm run kinora -- [^\n]*--help\n$/, shown)
    }
  })
})

test('the keys commands work with the embedded Postgres, whether the service runs or not, and other commands find the service', async (t) => {
  const env = { KINORA_DATA_DIR: join(await temporaryFolder(t), 'data') }
  const keys = keysOf(env)
  const before = await keys.create('production', 'created before the first start')
  const isRunning = () =>
    access(join(env.KINORA_DATA_DIR, 'postgres/cluster/postmaster.pid')).then(
      () => true,
      () => false,
    )
  assert.equal(await isRunning(), false, 'the command did not stop the Postgres that it started')

  const service = await startKinora(env, ['bin/kinora.mjs', 'start'])
  t.after(() => service.stop())
  assert.match(service.output(), /^ {2}sandbox +key {2}/m)
  assert.doesNotMatch(service.output(), /^ {2}production +key {2}/m, 'production already has a key')
  const status = async (key: string) => (await call(`${service.url}/videos`, { key })).status
  assert.equal(await status(before.key), 200)
  const during = await keys.create('production', 'created while it runs')
  assert.equal(await status(during.key), 200)
  await keys.revoke('production', 'created before the first start')
  // The service forgets the key when it receives the notification.
  await waitFor(async () => (await status(before.key)) === 401)
  assert.equal(await status(during.key), 200)
  assert.equal(await isRunning(), true)

  const list = (more = {}) =>
    runKinora(['videos', 'list'], { ...env, KINORA_KEY: during.key, KINORA_PRT: '1', ...more })
  const found = await list()
  assert.deepEqual([found.code, found.stdout], [0, 'There are no videos.\n'], found.stderr)
  assert.match(found.stderr, /^warning: KINORA_PRT is not a setting of Kinora: [^\n]+\n$/)
  const elsewhere = await list({ KINORA_URL: 'http://127.0.0.1:9' })
  assert.match(elsewhere.stderr, /127\.0\.0\.1:9 cannot be reached: .+ Check KINORA_URL\.\n$/)
  assert.equal((await readdir(join(env.KINORA_DATA_DIR, 'services'))).length, 1)
  assert.equal(await service.stop(), 0)
  assert.deepEqual(await readdir(join(env.KINORA_DATA_DIR, 'services')), [])
  assert.equal(await isRunning(), false)
})
