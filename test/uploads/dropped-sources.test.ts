import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import type { Files } from '../../server/lib/files/files.ts'
import type { Finding } from '../../server/sweep/findings.ts'
import { sweepAll } from '../../server/sweep/sweep.ts'
import { fetchSource } from '../../server/uploads/fetch/fetch-source.ts'
import { dropDueSources, dropOldSources } from '../../server/uploads/source/drop-source.ts'
import { listCandidates } from '../../server/uploads/source/drop-source-store.ts'
import { storeSource } from '../../server/uploads/source/store-source.ts'
import {
  assertNoErrorsLogged,
  assertProblem,
  call,
  fileExists,
  query,
  sendFile,
  settingsOf,
  sharedKinora,
  sourcePath,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import {
  createVideo,
  encodingOf,
  media,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../support/videos.ts'

// Sources are deleted after the encoding if KINORA_SOURCE_DAYS is set. Most tests run the task themselves, because the
// service runs it once a minute.

const service = sharedKinora({
  ...withoutThumbnails(),
  KINORA_RESTORE_DAYS: '1',
  KINORA_TRANSCRIPTION_URL: 'http://127.0.0.1:8999/',
})
const hour = 3_600_000
let film: Buffer

before(async () => {
  const path = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(path, { size: '320x240', rate: '6', seconds: 2, audioCodec: 'aac' })
  film = await readFile(path)
})

type Deps = Awaited<ReturnType<typeof openJobContext>>

/** Runs the task as if the setting had this value and this many hours had passed. */
async function runTask(deps: Deps, { days = 0, hours = 1 } = {}): Promise<void> {
  const now = () => new Date(Date.now() + hours * hour)
  const config = { ...deps.config, sourceDays: days }
  await dropOldSources({ ...deps, config, now }, new AbortController().signal)
}

const stateOf = async (videoId: string) =>
  (await query(service.database, 'select state from sources where video_id = $1', [videoId]))[0]?.state

async function uploadEncoded(json: object = {}): Promise<string> {
  const videoId = await uploadVideo(service, film, json)
  await waitForEncoding(service, videoId)
  return videoId
}

const hasSource = (videoId: string) => fileExists(sourcePath(service.data, videoId))

async function uploadDropped(t: TestContext, json: object = {}): Promise<{ videoId: string; deps: Deps }> {
  const deps = await openJobContext(t, service)
  const videoId = await uploadEncoded(json)
  await runTask(deps)
  assert.equal(await stateOf(videoId), 'dropped')
  await waitFor(async () => !(await hasSource(videoId)))
  return { videoId, deps }
}

const patch = (videoId: string, json: object) =>
  call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })

const isEncoded = async (videoId: string) => {
  const { qualities } = await waitForEncoding(service, videoId)
  return qualities.every(({ status }) => status === 'encoded')
}

