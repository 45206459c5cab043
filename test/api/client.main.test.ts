import assert from 'node:assert/strict'
import { test } from 'node:test'
import ApiVideoClient from '@api.video/nodejs-client'
import ApiVideoError from '@api.video/nodejs-client/lib/ApiVideoError.js'
import AuthenticationApi from '@api.video/nodejs-client/lib/api/AdvancedAuthenticationApi.js'
import HttpClient from '@api.video/nodejs-client/lib/HttpClient.js'
import { call, kinora, productionKey, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { client } from '../support/published-client.ts'

// Requests by the published Node.js client, and its view of the responses.

// Without a worker, which would try to fetch the source of a video and fail.
const service = sharedKinora({ KINORA_ROLES: 'api', KINORA_LOG_LEVEL: 'info' })
const videos = (path = '', key = productionKey) => client(service.url + path, key).videos

type ClientError = {
  code: number
  problemDetails: Record<string, unknown> & { problems?: { name: string }[] }
}

async function errorOf(work: Promise<unknown>): Promise<ClientError> {
  const error = await work.then(
    () => assert.fail('the call succeeded'),
    (reason) => reason,
  )
  assert.ok(error instanceof ApiVideoError.default, String(error))
  return error as unknown as ClientError
}

const titles = (list: { data: { title?: string }[] }) => list.data.map((video) => video.title)

test('a video created with every field returns all of them on creation and on read', async () => {
  const created = await videos().create({
    title: 'Grüße 🎬',
    description: 'Line one\nline two',
    _public: false,
    panoramic: true,
    mp4Support: true,
    tags: ['holiday', 'été'],
    metadata: [
      { key: 'author', value: 'Ada' },
      { key: 'viewer', value: '__viewer__' },
    ],
    language: 'fr',
    clip: { startTimecode: '00:00:05', endTimecode: '00:01:00.500' },
    transcript: false,
    transcriptSummary: false,
    transcriptSummaryAttributes: ['abstract'],
  })
  assert.match(created.videoId, /^vi[0-9A-Za-z]{22}$/)
  assert.equal(created.title, 'Grüße 🎬')
  assert.equal(created.description, 'Line one\nline two')
  assert.equal(created._public, false)
  assert.equal(created.panoramic, true)
  assert.equal(created.mp4Support, true)
  assert.deepEqual(created.tags, ['holiday', 'été'])
  assert.deepEqual(
    created.metadata?.map(({ key, value }) => ({ key, value })),
    [
      { key: 'author', value: 'Ada' },
      { key: 'viewer', value: '__viewer__' },
    ],
  )
  assert.equal(created.language, 'fr')
  assert.equal(created.languageOrigin, 'api')
  assert.equal(created.source?.type, 'upload')
  assert.equal(created.source?.uri, `/videos/${created.videoId}/source`)
  for (const kind of ['hls', 'player', 'thumbnail', 'mp4'] as const) {
    assert.ok(created.assets?.[kind]?.startsWith(`${service.url}/vod/${created.videoId}`), kind)
  }
  assert.ok(created.assets?.iframe?.includes(`src="${created.assets.player}"`))

  const { assets: _, ...found } = await videos().get(created.videoId)
  const { assets: __, ...made } = created
  assert.deepEqual(found, made)
})

test('a video created with only a title is public and not panoramic, supports MP4 and has empty lists', async () => {
  const video = await videos().create({ title: 'Plain' })
  assert.equal(video._public, true)
  assert.equal(video.panoramic, false)
  assert.equal(video.mp4Support, true)
  assert.equal(video.description, '')
  assert.deepEqual([video.tags, video.metadata], [[], []])
  assert.deepEqual([video.playerId, video.language, video.languageOrigin], [null, null, null])
  assert.deepEqual([video.discarded, video.discardedAt, video.deletesAt], [false, null, null])
})

test('a video without MP4 support has no MP4 URL and gets one when an update enables it', async () => {
  const video = await videos().create({ title: 'No file to keep', mp4Support: false })
  assert.equal(video.assets?.mp4, undefined)
  const changed = await videos().update(video.videoId, { mp4Support: true })
  assert.ok(changed.assets?.mp4?.endsWith('/mp4/source.mp4'))
})

test('the client parses the dates of creation and last update', async () => {
  const start = Date.now()
  const video = await videos().create({ title: 'Dated' })
  for (const date of [video.createdAt, video.updatedAt, video.publishedAt]) {
    assert.ok(date instanceof Date)
    // The wire format has whole seconds.
    assert.ok(Math.abs(date.getTime() - start) < 60_000, date.toISOString())
  }
  await query(
    service.database,
    `update videos set created_at = '2020-02-03T04:05:06Z', updated_at = created_at`,
  )
  const changed = await videos().update(video.videoId, { title: 'Dated anew' })
  assert.equal(changed.createdAt?.toISOString(), '2020-02-03T04:05:06.000Z')
  assert.ok(Math.abs(changed.updatedAt!.getTime() - start) < 60_000)
})

test('the transaction that creates a video with a source also creates the fetch job', async (t) => {
  // Without workers, so that nothing processes the job.
  const { url, database } = await kinora(t, { KINORA_ROLES: 'api' })
  const source = 'https://videos.example.com/some%20film.mp4'
  const video = await client(url).videos.create({ title: 'Fetched', source })
  assert.deepEqual({ ...video.source }, { type: 'url', uri: source, liveStream: undefined })
  const jobs = await query(
    database,
    `select j.data, j.xmin = v.xmin as together from pgboss.job j, all_videos v where j.name = 'fetch-source'`,
  )
  assert.deepEqual(jobs, [{ data: { videoId: video.videoId }, together: true }])

  const copy = await client(url).videos.create({ title: 'Copied', source: video.videoId })
  assert.equal(copy.source?.type, 'clone')
  const [{ n }] = (await query(
    database,
    `select count(*)::int as n from pgboss.job where data->>'videoId' = $1`,
    [copy.videoId],
  )) as [{ n: number }]
  assert.equal(n, 1)
})

test('the list applies every filter, alone and combined', async () => {
  for (const payload of [
    {
      title: 'Morning news',
      description: 'The day ahead',
      tags: ['news', 'daily'],
      metadata: pairs('at', '7'),
    },
    { title: 'Evening NEWS', description: 'The day behind', tags: ['news'], metadata: pairs('at', '19') },
    {
      title: 'Cooking',
      description: 'Soup of the day',
      tags: ['daily'],
      metadata: pairs('at', '7', 'by', 'Ada'),
    },
  ]) {
    await videos().create(payload)
  }
  await videos().create({ title: 'Recorded' })
  await query(
    service.database,
    `update videos set source_type = 'liveStream', source_reference = 'li4711' where title = 'Recorded'`,
  )
  const cases: [Parameters<ReturnType<typeof videos>['list']>[0], string[]][] = [
    [{}, ['Cooking', 'Evening NEWS', 'Morning news', 'Recorded']],
    [{ title: 'news' }, ['Evening NEWS', 'Morning news']],
    [{ title: 'ing n' }, ['Evening NEWS', 'Morning news']],
    [{ title: 'nothing' }, []],
    [{ description: 'THE DAY' }, ['Cooking', 'Evening NEWS', 'Morning news']],
    [{ tags: ['daily'] }, ['Cooking', 'Morning news']],
    [{ tags: ['daily', 'news'] }, ['Morning news']],
    [{ tags: ['dai'] }, []],
    [{ metadata: { at: '7' } }, ['Cooking', 'Morning news']],
    [{ metadata: { at: '7', by: 'Ada' } }, ['Cooking']],
    [{ metadata: { at: 'Ada' } }, []],
    [{ liveStreamId: 'li4711' }, ['Recorded']],
    [{ title: 'o', description: 'the', tags: ['daily'], metadata: { at: '7' } }, ['Cooking', 'Morning news']],
  ]
  for (const [filter, expected] of cases) {
    const list = await videos().list({ ...filter, sortBy: 'title', sortOrder: 'asc' })
    assert.deepEqual(titles(list), expected, JSON.stringify(filter))
    assert.equal(list.pagination.itemsTotal, expected.length, JSON.stringify(filter))
  }
  const [recorded] = (await videos().list({ liveStreamId: 'li4711' })).data
  assert.equal(recorded?.source?.liveStream?.liveStreamId, 'li4711')
})

const pairs = (...words: string[]) =>
  Array.from({ length: words.length / 2 }, (_, i) => ({ key: words[2 * i]!, value: words[2 * i + 1]! }))

test('the list sorts by every field in both orders, and newest first by default', async () => {
  const dates = { a: ['2021', '2022'], B: ['2022', '2023'], c: ['2023', '2021'] }
  for (const [title, [created, updated]] of Object.entries(dates)) {
    const { videoId } = await videos().create({ title })
    await query(service.database, `update videos set created_at = $2, updated_at = $3 where id = $1`, [
      videoId,
      `${created}-01-01Z`,
      `${updated}-01-01Z`,
    ])
  }
  const expected = { title: 'aBc', createdAt: 'aBc', publishedAt: 'aBc', updatedAt: 'caB' } as const
  for (const sortBy of ['title', 'createdAt', 'publishedAt', 'updatedAt'] as const) {
    const upward = titles(await videos().list({ sortBy, sortOrder: 'asc' })).join('')
    const downward = titles(await videos().list({ sortBy, sortOrder: 'desc' })).join('')
    assert.equal(upward, expected[sortBy], sortBy)
    assert.equal([...downward].reverse().join(''), upward, sortBy)
  }
  assert.equal(titles(await videos().list()).join(''), 'cBa')
})

test('the pages together contain the complete list', async () => {
  const made = ['a', 'b', 'c', 'd', 'e']
  for (const title of made) await videos().create({ title, tags: ['paged'] })
  const found = []
  for (const currentPage of [1, 2, 3]) {
    const page = await videos().list({
      tags: ['paged'],
      sortBy: 'title',
      sortOrder: 'asc',
      currentPage,
      pageSize: 2,
    })
    found.push(...titles(page))
    const { links: _, ...numbers } = page.pagination
    assert.deepEqual(numbers, {
      currentPage,
      pageSize: 2,
      pagesTotal: 3,
      itemsTotal: 5,
      currentPageItems: currentPage === 3 ? 1 : 2,
    })
  }
  assert.deepEqual(found, made)
})

test('a new video immediately appears in the list filtered by its tag and in the tag count', async () => {
  for (let n = 1; n <= 5; n++) {
    const { videoId } = await videos().create({ title: `${n}`, tags: ['fresh'] })
    const list = await videos().list({ tags: ['fresh'] })
    assert.ok(list.data.some((video) => video.videoId === videoId))
    assert.equal(list.pagination.itemsTotal, n)
    const tags = await client(service.url).tags.list({ value: 'fresh' })
    assert.deepEqual({ ...tags.data?.[0] }, { value: 'fresh', videoCount: n })
  }
})

test('the tag list has video counts, search and sorting', async () => {
  for (const tags of [['b', 'Café'], ['b'], ['a', 'b'], ['zoo, café']])
    await videos().create({ title: '', tags })
  const tags = client(service.url).tags
  const listed = async (args: Parameters<typeof tags.list>[0]) =>
    (await tags.list(args)).data?.map(({ value, videoCount }) => `${value}${videoCount}`).join(' ')
  assert.equal(await listed({}), 'a1 b3 Café1 zoo, café1')
  assert.equal(await listed({ sortOrder: 'desc' }), 'zoo, café1 Café1 b3 a1')
  assert.equal(await listed({ sortBy: 'videoCount', sortOrder: 'desc', pageSize: 1 }), 'b3')
  assert.equal(await listed({ value: 'CAFE' }), 'Café1 zoo, café1')
  const { pagination } = await tags.list({ currentPage: 2, pageSize: 3 })
  assert.deepEqual([pagination?.itemsTotal, pagination?.pagesTotal, pagination?.currentPageItems], [4, 2, 1])
})

test('an update keeps absent fields, replaces lists, clears them by empty lists and removes the player by null', async () => {
  const { videoId } = await videos().create({
    title: 'Before',
    description: 'stays',
    tags: ['one', 'two'],
    metadata: pairs('a', '1'),
    language: 'en',
  })
  const first = await videos().update(videoId, {
    title: 'After',
    tags: ['three'],
    _public: false,
    panoramic: true,
  })
  assert.deepEqual(
    [first.title, first.description, first.tags, first._public, first.panoramic, first.language],
    ['After', 'stays', ['three'], false, true, 'en'],
  )
  assert.deepEqual({ ...first.metadata?.[0] }, { key: 'a', value: '1' })

  const second = await videos().update(videoId, { tags: [], metadata: [], playerId: null })
  assert.deepEqual([second.tags, second.metadata, second.playerId, second.title], [[], [], null, 'After'])
  assert.deepEqual((await client(service.url).tags.list({})).data, [])

  // The asset URLs of a private video contain a new token in every response.
  const { assets: _, ...third } = await videos().update(videoId)
  const { assets: __, ...before } = second
  assert.deepEqual(third, before)
})

test('a deleted video returns 404 and disappears from the list and the tags', async () => {
  const { videoId } = await videos().create({ title: 'Short-lived', tags: ['brief'] })
  await videos().delete(videoId)
  for (const method of ['get', 'delete', 'getStatus', 'update'] as const) {
    const { code, problemDetails } = await errorOf(videos()[method](videoId))
    assert.deepEqual([code, problemDetails.status, problemDetails.name], [404, 404, 'videoId'])
    assert.match(String(problemDetails.type), /\/resource-not-found$/)
  }
  assert.equal((await videos().list()).pagination.itemsTotal, 0)
  assert.deepEqual((await client(service.url).tags.list({})).data, [])
})

test('the status of an empty video has no ingest, and the status of a video with a source is ingesting', async () => {
  const empty = await videos().create({ title: 'Empty' })
  const status = await videos().getStatus(empty.videoId)
  assert.equal(status.ingest, null)
  assert.equal(status.encoding?.playable, false)
  assert.deepEqual(status.encoding?.qualities, [])
  assert.ok(Object.values({ ...status.encoding?.metadata }).every((value) => value === null))

  const source = await videos().create({ title: 'Fetched', source: 'https://videos.example.com/a.mp4' })
  const { ingest } = await videos().getStatus(source.videoId)
  assert.equal(ingest?.status, 'ingesting')
  assert.deepEqual(ingest?.receivedBytes, [])
})

test('the client exchanges a key for tokens and a refresh token for new tokens, and all tokens work', async () => {
  const tokens = await client(service.url).getAccessToken()
  assert.equal(tokens.tokenType, 'Bearer')
  assert.equal(tokens.expiresIn, 3600)
  const http = new HttpClient.default({ baseUri: service.url, apiKey: productionKey, chunkSize: 1 })
  const refreshed = await new AuthenticationApi.default(http).refresh({ refreshToken: tokens.refreshToken! })
  assert.equal(refreshed.expiresIn, 3600)
  assert.notEqual(refreshed.accessToken, tokens.accessToken)
  assert.notEqual(refreshed.refreshToken, tokens.refreshToken)
  for (const { tokenType, accessToken } of [tokens, refreshed]) {
    const headers = { authorization: `${tokenType} ${accessToken}` }
    assert.equal((await call(`${service.url}/videos`, { key: '', headers })).status, 200)
  }
  const { code, problemDetails } = await errorOf(
    new AuthenticationApi.default(http).authenticate({ apiKey: 'no such key' }),
  )
  assert.deepEqual([code, problemDetails.name], [400, ''])
})

test('the sandbox is the same API under /sandbox, with its own key and videos', async () => {
  const inSandbox = videos('/sandbox', sandboxKey)
  const { videoId } = await inSandbox.create({ title: 'Trial', tags: ['trial'] })
  assert.equal((await inSandbox.get(videoId)).title, 'Trial')
  assert.equal((await inSandbox.list({ tags: ['trial'] })).pagination.itemsTotal, 1)
  assert.equal((await client(`${service.url}/sandbox`, sandboxKey).tags.list({})).data?.length, 1)
  assert.equal((await videos().list()).pagination.itemsTotal, 0)
  assert.equal((await errorOf(videos().get(videoId))).code, 404)
  assert.equal((await errorOf(videos('/sandbox', productionKey).list())).code, 401)
})

test('a base URL may end in a slash', async () => {
  for (const [path, key] of [
    ['/', productionKey],
    ['/sandbox/', sandboxKey],
  ] as const) {
    const { videoId } = await videos(path, key).create({ title: 'Slash' })
    assert.equal((await videos(path, key).update(videoId, { title: 'Slashes' })).title, 'Slashes')
    assert.equal((await videos(path, key).list({ title: 'slash' })).pagination.itemsTotal, 1)
    await videos(path, key).delete(videoId)
  }
})

test('an error has its status, the name of the invalid field and all problems', async () => {
  const wrong = { title: 5, tags: 'no list', public: 1 } as never
  const { code, problemDetails } = await errorOf(videos().create(wrong))
  assert.equal(code, 400)
  assert.equal(problemDetails.status, 400)
  assert.match(String(problemDetails.type), /\/invalid-attribute$/)
  assert.equal(problemDetails.name, problemDetails.problems?.[0]?.name)
  const names = problemDetails.problems?.map(({ name }) => name)
  assert.ok(names?.includes('title'), String(names))

  const range = await errorOf(videos().list({ pageSize: 101 }))
  assert.deepEqual([range.code, range.problemDetails.name], [400, 'pageSize'])
  assert.equal((await errorOf(videos('', 'wrong key').list())).code, 401)
})

test('a client without a key gets 401, and a client with an application name works', async () => {
  const { code, problemDetails } = await errorOf(new ApiVideoClient({ baseUri: service.url }).videos.list())
  assert.equal(code, 401)
  assert.match(String(problemDetails.type), /authentication-missing-authorization-header$/)
  const named = new ApiVideoClient({
    baseUri: service.url,
    apiKey: productionKey,
    applicationName: 'my-app',
    applicationVersion: '1.2.3',
    sdkName: 'my_sdk',
    sdkVersion: '7',
  })
  assert.equal((await named.videos.list()).pagination.itemsTotal, 0)
})

test('the requests of the client have no unknown fields', () => {
  assert.match(service.output(), /"url":"\/videos"/)
  assert.doesNotMatch(service.output(), /"warnings"/)
})
