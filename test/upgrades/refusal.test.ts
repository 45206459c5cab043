import assert from 'node:assert/strict'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openDb, openPool } from '../../server/lib/db.ts'
import { run } from '../../server/lib/run.ts'
import { migrateTo } from '../../server/migrations/migrate.ts'
import {
  call,
  createDatabase,
  kinora,
  productionKey,
  query,
  runKinora,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { processesWith } from '../support/recovery.ts'
import { fixtureSettings, readFixture, unpackFixture } from '../support/upgrade-fixture.ts'

// Upgrades that are refused or interrupted, with the data folder of the first version.

const first = readFixture('0.1.0')
const videosPath = '/videos?pageSize=100&sortBy=title&sortOrder=asc'
const videoCount = (first.answers[videosPath] as { data: unknown[] }).data.length

async function unpack(t: TestContext, folder?: string) {
  const data = folder ?? (await temporaryFolder(t))
  await unpackFixture('0.1.0', data)
  t.after(async () => {
    for (const { pid } of await processesWith(data)) process.kill(pid, 'SIGKILL')
  })
  return { KINORA_DATA_DIR: data, ...fixtureSettings, KINORA_ROLES: 'api' }
}

const backupsIn = (data: string) => readdir(join(data, 'backups'))

/** Starts the service, which succeeds, and has the videos of the first version. */
async function assertUpgrades(env: Record<string, string>): Promise<string> {
  const service = await startKinora(env)
  try {
    assert.equal((await call(`${service.url}/videos`)).body.pagination.itemsTotal, videoCount)
  } finally {
    await service.stop()
  }
  return service.output()
}

async function failToStart(env: Record<string, string>): Promise<string> {
  const service = spawnKinora(env)
  await waitFor(
    () => service.process.exitCode !== null || /kinora ready/.test(service.output()),
    service.output,
  )
  assert.equal(await service.stop(), 1, service.output())
  const [, sentence = ''] = /kinora cannot start: (.*)/.exec(service.output()) ?? []
  return sentence
}

test('a start and a command refuse the schema of a newer version and change nothing; a running process continues', async (t) => {
  const service = await kinora(t)
  await query(service.database, `insert into kysely_migration values ('9999_later', '')`)
  await query(service.database, `insert into schema_versions values ('9999_later', '99.1.0')`)
  const env = { KINORA_DATABASE_URL: service.database, KINORA_DATA_DIR: await temporaryFolder(t) }
  const refusal =
    /^The database was upgraded by Kinora 99\.1\.0, and this is Kinora [\d.]+\S*, which does not know its schema \(9999_later\): start version 99\.1\.0 or a newer one\..* Nothing was changed\.$/
  assert.match(await failToStart(env), refusal)
  const { code, stderr } = await runKinora(['keys', 'list'], env)
  assert.equal(code, 1)
  assert.match(stderr, /was upgraded by Kinora 99\.1\.0/)
  assert.equal((await call(`${service.url}/videos`)).status, 200)
  await query(service.database, 'drop table schema_versions')
  assert.match(await failToStart(env), /^The database was upgraded by a newer version of Kinora, and this is/)
})

test('a start and a command use the schema of a newer version if it requires no migration that they do not know', async (t) => {
  const database = await createDatabase(t)
  await query(database, `insert into kysely_migration values ('9998_later', ''), ('9999_later', '')`)
  const record = (requires: string) =>
    query(database, `insert into schema_versions (migration, version, requires) values ($1, '99.1.0', $2)`, [
      `9999_later_${requires}`,
      requires,
    ])
  await record('0037_required_migrations')
  const env = { KINORA_DATABASE_URL: database, KINORA_DATA_DIR: await temporaryFolder(t) }
  const service = await startKinora({ ...env, KINORA_PRODUCTION_KEY: productionKey })
  assert.equal((await call(`${service.url}/videos`)).status, 200)
  assert.match(service.output(), /"to":"99\.1\.0","msg":"a newer version has upgraded the database"/)
  await service.stop()
  assert.equal((await runKinora(['keys', 'list'], env)).code, 0)
  await record('9998_later')
  assert.match(await failToStart(env), /^The database was upgraded by Kinora 99\.1\.0, and this is/)
})

test('an upgrade waits for a long query, and queries that come after it do not wait for the upgrade', async (t) => {
  const database = await createDatabase(t, { isEmpty: true })
  const pool = openPool(database, () => {}, { max: 1 })
  t.after(() => pool.end())
  await migrateTo(openDb<object>(pool), '0036_live_frames')
  // As a backup, which reads all tables in one transaction.
  await pool.query('begin; select count(*) from schema_versions')
  const env = { KINORA_DATABASE_URL: database, KINORA_DATA_DIR: await temporaryFolder(t) }
  const service = spawnKinora({ ...env, KINORA_ROLES: 'api' })
  t.after(() => service.kill())
  const waits = () => service.output().split('waiting for a query').length - 1
  for (const times of [1, 2]) {
    await waitFor(() => waits() >= times, service.output)
    await query(database, 'select * from schema_versions')
  }
  await pool.query('commit')
  await waitFor(() => /kinora ready/.test(service.output()), service.output)
})

test('a new database is not backed up, and records the version', async (t) => {
  const env = { KINORA_DATABASE_URL: await createDatabase(t, { isEmpty: true }), KINORA_ROLES: 'api' }
  const data = await temporaryFolder(t)
  const service = await startKinora({ ...env, KINORA_DATA_DIR: data })
  await service.stop()
  const rows = await query(env.KINORA_DATABASE_URL, 'select version from schema_versions')
  const { stdout } = await runKinora(['--version'])
  assert.deepEqual(rows, [{ version: stdout.trim().split(' ').at(-1) }])
  assert.equal((await readdir(data)).includes('backups'), false)
})

test('a command refuses the schema of an older version, which only a start upgrades', async (t) => {
  const env = await unpack(t)
  const { code, stderr } = await runKinora(['keys', 'list'], env)
  assert.equal(code, 1)
  assert.match(
    stderr,
    /The database has the schema of an older version, .*: start the service with this version/,
  )
  assert.equal((await readdir(env.KINORA_DATA_DIR)).includes('backups'), false)
})

test('of two processes that start at the same time, one makes the backup', async (t) => {
  const env = await unpack(t)
  const services = await Promise.all([startKinora(env), startKinora(env)])
  await Promise.all(services.map((service) => service.stop()))
  assert.equal((await backupsIn(env.KINORA_DATA_DIR)).length, 1)
})

test('an upgrade that is killed at any moment is repeated by the next start', async (t) => {
  const env = await unpack(t)
  const { KINORA_DATA_DIR: data } = env
  // The last kill may come after the migrations, and then the next start has nothing to do.
  const until = [/backing up the database|kinora ready/, /the database was backed up|kinora ready/]
  for (const [i, moment] of [0, 1, 0, 1].entries()) {
    const service = spawnKinora(env)
    await waitFor(() => until[moment]!.test(service.output()), service.output)
    // The moment is random on purpose.
    await delay(Math.random() * 100 * i)
    await service.kill()
  }
  await assertUpgrades(env)
  const [backup, ...others] = await backupsIn(data)
  assert.deepEqual(others, [])
  assert.match(backup!, /^before-[\d.]+.*Z$/)
})

test('without enough space for the backup nothing is changed, and it can be turned off', async (t) => {
  if (process.geteuid!() !== 0) return t.skip('needs root to mount a small disk')
  const disk = join(await temporaryFolder(t), 'disk')
  await mkdir(disk)
  const mount = (...options: string[]) => run('mount', [...options, disk])
  try {
    await mount('-t', 'tmpfs', '-o', 'size=110m,mode=755', 'tmpfs')
  } catch (error) {
    return t.skip(`this root user may not mount a tmpfs: ${(error as Error).message}`)
  }
  try {
    const env = await unpack(t, disk)
    const sentence = await failToStart(env)
    assert.match(
      sentence,
      /^The backup of the database before the upgrade needs \d+ MB in \S+\/backups, and \d+ MB are free/,
    )
    assert.match(sentence, /KINORA_UPGRADE_BACKUP=off .*is unchanged\.$/)
    assert.deepEqual(await backupsIn(disk), [])
    await assertUpgrades({ ...env, KINORA_UPGRADE_BACKUP: 'off' })
  } finally {
    await run('umount', [disk])
  }
})
