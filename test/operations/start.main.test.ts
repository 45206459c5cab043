import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import {
  call,
  createDatabase,
  type Kinora,
  runKinora,
  spawnKinora,
  startKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { lossyPostgres } from '../support/lossy-postgres.ts'

const twoAtOnce = { concurrency: 2 }

const keyPattern = /^ {2}(production|sandbox) +key {2}(\S+)$/gm
const linkPattern = /\/dashboard\/login#link=(\w+)\n/

async function start(t: TestContext, env: Record<string, string>): Promise<Kinora> {
  const service = await startKinora({ KINORA_DATA_DIR: await temporaryFolder(t), ...env })
  t.after(() => service.stop())
  return service
}

/** Checks that the process has printed both keys and the link, and that they work. */
async function assertPrintsLogins({ url, output }: Kinora): Promise<void> {
  const keys = [...output().matchAll(keyPattern)]
  assert.deepEqual(
    keys.map(([, environment]) => environment),
    ['production', 'sandbox'],
    output(),
  )
  for (const [, environment, key] of keys) {
    const base = environment === 'sandbox' ? '/sandbox' : ''
    assert.equal((await call(`${url}${base}/videos`, { key: key! })).status, 200)
  }
  const token = linkPattern.exec(output())?.[1]
  assert.ok(token, output())
  const login = await call(`${url}/dashboard/login-link`, { method: 'POST', key: '', json: { token } })
  assert.equal(login.status, 200, login.text)
}

describe('the keys and the login link are printed by the first start that succeeds', twoAtOnce, () => {
  for (const setting of ['KINORA_PORT', 'KINORA_RTMP_PORT']) {
    test(`after a start that failed because the port in ${setting} was in use`, async (t) => {
      const occupant = createServer().listen(0, '127.0.0.1')
      t.after(() => occupant.close())
      await once(occupant, 'listening')
      const port = `${(occupant.address() as AddressInfo).port}`
      const env = {
        KINORA_DATABASE_URL: await createDatabase(t, { isEmpty: true }),
        KINORA_DATA_DIR: await temporaryFolder(t),
      }
      const failed = await runKinora(['start'], {
        KINORA_RTMP_PORT: '0',
        KINORA_SRT_PORT: '0',
        KINORA_WEBRTC_PORT: '0',
        ...env,
        [setting]: port,
      })
      assert.match(failed.stderr, new RegExp(`^kinora cannot start: Port ${port} is in use`))
      await assertPrintsLogins(await start(t, env))
    })
  }

  test('of a process with the role api, not of a worker', async (t) => {
    const env = { KINORA_DATABASE_URL: await createDatabase(t, { isEmpty: true }) }
    await start(t, { ...env, KINORA_ROLES: 'worker' })
    await assertPrintsLogins(await start(t, { ...env, KINORA_ROLES: 'api' }))
  })

  test('even if the response to their commit is lost', async (t) => {
    const postgres = await lossyPostgres(t, await createDatabase(t, { isEmpty: true }))
    const lost = postgres
      .loseCommitOf(/insert into "api_keys"/)
      .then(() => postgres.loseCommitOf(/insert into "login_links"/))
    const service = await start(t, { KINORA_DATABASE_URL: postgres.url, KINORA_ROLES: 'api' })
    await lost
    await assertPrintsLogins(service)
  })
})

describe('a database that restarts', twoAtOnce, () => {
  test('is waited for at the start, with a message', async (t) => {
    const postgres = await lossyPostgres(t, await createDatabase(t, { isEmpty: true }))
    const seen = postgres.refuse('57P03', 'the database system is starting up')
    const starting = start(t, { KINORA_DATABASE_URL: postgres.url })
    await Promise.race([seen, starting])
    await Promise.race([postgres.refuse('57P01', 'terminating connection'), starting])
    await Promise.race([postgres.stop(), starting])
    postgres.start()
    const { output } = await starting
    assert.match(output(), /"reason":"[^"]*the database system is starting up".*"waiting for the database"/)
  })

  test('does not delay the end of a process that is told to stop', async (t) => {
    const postgres = await lossyPostgres(t, await createDatabase(t, { isEmpty: true }))
    const seen = postgres.refuse('57P03', 'the database system is starting up')
    const service = spawnKinora({
      KINORA_DATABASE_URL: postgres.url,
      KINORA_DATA_DIR: await temporaryFolder(t),
    })
    t.after(() => service.kill())
    await seen
    assert.equal(await service.stop(), 0, service.output())
    assert.doesNotMatch(service.output(), /cannot start|kinora ready|did not stop/)
  })
})
