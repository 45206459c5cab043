import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { shareConnections } from '../../server/lib/database/connections.ts'
import {
  call,
  createDatabase,
  query,
  sendFile,
  settingsOf,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { lossyPostgres } from '../support/lossy-postgres.ts'
import { sourceUrl } from '../support/videos.ts'

const tooMany = ['53300', 'sorry, too many clients already'] as const

const settings = async (t: TestContext, database: string) => ({
  ...settingsOf({ database, data: await temporaryFolder(t) }),
  KINORA_ROLES: 'api',
})

test('requests and uploads wait for a moment while Postgres accepts no more connections', async (t) => {
  const postgres = await lossyPostgres(t, await createDatabase(t))
  const service = await startKinora(await settings(t, postgres.url))
  t.after(() => service.kill())
  const create = () => call(`${service.url}/videos`, { method: 'POST', json: {} })
  const { videoId } = (await create()).body

  await postgres.refuse(...tooMany)
  const requests = Promise.all([create(), sendFile(sourceUrl(service, videoId), Buffer.from('a film'))])
  await postgres.refuse(...tooMany)
  postgres.start()
  for (const { status, text } of await requests) assert.equal(status, 201, text)
})

test('a start waits for connections, and says how many a process opens', async (t) => {
  const postgres = await lossyPostgres(t, await createDatabase(t))
  void postgres.refuse(...tooMany)
  const url = new URL(postgres.url)
  // How long it waits before the message.
  url.searchParams.set('connect_timeout', '1')
  const service = spawnKinora({ ...(await settings(t, url.href)), KINORA_DATABASE_CONNECTIONS: '25' })
  t.after(() => service.kill())
  await waitFor(() => service.output().includes('waiting for the database'), service.output)
  assert.match(
    service.output(),
    /accepts no more connections \(sorry, too many clients already\), and this process opens up to 25: raise max_connections/,
  )
  postgres.start()
  await waitFor(() => service.output().includes('kinora ready'), service.output)
})

test('a process opens no more connections than the setting allows', async (t) => {
  const database = await createDatabase(t)
  const service = await startKinora({ ...(await settings(t, database)), KINORA_DATABASE_CONNECTIONS: '20' })
  t.after(() => service.kill())
  let isEnding = false
  const requests = Array.from({ length: 50 }, async (_, i) => {
    while (!isEnding) {
      const json = { title: String(i) }
      const response = await (i % 2 === 0
        ? call(`${service.url}/videos`, { method: 'POST', json })
        : call(`${service.url}/videos`))
      assert.ok(response.status < 300, response.text)
    }
  })
  const most: Record<string, number> = {}
  const count = async () => {
    const rows = await query(
      database,
      `select application_name as name, count(*)::int from pg_stat_activity
       where datname = current_database() and application_name like 'kinora%' group by 1`,
    )
    for (const { name, count } of rows) most[name] = Math.max(most[name] ?? 0, count)
  }
  const { keyed, lists } = shareConnections(20)
  await waitFor(
    async () => {
      await count()
      return most['kinora api']! >= keyed && most['kinora lists']! >= lists
    },
    () => JSON.stringify(most),
  )
  for (let i = 0; i < 20; i++) await count()
  isEnding = true
  await Promise.all(requests)
  // The requests need more of these, and would get them without the setting.
  assert.deepEqual([most['kinora api'], most['kinora lists']], [keyed, lists])
  const all = Object.values(most).reduce((sum, each) => sum + each, 0)
  assert.ok(all <= 20, JSON.stringify(most))
})
