import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { migrationNames, requiredBy } from '../../server/migrations/migrate.ts'
import {
  assertNoErrorsLogged,
  call,
  createDatabase,
  type Kinora,
  query,
  settingsOf,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeSource, rtmpPort } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { lacksPreviousVersion, unpackPreviousVersion } from '../support/previous-version.ts'
import { liveViewer, Publisher } from '../support/rolling/broadcast.ts'
import { operations } from '../support/rolling/operations.ts'
import { type Operations, Traffic } from '../support/rolling/traffic.ts'
import { uploadVideo, waitForEncoding, waitForEnds } from '../support/videos.ts'

// Processes of the previous version run on the schema of this one, under load and beside processes of this version. If both
// have the same schema, these statements stand for the next expansion.

const nextExpansion = `
  lock table all_videos, videos, live_streams in access exclusive mode;
  alter table all_videos add column later text;
  create or replace view videos as select * from all_videos where discarded_at is null;
  alter table live_streams add column later integer not null default 1;
  create table later (id text primary key, video_id text references all_videos on delete cascade);
  create index later_by_video on later (video_id);
  insert into kysely_migration values ('9999_later', '');
  insert into schema_versions (migration, version, requires)
    select '9999_later', '99.0.0', requires from schema_versions order by migration desc limit 1`

/** Waits for locks as migrations do. */
const expand = (database: string) =>
  waitFor(() =>
    query(database, `select set_config('lock_timeout', '150ms', true); ${nextExpansion}`).then(
      () => true,
      (error) => {
        if (['55P03', '40P01'].includes(error.code)) return false
        throw error
      },
    ),
  )

async function setUp(t: TestContext) {
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const database = await createDatabase({ after: (end) => ends.push(end) }, { isEmpty: true })
  const data = await temporaryFolder(t)
  const previous = await unpackPreviousVersion(t)
  const settings = {
    ...settingsOf({ database, data }),
    KINORA_RATE_LIMITS: 'off',
    KINORA_ENCODE_SLOTS: '1',
    KINORA_LOG_LEVEL: 'info',
  }
  const start = async (args?: string[]): Promise<Kinora> => {
    const service = await startKinora(settings, args)
    ends.push(() => service.stop())
    return service
  }
  /** A start of the previous version says that it does not know the schema, and ends. */
  const assertRefused = async () => {
    const refused = spawnKinora(settings, previous.args)
    ends.push(() => refused.kill())
    const { process, output } = refused
    await waitFor(() => process.exitCode !== null || output().includes('kinora ready'), output)
    assert.equal(process.exitCode, 1, output())
    assert.match(output(), refusal)
  }
  const watched = async (target: Kinora): Promise<string> => {
    const clip = join(data, 'clip.mp4')
    await makeClip(clip, { size: '64x36', rate: '5', seconds: 4 })
    const videoId = await uploadVideo(target, clip, { title: 'Watched' })
    await waitForEncoding(target, videoId)
    return videoId
  }
  const rounds = async (...traffics: Traffic[]) => {
    for (const traffic of traffics) {
      const { rounds } = traffic
      await waitFor(
        () => traffic.rounds > rounds,
        () => JSON.stringify(traffic),
      )
    }
  }
  return { database, previous, ends, start, assertRefused, watched, rounds, clip: join(data, 'clip.mp4') }
}

const refusal =
  /kinora cannot start: The database was upgraded by Kinora \S+, and this is Kinora \S+, which does not know its schema \(\S+.*\): start version \S+ or a newer one\..* Nothing was changed\./

/** Film that no worker has to encode. */
const film = randomBytes(20_000)

test('processes of the previous version work and start on the schema of this version, or are refused', {
  skip: lacksPreviousVersion,
}, async (t) => {
  const { database, previous, ends, start, assertRefused, watched, rounds, clip } = await setUp(t)
  const unknown = migrationNames.filter((name) => !previous.migrations.includes(name))
  const isRefused = unknown.map(requiredBy).some((name) => name && !previous.migrations.includes(name))
  const old = await start(previous.args)
  if (isRefused) {
    // All processes have to be stopped for the upgrade to this version.
    await old.stop()
    await start()
    return assertRefused()
  }

  const videoId = await watched(old)
  const uploaded: string[] = []
  const startTraffic = (operations: Operations) => {
    const traffic = new Traffic(operations)
    ends.push(() => traffic.stop())
    return traffic
  }
  const content = { film, videoId, uploaded }
  const oldTraffic = startTraffic(operations(old, content))
  await rounds(oldTraffic)
  if (unknown.length === 0) await expand(database)
  const current = await start()
  const restarted = await start(previous.args)

  // Each version receives a broadcast that the other one shows.
  const watching: Record<string, () => Promise<unknown>> = {}
  for (const [from, to] of [
    [old, current],
    [current, old],
  ] as const) {
    const stream = await createLiveStream(from)
    const source = makeSource({ size: '64x36', seconds: 8, frameRate: 5 })
    const publisher = new Publisher(rtmpPort(from), stream.streamKey, source)
    ends.push(() => publisher.stop())
    const playlist = `${to.url}/live/${stream.liveStreamId}.m3u8`
    await waitFor(async () => (await call(playlist, { key: '' })).status === 200)
    watching[`watch ${stream.liveStreamId}`] = liveViewer(to, stream)
  }
  const traffics = [oldTraffic, startTraffic(watching), startTraffic(operations(restarted, content))]
  const encoded = await Promise.all([old, current].map((each) => uploadVideo(each, clip)))
  await rounds(...traffics)
  for (const traffic of traffics) await traffic.stop()
  for (const service of [old, current, restarted]) assertNoErrorsLogged(service)
  for (const { failures } of traffics) assert.deepEqual(failures, [])
  for (const id of encoded) await waitForEncoding(current, id)
  for (const id of [...encoded, ...uploaded]) assert.equal((await waitForEnds(database, id)).length, 1, id)
  for (const service of [old, current, restarted]) assertNoErrorsLogged(service)
})

test('the previous version refuses a schema that requires a migration that it does not know', {
  skip: lacksPreviousVersion,
}, async (t) => {
  const { database, start, assertRefused } = await setUp(t)
  await start()
  await query(database, nextExpansion)
  await query(database, `update schema_versions set requires = '9999_later' where migration = '9999_later'`)
  await assertRefused()
})

test('a change of what the previous version uses makes its requests fail', {
  skip: lacksPreviousVersion,
}, async (t) => {
  const { database, previous, ends, start, watched, rounds } = await setUp(t)
  const old = await start(previous.args)
  const videoId = await watched(old)
  const traffic = new Traffic(operations(old, { film, videoId, uploaded: [] }))
  ends.push(() => traffic.stop())
  await rounds(traffic)
  assert.deepEqual(traffic.failures, [])
  await query(database, 'alter table live_streams rename name to title')
  await waitFor(() => traffic.failures.length > 0)
  assert.match(traffic.failures[0]!, /^change other objects: \w+ \/live-streams\S*: 500/)
})