describe('a source', () => {
  test('is dropped after the days of the setting, and the status says when', async (t) => {
    const deps = await openJobContext(t, service)
    const videoId = await uploadEncoded()
    await runTask(deps, { days: 2, hours: 47 })
    assert.equal(await stateOf(videoId), 'stored')
    assert.equal((await videoStatus(service, videoId)).ingest.sourceDroppedAt, undefined)
    await runTask(deps, { days: 2, hours: 49 })
    const { ingest } = await videoStatus(service, videoId)
    assert.deepEqual([ingest.status, ingest.filesize], ['uploaded', film.length])
    assert.ok(Date.parse(ingest.sourceDroppedAt) > Date.now())
    await waitFor(async () => !(await hasSource(videoId)))
    assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 200)
  })

  test('that became due long ago is only found among all, and each one once', async (t) => {
    const deps = await openJobContext(t, service)
    const config = { ...deps.config, sourceDays: 1 }
    const videoIds = await Promise.all([uploadEncoded(), uploadEncoded()])
    const setAge = (age: string) =>
      query(
        service.database,
        `update encodings set finished_at = now() - $2::interval where video_id = any($1)`,
        [videoIds, age],
      )
    const states = () => Promise.all(videoIds.map(stateOf))
    const never = new AbortController().signal
    // All have the same time.
    await setAge('26 hours')
    await dropDueSources({ ...deps, config }, never)
    assert.deepEqual(await states(), ['stored', 'stored'])
    const [first] = await listCandidates(deps.db, {
      after: { finishedAt: '-infinity', videoId: '' },
      encodedBefore: new Date(),
      limit: 1,
    })
    const rest = await listCandidates(deps.db, { after: first!, encodedBefore: new Date(), limit: 10 })
    assert.deepEqual([first!, ...rest].map((each) => each.videoId).sort(), videoIds.toSorted())
    await setAge('24.5 hours')
    await dropDueSources({ ...deps, config }, never)
    assert.deepEqual(await states(), ['dropped', 'dropped'])
  })

  test('is kept while something may need it', async (t) => {
    const deps = await openJobContext(t, service)
    const videoId = await uploadEncoded()
    const clone = await createVideo(service)
    for (const [change, undo] of [
      [`update encodings set state = 'encoding'`, `update encodings set state = 'encoded'`],
      [`update encodings set sound_failure = 'broken'`, 'update encodings set sound_failure = null'],
      [
        `update renditions set state = 'failed' where type = 'hls'`,
        `update renditions set state = 'encoded'`,
      ],
      [
        `update renditions set state = 'failed' where type = 'mp4'`,
        `update renditions set state = 'encoded'`,
      ],
      [
        `update renditions set state = 'waiting' where type = 'mp4'`,
        `update renditions set state = 'encoded'`,
      ],
      [`update sources set state = 'received'`, `update sources set state = 'stored'`],
      [
        `insert into chunks (video_id, environment, track, qualities, first_segment, segments, priority, not_before, is_paused)
         values ('${videoId}', 'production', 'picture', '{240p}', 0, 1, 0, now(), true)`,
        'delete from chunks',
      ],
      [
        `update all_videos set source_type = 'clone', source_reference = '${videoId}' where id = '${clone}';
         insert into sources (video_id, form, handle, state, created_at, updated_at)
         values ('${clone}', 'clone', '${crypto.randomUUID()}', 'receiving', now(), now())`,
        `delete from sources where video_id = '${clone}';
         update all_videos set source_type = 'upload', source_reference = null where id = '${clone}'`,
      ],
      [
        `update all_videos set source_type = 'clone', source_reference = '${videoId}' where id = '${clone}'`,
        `update all_videos set source_type = 'upload', source_reference = null where id = '${clone}'`,
      ],
    ] as const) {
      await query(service.database, change)
      const before = await stateOf(videoId)
      await runTask(deps)
      assert.equal(await stateOf(videoId), before, change)
      await query(service.database, undo)
    }
    assert.ok(await hasSource(videoId))
    await runTask(deps)
    assert.equal(await stateOf(videoId), 'dropped')
  })

  test('is dropped by a worker with the setting, also of a discarded video, which can be restored', async () => {
    const videoId = await uploadEncoded()
    assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
    const worker = await startKinora({
      ...settingsOf(service),
      KINORA_ROLES: 'worker',
      KINORA_SOURCE_DAYS: '0',
      KINORA_RESTORE_DAYS: '1',
    })
    try {
      await waitFor(async () => !(await hasSource(videoId)))
    } finally {
      await worker.stop()
    }
    const restored = await call(`${service.url}/discarded/videos/${videoId}`, {
      method: 'PATCH',
      json: { discarded: false },
    })
    assert.equal(restored.status, 200)
    assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 200)
    assert.ok((await videoStatus(service, videoId)).ingest.sourceDroppedAt)
    assertNoErrorsLogged(worker)
  })
})

