import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import {
  assertNoErrorsLogged,
  assertProblem,
  call,
  deleteAllVideos,
  identifyStore,
  type Kinora,
  kinora,
  query,
  runKinora,
  type Service,
  sandboxKey,
  sendFile,
  startKinora,
  waitFor,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { client } from '../support/published-client.ts'
import { makeVideo, mp4Of, onDisk, pathOf } from '../support/stored-video.ts'
import { createViewableVideo, viewing } from '../support/viewings.ts'

// Deleted videos that can be restored.

let service: Service
/** A second process, whose caches know nothing of the first. Its deletions are final. */
let final: Kinora
const ends: (() => unknown)[] = []

before(async () => {
  const settings = { KINORA_SANDBOX_HOURS: '24', ...withoutEncoding() }
  service = await kinora({ after: (end) => ends.push(end) }, settings)
  await identifyStore(service)
  final = await startKinora({
    KINORA_DATABASE_URL: service.database,
    KINORA_DATA_DIR: service.data,
    KINORA_RESTORE_DAYS: '0',
    KINORA_ROLES: 'api',
    KINORA_LOG_LEVEL: 'warn',
  })
  ends.unshift(() => final.stop())
})
beforeEach(() => query(service.database, deleteAllVideos))
after(async () => {
  try {
    for (const each of [service, final]) assertNoErrorsLogged(each)
  } finally {
    for (const end of ends) await end()
  }
})

const videos = (key?: string) => client(service.url, key).videos
const titles = ({ data }: { data: { title?: string }[] }) => data.map(({ title }) => title)
const status = (error: { code?: number }) => error.code

async function discarded(payload: Parameters<ReturnType<typeof videos>['create']>[0]) {
  const video = await videos().create(payload)
  await videos().delete(video.videoId)
  return video
}

const restore = (videoId: string, json: unknown = { discarded: false }, key?: string) =>
  call(`${service.url}/discarded/videos/${videoId}`, { method: 'PATCH', json, ...(key && { key }) })

const remove = async (videoId: string, url = service.url) =>
  assert.equal((await call(`${url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)

const deletePermanently = (videoId: string, key?: string) =>
  call(`${service.url}/discarded/videos/${videoId}`, { method: 'DELETE', ...(key && { key }) })

test('the key of the other environment neither lists, shows, restores nor deletes a discarded video', async () => {
  const { videoId } = await discarded({ title: 'Production only' })
  const sandbox = videos(sandboxKey)
  assert.deepEqual((await sandbox.listDiscarded()).data, [])
  await assert.rejects(sandbox.getDiscarded(videoId), (error: object) => status(error) === 404)
  await assert.rejects(
    sandbox.updateDiscarded(videoId, { discarded: false }),
    (error: object) => status(error) === 404,
  )
  assertProblem(
    await restore(videoId, { discarded: false }, sandboxKey),
    404,
    'resource-not-found',
    'videoId',
  )
  assertProblem(await deletePermanently(videoId, sandboxKey), 404, 'resource-not-found', 'videoId')
  assert.equal((await videos().getDiscarded(videoId)).discarded, true)
})

describe('with the client', () => {
  test('a deleted video is discarded, shown without assets, and restored as it was', async () => {
    const created = await videos().create({
      title: 'Kept',
      description: 'As it was',
      tags: ['one', 'two'],
      metadata: [{ key: 'by', value: 'Ada' }],
      _public: true,
    })
    const { videoId } = created
    await videos().delete(videoId)
    await assert.rejects(videos().get(videoId), (error: object) => status(error) === 404)
    await assert.rejects(videos().delete(videoId), (error: object) => status(error) === 404)

    const shown = await videos().getDiscarded(videoId)
    assert.deepEqual([shown.discarded, shown.assets], [true, null])
    assert.equal(shown.deletesAt!.getTime() - shown.discardedAt!.getTime(), 7 * 86_400_000)
    assert.deepEqual((await videos().listDiscarded()).data, [shown])
    const state = { assets: null, discarded: null, discardedAt: null, deletesAt: null }
    assert.deepEqual({ ...shown, ...state }, { ...created, ...state })

    const restored = await videos().updateDiscarded(videoId, { discarded: false })
    assert.deepEqual(restored, created)
    assert.deepEqual(await videos().get(videoId), created)
    assert.deepEqual((await videos().listDiscarded()).data, [])
    await assert.rejects(videos().getDiscarded(videoId), (error: object) => status(error) === 404)
  })

  test('the list of discarded videos has the filters, the order and the pages of the list of videos', async () => {
    const pair = (key: string, value: string) => [{ key, value }]
    await discarded({ title: 'Morning news', description: 'Ahead', tags: ['news', 'daily'] })
    await discarded({ title: 'Evening NEWS', tags: ['news'], metadata: pair('at', '19') })
    await discarded({ title: 'Cooking', description: 'Soup', tags: ['daily'], metadata: pair('at', '7') })
    await discarded({ title: 'Recorded' })
    await videos().create({ title: 'Other news', description: 'Ahead', tags: ['news', 'daily'] })
    await query(
      service.database,
      `update all_videos set source_type = 'liveStream', source_reference = 'li4711' where title = 'Recorded'`,
    )
    const cases: [Parameters<ReturnType<typeof videos>['listDiscarded']>[0], string[]][] = [
      [{}, ['Cooking', 'Evening NEWS', 'Morning news', 'Recorded']],
      [{ title: 'news' }, ['Evening NEWS', 'Morning news']],
      [{ description: 'AHEAD' }, ['Morning news']],
      [{ tags: ['daily'] }, ['Cooking', 'Morning news']],
      [{ tags: ['daily', 'news'] }, ['Morning news']],
      [{ metadata: { at: '7' } }, ['Cooking']],
      [{ liveStreamId: 'li4711' }, ['Recorded']],
      [{ title: 'nothing' }, []],
    ]
    for (const [filter, expected] of cases) {
      const list = await videos().listDiscarded({ ...filter, sortBy: 'title', sortOrder: 'asc' })
      assert.deepEqual(titles(list), expected, JSON.stringify(filter))
      assert.equal(list.pagination.itemsTotal, expected.length, JSON.stringify(filter))
    }
    const found = await call(`${service.url}/discarded/videos?search=news+daily`)
    assert.deepEqual(titles(found.body), ['Morning news'])
    const newest = titles(await videos().listDiscarded())
    for (const sortBy of ['createdAt', 'publishedAt', 'updatedAt'] as const) {
      const upward = titles(await videos().listDiscarded({ sortBy, sortOrder: 'asc' }))
      assert.deepEqual(upward.toReversed(), newest, sortBy)
    }
    const page = await videos().listDiscarded({
      sortBy: 'title',
      sortOrder: 'desc',
      currentPage: 2,
      pageSize: 3,
    })
    assert.deepEqual(titles(page), ['Cooking'])
    assert.deepEqual([page.pagination.pagesTotal, page.pagination.itemsTotal], [2, 4])
    const [self] = (await call(`${service.url}/discarded/videos?title=news&pageSize=1`)).body.pagination.links
    assert.equal(self.uri, '/discarded/videos?title=news&currentPage=1&pageSize=1')
  })

  test('lists, searches and tag counts leave out discarded videos, and contain them again once restored', async () => {
    const kept = await videos().create({ title: 'Both', tags: ['shared'] })
    const { videoId } = await discarded({ title: 'Both', tags: ['shared', 'rare'] })
    const found = async () => {
      const lists = [{}, { title: 'both' }, { tags: ['shared'] }, { tags: ['shared', 'rare'] }]
      const totals = lists.map(async (filter) => (await videos().list(filter)).pagination.itemsTotal)
      const { data } = await client(service.url).tags.list({})
      return [await Promise.all(totals), data?.map(({ value, videoCount }) => [value, Number(videoCount)])]
    }
    assert.deepEqual(await found(), [[1, 1, 1, 0], [['shared', 1]]])
    assert.deepEqual(titles(await videos().list({ tags: ['shared'] })), ['Both'])
    await videos().updateDiscarded(videoId, { discarded: false })
    assert.deepEqual(await found(), [
      [2, 2, 2, 1],
      [
        ['rare', 1],
        ['shared', 2],
      ],
    ])
    await videos().delete(kept.videoId)
    assert.deepEqual((await found())[0], [1, 1, 1, 1])
  })
})

describe('invalid requests', () => {
  test('only {"discarded": false} restores a video', async () => {
    const { videoId } = await discarded({ title: 'Still discarded' })
    for (const value of [true, 'yes', null, 2, []])
      assertProblem(await restore(videoId, { discarded: value }), 400, 'invalid-attribute', 'discarded')
    assertProblem(await restore(videoId, {}), 400, 'attribute-required', 'discarded')
    assertProblem(await restore(videoId, [false]), 400, 'invalid-payload')
    assert.equal((await videos().getDiscarded(videoId)).discarded, true)
    for (const [search, name] of [
      ['sortBy=size', 'sortBy'],
      ['sortOrder=up', 'sortOrder'],
      ['pageSize=101', 'pageSize'],
      ['currentPage=0', 'currentPage'],
    ])
      assertProblem(
        await call(`${service.url}/discarded/videos?${search}`),
        400,
        'request-invalid-query-parameter',
        name,
      )
  })

  test('a video that is not discarded, was permanently deleted or never existed returns 404', async () => {
    const { videoId: active } = await videos().create({ title: 'Active' })
    const { videoId: deleted } = await videos().create({ title: 'Deleted' })
    await remove(deleted, final.url)
    for (const id of [
      active,
      deleted,
      'vi0000000000000000000000',
      '..%2Fvideos',
      "vi'; drop view videos; --",
    ]) {
      assertProblem(await restore(encodeURI(id)), 404, 'resource-not-found', 'videoId')
      const shown = await call(`${service.url}/discarded/videos/${encodeURI(id)}`)
      assertProblem(shown, 404, 'resource-not-found', 'videoId')
      assertProblem(await deletePermanently(encodeURI(id)), 404, 'resource-not-found', 'videoId')
    }
    assert.equal((await videos().get(active)).title, 'Active')
  })
})

test('a process with 0 days deletes for good, and restores what is already discarded', async () => {
  const { videoId } = await discarded({ title: 'Discarded before' })
  const { videoId: deleted } = await videos().create({ title: 'Deleted' })
  await remove(deleted, final.url)
  assert.deepEqual(await query(service.database, 'select id from all_videos'), [{ id: videoId }])
  const { data } = (await call(`${final.url}/discarded/videos`)).body
  assert.deepEqual(titles({ data }), ['Discarded before'])
  const json = { discarded: false }
  const restored = await call(`${final.url}/discarded/videos/${videoId}`, { method: 'PATCH', json })
  assert.deepEqual([restored.status, restored.body.discarded], [200, false])
})

describe('playback', () => {
  /** Status codes of all URLs of a video in both processes. */
  const play = async (paths: string[]) => {
    const urls = [service.url, final.url].flatMap((url) => paths.map((path) => url + path))
    const responses = await Promise.all(urls.map((url) => call(url, { key: '' })))
    return new Set(responses.map(({ status }) => status))
  }

  test('all files, the player page and oEmbed stop immediately in every process, and work again once restored', async () => {
    const videoId = await makeVideo(service, onDisk(service))
    const sheet = `videos/${videoId}/pictures/sprites-x`
    const sprites = { everySegments: 1, tiles: 1, columns: 1, rows: 1, width: 160, height: 90 }
    await query(
      service.database,
      `insert into pictures (video_id, thumbnail_key, sprites, sprites_key) values ($1, $2, $3, $4)`,
      [videoId, `videos/${videoId}/pictures/x.jpg`, sprites, sheet],
    )
    for (const key of [`${sheet}/0.jpg`, `videos/${videoId}/pictures/x.jpg`])
      await onDisk(service)(key, Buffer.from('image'))
    const captions = `${service.url}/videos/${videoId}/captions/en`
    const cue = Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n')
    assert.equal((await sendFile(captions, cue)).status, 200)
    const paths = [
      ...[
        'captions/en.vtt',
        'hls/manifest.m3u8',
        'hls/240p/manifest.m3u8',
        'hls/240p/init.mp4',
        'thumbnail.jpg',
      ],
      ...['sprites.vtt', 'sprites/0.jpg', 'config.json'],
    ].map((file) => `/vod/${videoId}/${file}`)
    paths.push(pathOf(videoId, 0), pathOf(videoId, 1), mp4Of(videoId), `/vod/${videoId}`)
    const embed = async () =>
      Promise.all(
        [service.url, final.url].map(
          async (url) =>
            (await call(`${url}/oembed?url=${encodeURIComponent(`${url}/vod/${videoId}`)}`)).status,
        ),
      )
    assert.deepEqual([await play(paths), await embed()], [new Set([200]), [200, 200]])
    await remove(videoId)
    assert.deepEqual([await play(paths), await embed()], [new Set([404]), [404, 404]])
    assert.equal((await restore(videoId)).status, 200)
    assert.deepEqual([await play(paths), await embed()], [new Set([200]), [200, 200]])
  })

  test('the tokens and sessions of a private video stop, and work again once restored', async () => {
    const videoId = await makeVideo(service, onDisk(service))
    const { assets } = await videos().update(videoId, { _public: false })
    const unused = (await videos().get(videoId)).assets!
    const path = (url: string | undefined) => new URL(url!).pathname
    const sessionPath = path(assets?.hls).replace('hls/manifest.m3u8', 'session')
    const session = (await call(service.url + sessionPath, { key: '' })).body.session_token
    const paths = [`${path(assets?.hls)}?avh=${session}`, `${path(assets?.mp4)}?avh=${session}`]
    assert.deepEqual(await play(paths), new Set([200]))
    await remove(videoId)
    assert.deepEqual(await play([...paths, path(unused.hls)]), new Set([404]))
    assert.equal((await restore(videoId)).status, 200)
    assert.deepEqual(await play(paths), new Set([200]))
    assert.equal((await call(service.url + path(unused.hls), { key: '' })).status, 200)
  })
})

test('a discarded video cannot be changed, filled, retried or copied', async () => {
  const { videoId } = await videos().create({ title: 'Before', tags: ['tag'] })
  const token = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: { videoId } })).body.token
  const { videoId: encoded } = await videos().create({ title: 'Failed' })
  await query(
    service.database,
    `insert into encodings (video_id, environment, state, failure, created_at)
     values ($1, 'production', 'failed', 'unreadable', now())`,
    [encoded],
  )
  for (const id of [videoId, encoded]) await remove(id)
  const at = `${service.url}/videos/${videoId}`
  const send = (path: string, method: string, json: unknown) => call(path, { method, json })
  for (const response of [
    await call(at),
    await call(`${at}/status`),
    await send(at, 'PATCH', {}),
    await send(at, 'PATCH', { title: 'After', tags: ['other'], mp4Support: false }),
    await sendFile(`${at}/source`, Buffer.from('content')),
    await sendFile(`${service.url}/upload?token=${token}`, Buffer.from('content'), { key: '' }),
    await send(`${at}/thumbnail`, 'PATCH', { timecode: '1' }),
    await sendFile(`${at}/thumbnail`, Buffer.from('image')),
    await call(`${service.url}/videos/${encoded}/retry`, { method: 'POST' }),
    await call(`${service.url}/analytics/videos/${videoId}`),
    await call(`${service.url}/analytics/videos/${videoId}/retention`),
  ])
    assertProblem(response, 404, 'resource-not-found', 'videoId')
  const copy = await send(`${service.url}/videos`, 'POST', { source: videoId })
  assertProblem(copy, 400, 'invalid-attribute', 'source')
  const bound = await send(`${service.url}/upload-tokens`, 'POST', { videoId })
  assertProblem(bound, 400, 'invalid-attribute', 'videoId')
  const tus = {
    'tus-resumable': '1.0.0',
    'upload-length': '7',
    'upload-metadata': `videoId ${btoa(videoId)}`,
  }
  assert.equal((await call(`${service.url}/tus`, { method: 'POST', headers: tus })).status, 404)

  assert.equal((await restore(videoId)).status, 200)
  const restored = (await call(at)).body
  assert.deepEqual([restored.title, restored.tags, restored.mp4Support], ['Before', ['tag'], true])
  const filled = await sendFile(`${service.url}/upload?token=${token}`, Buffer.from('content'), { key: '' })
  assert.equal(filled.status, 201, filled.text)
})

test('a restored video has the default theme if its theme was deleted in the meantime', async () => {
  const themes = client(service.url).playerThemes
  const { playerId } = await themes.create({ name: 'Short-lived' })
  const { videoId } = await discarded({ title: 'Themed', playerId })
  assert.equal((await videos().getDiscarded(videoId)).playerId, playerId)
  await themes.delete(playerId)
  assert.equal((await videos().updateDiscarded(videoId, { discarded: false })).playerId, null)
})

test('a discarded video keeps its analytics and accepts no reports', async () => {
  const videoId = await createViewableVideo(service)
  const { event, report } = viewing(videoId)
  const send = () =>
    call(`${service.url}/collector/vod`, {
      method: 'POST',
      key: '',
      json: report([event(1, 'ready', { at: 0 }), event(2, 'play', { at: 0 })]),
    })
  const { session } = (await send()).body
  const events = () => call(`${service.url}/analytics/sessions/${session}/events`)
  const plays = async () => (await call(`${service.url}/data/metrics/play/count`)).body.data
  assert.equal(await plays(), 1)
  await remove(videoId)
  assertProblem(await send(), 404, 'resource-not-found', 'session[video_id]')
  assert.equal((await events()).status, 404)
  assert.equal(await plays(), 1)
  assert.equal((await restore(videoId)).status, 200)
  assert.equal((await events()).body.data.length, 2)
  // The lookup of unknown videos is cached for a moment.
  await waitFor(async () => (await send()).status === 200)
})

test('a discarded sandbox video is not kept longer than other sandbox videos', async () => {
  const sandbox = videos(sandboxKey)
  const { videoId, createdAt } = await sandbox.create({ title: 'Trial' })
  await sandbox.delete(videoId)
  const { deletesAt } = await sandbox.getDiscarded(videoId)
  assert.equal(deletesAt!.getTime() - createdAt!.getTime(), 24 * 3_600_000)
  assert.equal((await sandbox.updateDiscarded(videoId, { discarded: false })).title, 'Trial')
})

test('the command lists videos and discarded videos, and restores a video', async () => {
  const env = { KINORA_URL: service.url, KINORA_KEY: 'test-production-key' }
  const run = (...args: string[]) => runKinora(['videos', ...args], env)
  const { videoId } = await discarded({ title: 'Gone\u001b[2J' })
  const line = await run('list', '--discarded')
  assert.match(
    line.stdout,
    new RegExp(`^[\\d-]+T[\\d:+]+  ${videoId}  deletes [\\d-]+T[\\d:+]+  Gone \\[2J\\n$`),
  )
  const listed = JSON.parse((await run('list', '--discarded', '--json')).stdout)
  assert.deepEqual(listed, (await call(`${service.url}/discarded/videos`)).body.data)

  const restored = await run('restore', videoId)
  assert.deepEqual([restored.code, restored.stderr], [0, ''])
  assert.equal(restored.stdout, `${videoId} restored: ${service.url}/vod/${videoId}\n`)
  assert.match((await run('list')).stdout, new RegExp(`^\\S+  ${videoId}  Gone \\[2J\\n$`))
  assert.equal((await run('list', '--discarded')).stdout, 'There are no deleted videos.\n')
  const again = await run('restore', videoId)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /responded with 404: /)
  assert.equal((await run('restore')).code, 2)
})
