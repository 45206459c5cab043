import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  call,
  createDatabase,
  type Kinora,
  productionKey,
  query,
  settingsOf,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { assertSameVideo, fillLibrary, itemsOf, startImport } from '../support/library.ts'
import { client } from '../support/published-client.ts'

// Both services are killed at random moments. IMPORT_VIDEOS=200 makes it a long test.

const count = Number(process.env.IMPORT_VIDEOS ?? 8)
const kills = Math.max(3, Math.floor(count / 8))

test('an import is complete and correct, however often both services are killed', async (t) => {
  const begin = async () => {
    const database = await createDatabase(t)
    const data = await temporaryFolder(t)
    const env = {
      ...settingsOf({ database, data }),
      KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
      KINORA_RATE_LIMITS: 'off',
    }
    const running: { service: Kinora } = { service: await startKinora(env) }
    t.after(() => running.service.stop())
    const { port } = new URL(running.service.url)
    const restart = async () => {
      await running.service.kill()
      running.service = await startKinora({ ...env, KINORA_PORT: port })
    }
    return { url: running.service.url, database, running, restart }
  }
  const source = await begin()
  const target = await begin()
  const library = await fillLibrary(client(source.url), source, count)
  // The largest delay is after the first failures: the test does not wait for the later ones.
  const hurry = () =>
    query(
      target.database,
      `update import_items set next_at = now() where state = 'waiting' and next_at > now()`,
    )
  const importId = await startImport(target, {
    ...{ service: 'kinora', url: source.url, key: productionKey, concurrency: 2 },
  })
  for (let n = 0; n < kills; n++) {
    await delay(randomInt(2_000))
    await (n % 2 === 0 ? target : source).restart()
  }
  let last = ''
  await waitFor(
    async () => {
      await hurry()
      await query(target.database, 'update import_runs set next_at = now() where next_at > now()')
      const { body, text } = await call(`${target.url}/imports/${importId}`)
      last = text
      return body.state === 'completed'
    },
    () => last,
    async () => last,
  )
  const items = await itemsOf(target, importId)
  if (count <= 50)
    assert.deepEqual(
      [...items.values()].filter(({ state }) => state !== 'done'),
      [],
    )
  for (const videoId of library.videoIds) await assertSameVideo(source, target, videoId)
  const [row] = await query(
    target.database,
    `select (select count(*)::int from all_videos) as videos, (select count(*)::int from players) as players,
       (select count(*)::int from live_streams) as streams,
       (select count(*)::int from import_runs where credentials is not null) as keys`,
  )
  assert.deepEqual({ ...row }, { videos: count, players: 1, streams: 1, keys: 0 })
})
