import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertProblem, call, sharedKinora } from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { client } from '../support/published-client.ts'
import { createVideo } from '../support/videos.ts'

// Nothing is configured: summaries are written by hand.

const service = sharedKinora(withoutEncoding())
const api = () => client(service.url).summaries
const post = (json: unknown) => call(`${service.url}/summaries`, { method: 'POST', json })
const patchSource = (summaryId: string | undefined, json: unknown) =>
  call(`${service.url}/summaries/${summaryId}/source`, { method: 'PATCH', json })

describe('a summary that is written by hand', () => {
  test('is created, written, changed, listed and deleted', async () => {
    const videoId = await createVideo(service)
    const created = await api().create({ videoId })
    assert.match(created.summaryId!, /^summary_\w{22}$/)
    assert.equal(created.videoId, videoId)
    assert.equal(created.origin, 'api')
    assert.equal(created.sourceStatus, 'missing')
    assert.ok(created.createdAt instanceof Date && created.updatedAt instanceof Date)
    const summaryId = created.summaryId!
    const empty = await api().getSummarySource(summaryId)
    assert.deepEqual([empty._abstract, empty.takeaways], ['', []])

    const takeaways = ['One.', 'Two.', 'Three.']
    const written = await api().update(summaryId, { _abstract: 'About a film.', takeaways })
    assert.deepEqual([written._abstract, written.takeaways], ['About a film.', takeaways])
    const changed = await api().update(summaryId, { _abstract: 'About another film.' })
    assert.deepEqual([changed._abstract, changed.takeaways], ['About another film.', takeaways])
    const source = await api().getSummarySource(summaryId)
    assert.deepEqual([source._abstract, source.takeaways], ['About another film.', takeaways])

    const { data, pagination } = await api().list({ videoId })
    assert.equal(data[0]!.sourceStatus, 'completed')
    assert.equal(data[0]!.origin, 'api')
    assert.equal(pagination.itemsTotal, 1)
    await api().delete(summaryId)
    assert.deepEqual((await api().list({})).data, [])
    await assert.rejects(api().getSummarySource(summaryId), { code: 404 })
  })

  test('is the only one of its video, and is deleted with it', async () => {
    const videoId = await createVideo(service)
    await api().create({ videoId })
    const refused = await post({ videoId })
    assertProblem(refused, 409, 'summary-already-exists', 'videoId')
    assert.match(refused.body.detail, /Delete it/)
    await client(service.url).videos.delete(videoId)
    assert.deepEqual((await api().list({})).data, [])
  })

  test('is not changed by an empty update', async () => {
    const { summaryId } = await api().create({ videoId: await createVideo(service) })
    const { status, body } = await patchSource(summaryId, {})
    assert.equal(status, 201)
    assert.deepEqual(body, { abstract: '', takeaways: [] })
    assert.equal((await api().list({})).data[0]!.sourceStatus, 'missing')
  })

  test('two concurrent requests create one', async () => {
    const videoId = await createVideo(service)
    const answers = await Promise.all([post({ videoId }), post({ videoId })])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409])
  })
})

test('summaries are filtered, sorted and paged', async () => {
  const videoIds = [await createVideo(service), await createVideo(service), await createVideo(service)]
  const ids: string[] = []
  for (const videoId of videoIds) ids.push((await api().create({ videoId })).summaryId!)
  await api().update(ids[0]!, { takeaways: ['Only this.'] })
  const idsOf = async (query: Parameters<ReturnType<typeof api>['list']>[0]) =>
    (await api().list(query)).data.map(({ summaryId }) => summaryId)
  assert.deepEqual(await idsOf({}), ids.toReversed())
  assert.deepEqual(await idsOf({ sortBy: 'createdAt', sortOrder: 'asc' }), ids)
  assert.deepEqual(await idsOf({ sourceStatus: 'completed' }), [ids[0]])
  assert.deepEqual(await idsOf({ sourceStatus: 'missing', sortOrder: 'asc' }), ids.slice(1))
  assert.deepEqual(await idsOf({ videoId: videoIds[1]! }), [ids[1]])
  assert.deepEqual(await idsOf({ origin: 'auto' }), [])
  assert.equal((await idsOf({ sortBy: 'updatedAt' }))[0], ids[0])
  const byVideo = await api().list({ sortBy: 'videoId', sortOrder: 'asc' })
  assert.deepEqual(
    byVideo.data.map(({ videoId }) => videoId),
    videoIds.toSorted(),
  )
  const page = await api().list({ sortOrder: 'asc', pageSize: 2, currentPage: 2 })
  assert.deepEqual(
    page.data.map(({ summaryId }) => summaryId),
    [ids[2]],
  )
  assert.equal(page.pagination.pagesTotal, 2)
})

describe('a bad request', () => {
  test('for a summary names the field', async () => {
    const videoId = await createVideo(service)
    const { summaryId } = await api().create({ videoId })
    assertProblem(await post({}), 400, 'attribute-required', 'videoId')
    assertProblem(await post({ videoId: 'x/../y' }), 404, 'resource-not-found', 'videoId')
    assertProblem(await post({ videoId, origin: 'api' }), 400, 'invalid-attribute', 'origin')
    assertProblem(await post({ videoId, attributes: ['title'] }), 400, 'invalid-attribute', 'attributes[0]')
    for (const [json, name] of [
      [{ abstract: '' }, 'abstract'],
      [{ abstract: 'x'.repeat(10_001) }, 'abstract'],
      [{ abstract: 'a\0b' }, 'abstract'],
      [{ abstract: null }, 'abstract'],
      [{ takeaways: ['1', '2', '3', '4'] }, 'takeaways'],
      [{ takeaways: 'x' }, 'takeaways'],
      [{ takeaways: [''] }, 'takeaways[0]'],
    ] as const)
      assertProblem(await patchSource(summaryId, json), 400, 'invalid-attribute', name)
    assertProblem(await patchSource('summary_x', { abstract: 'x' }), 404, 'resource-not-found', 'summaryId')
    const list = (query: string) => call(`${service.url}/summaries?${query}`)
    assertProblem(await list('origin=x'), 400, 'request-invalid-query-parameter', 'origin')
    assertProblem(await list('sourceStatus=x'), 400, 'request-invalid-query-parameter', 'sourceStatus')
    assertProblem(await list('sortBy=title'), 400, 'request-invalid-query-parameter', 'sortBy')
  })

  test('for a transcript or a generated summary names the setting that is missing', async () => {
    const videoId = await createVideo(service)
    const create = (json: object) => call(`${service.url}/videos`, { method: 'POST', json })
    const update = (json: object) => call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })
    for (const answer of [await create({ transcript: true }), await update({ transcript: true })]) {
      assertProblem(answer, 400, 'invalid-attribute', 'transcript')
      assert.match(answer.body.title, /KINORA_TRANSCRIPTION_URL or KINORA_WHISPER_MODEL/)
    }
    for (const answer of [
      await create({ transcriptSummary: true }),
      await update({ transcriptSummary: true }),
    ]) {
      assertProblem(answer, 400, 'invalid-attribute', 'transcriptSummary')
      assert.match(answer.body.title, /KINORA_SUMMARY_URL/)
    }
    const answer = await post({ videoId, origin: 'auto' })
    assertProblem(answer, 400, 'invalid-attribute', 'origin')
    assert.match(answer.body.title, /KINORA_SUMMARY_URL/)
    assert.equal((await update({ transcript: false, transcriptSummary: false })).status, 200)
    assert.equal((await call(`${service.url}/videos/${videoId}/status`)).body.transcript, null)
  })
})