describe('after its source was dropped', () => {
  test('a video gets an MP4, another thumbnail and a transcript from what is encoded', async (t) => {
    const { videoId } = await uploadDropped(t, { mp4Support: false })
    assert.equal((await patch(videoId, { mp4Support: true })).status, 200)
    await waitFor(async () => (await encodingOf(service, videoId)).qualities.at(-1)?.type === 'mp4')
    assert.ok(await isEncoded(videoId))
    const pick = await call(`${service.url}/videos/${videoId}/thumbnail`, {
      method: 'PATCH',
      json: { timecode: '00:00:01' },
    })
    assert.equal(pick.status, 200)
    const thumbnail = () =>
      query(service.database, 'select thumbnail_key from pictures where video_id = $1', [videoId])
    await waitFor(async () => /picked-/.test((await thumbnail())[0]?.thumbnail_key ?? ''))
    assert.equal((await patch(videoId, { transcript: true })).status, 200)
    // The audio is silent, so nothing is sent to the server.
    await waitFor(async () => (await videoStatus(service, videoId)).transcript?.status === 'unprocessable')
  })

  test('the video has nothing to retry and accepts no other file, not even the same chunk again', async (t) => {
    const { videoId } = await uploadDropped(t)
    const retried = await call(`${service.url}/videos/${videoId}/retry`, { method: 'POST' })
    assertProblem(retried, 409, 'nothing-to-retry')
    const range = `bytes 0-${film.length - 1}/${film.length}`
    for (const options of [{}, { range }]) {
      const sent = await sendFile(sourceUrl(service, videoId), film, options)
      assert.equal(sent.status, 400, sent.text)
    }
  })

  test('a job that was suspended before it stored the file keeps what is encoded, and removes the file', async (t) => {
    const { videoId, deps } = await uploadDropped(t)
    await query(service.database, `update sources set state = 'received' where video_id = $1`, [videoId])
    const finishUpload: Files['finishUpload'] = async (_handle, key) => {
      // Another job has stored the same file, it was encoded, and its source was dropped.
      await query(service.database, `update sources set state = 'dropped' where video_id = $1`, [videoId])
      return deps.files.put(key, film)
    }
    await storeSource({ ...deps, files: { ...deps.files, finishUpload } }, { videoId })
    assert.equal(await stateOf(videoId), 'dropped')
    assert.ok(await isEncoded(videoId))
    await waitFor(async () => !(await hasSource(videoId)))
    assert.equal((await media(service.url, videoId, 'mp4/source.mp4')).status, 200)
  })

  test('a copy is made from the MP4, or from the best quality', async (t) => {
    const { videoId } = await uploadDropped(t)
    const ofMp4 = await createVideo(service, { source: videoId, mp4Support: false })
    await waitForEncoding(service, ofMp4)
    const mp4 = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
    const { ingest } = await videoStatus(service, ofMp4)
    assert.deepEqual([ingest.status, ingest.filesize], ['ingested', (await mp4.arrayBuffer()).byteLength])
    assert.ok(await isEncoded(ofMp4))

    await runTask(await openJobContext(t, service))
    assert.equal(await stateOf(ofMp4), 'dropped')
    const ofQuality = await createVideo(service, { source: ofMp4 })
    assert.ok(await isEncoded(ofQuality))
    const { metadata } = await encodingOf(service, ofQuality)
    assert.deepEqual([metadata.duration, metadata.height, metadata.audioCodec], [2, 240, 'aac'])
  })

  test('a copy in progress continues with the MP4', async (t) => {
    const deps = await openJobContext(t, service)
    const videoId = await uploadEncoded()
    const clone = await createVideo(service)
    await query(
      service.database,
      `update all_videos set source_type = 'clone', source_reference = $1 where id = $2`,
      [videoId, clone],
    )
    const fetch = { request: () => assert.fail('there is nothing to fetch'), async close() {} }
    const copy: Files['copy'] = async (from, to) => {
      // The task saw no copy in progress and commits now.
      await query(service.database, `update sources set state = 'dropped' where video_id = $1`, [videoId])
      await deps.files.remove(`videos/${videoId}/source`)
      await deps.files.copy(from, to)
    }
    await fetchSource({ ...deps, fetch, files: { ...deps.files, copy } }, { videoId: clone })
    assert.ok(await isEncoded(clone))
  })

  test('the sweep does not miss the file, and removes one that a killed process has left', async (t) => {
    const { videoId, deps } = await uploadDropped(t)
    const findings: Finding[] = []
    // The files of the videos that other tests have deleted are orphans.
    const report = (finding: Finding) => JSON.stringify(finding).includes(videoId) && findings.push(finding)
    const run = () => sweepAll(deps, { removes: true, graceMs: 0, report })
    assert.equal(await run(), undefined)
    assert.deepEqual(findings, [])
    const path = sourcePath(service.data, videoId)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, film)
    await run()
    const key = `videos/${videoId}/source`
    assert.deepEqual(findings, [{ kind: 'orphans', key, files: 1, bytes: film.length, isRemoved: true }])
    assert.equal(await fileExists(path), false)
  })
})
