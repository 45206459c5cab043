import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Files } from '../../server/lib/files/files.ts'
import { createMetrics } from '../../server/lib/metrics.ts'
import { fetchSource } from '../../server/uploads/fetch/fetch-source.ts'
import { sourceFailures } from '../../server/uploads/metrics.ts'
import { uploadsQueues } from '../../server/uploads/queues.ts'
import { removeFiles } from '../../server/uploads/source/remove-files.ts'
import { storeSource } from '../../server/uploads/source/store-source.ts'
import { assertSource, call, query, sendFile, sharedKinora } from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { createVideo, videoStatus } from '../support/videos.ts'

// A clone has several jobs at the same time if its original is stored or deleted while it is copied. There is no worker.
// The tests run the jobs themselves.

const service = sharedKinora({ KINORA_ROLES: 'api', KINORA_RESTORE_DAYS: '0' })
const film = randomBytes(100_000)

async function createClone(t: TestContext) {
  const fetch = { request: () => assert.fail('there is nothing to fetch'), async close() {} }
  const metrics = createMetrics([sourceFailures])
  const deps = { ...(await openJobContext(t, service)), fetch, metrics }
  const { files } = deps
  const original = await createVideo(service)
  assert.equal((await sendFile(`${service.url}/videos/${original}/source`, film)).status, 201)
  await storeSource(deps, { videoId: original })
  const clone = await createVideo(service, { source: original })
  return {
    clone,
    runJob: (copy: Files['copy'] = files.copy) =>
      fetchSource({ ...deps, files: { ...files, copy } }, { videoId: clone }),
    copy: files.copy,
    removeFileOfOriginal: () => files.remove(`videos/${original}/source`),
    async countFailures() {
      const found = (await metrics.text()).matchAll(/^kinora_source_failures_total\{cause="(.+)"\} [1-9]/gm)
      return [...found].map(([, cause]) => cause)
    },
    async deleteOriginal() {
      assert.equal((await call(`${service.url}/videos/${original}`, { method: 'DELETE' })).status, 204)
      await removeFiles(deps, { videoId: original, handle: null })
    },
  }
}

async function assertCloned(videoId: string) {
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.deepEqual([ingest.status, ingest.filesize, ingest.failure], ['ingested', film.length, undefined])
  assert.deepEqual(
    encoding.qualities.filter(({ status }: { status: string }) => status === 'failed'),
    [],
  )
  await assertSource(service.data, videoId, film)
}

test('the metrics tell an original that its owner has deleted from a lost file', async (t) => {
  const deleted = await createClone(t)
  await deleted.runJob(async (from, to) => {
    await deleted.deleteOriginal()
    await deleted.copy(from, to)
  })
  assert.deepEqual(await deleted.countFailures(), ['original'])
  const lost = await createClone(t)
  await lost.removeFileOfOriginal()
  await lost.runJob()
  assert.deepEqual(await lost.countFailures(), ['missing'])
})

test('a job that finds the original deleted does not fail a clone that another job has completed', async (t) => {
  const { clone, runJob, copy, deleteOriginal } = await createClone(t)
  await runJob(async (from, to) => {
    await runJob()
    await deleteOriginal()
    await copy(from, to)
  })
  await assertCloned(clone)
})

test('a job completes a clone although another job has found the original deleted', async (t) => {
  const { clone, runJob, copy, deleteOriginal } = await createClone(t)
  await runJob(async (from, to) => {
    await copy(from, to)
    await deleteOriginal()
    await runJob()
    const { ingest } = await videoStatus(service, clone)
    assert.equal(ingest.failure, 'The video to copy has no content.')
  })
  await assertCloned(clone)
})

test('a clone of a URL whose last attempt fails for any reason does not wait any longer', async (t) => {
  const fetch = { request: () => Promise.reject(new Error('a fault of the service')), async close() {} }
  const deps = { ...(await openJobContext(t, service)), fetch }
  const original = await createVideo(service, { source: 'http://127.0.0.1:9/film.mp4' })
  const clone = await createVideo(service, { source: original })
  await assert.rejects(fetchSource(deps, { videoId: original }), /a fault of the service/)
  await fetchSource(deps, { videoId: clone })
  const jobs = () =>
    query(service.database, `select from pgboss.job where name = 'fetch-source' and data->>'videoId' = $1`, [
      clone,
    ])
  const before = await jobs()
  await fetchSource(deps, { videoId: original }, uploadsQueues['fetch-source'].retryLimit)
  assert.equal((await jobs()).length, before.length + 1)
  await fetchSource(deps, { videoId: clone })
  for (const [videoId, reason] of [
    [original, 'The file could not be stored after hours of retries.'],
    [clone, 'The video to copy has no content.'],
  ] as const)
    assert.equal((await videoStatus(service, videoId)).ingest.failure, reason)
})
