import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { assertProblem, call, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { client } from '../support/published-client.ts'

// Live streams as objects of the API. The other tests of this folder broadcast to them.

const service = sharedKinora({ KINORA_ROLES: 'api' })
const streams = () => `${service.url}/live-streams`
beforeEach(() => query(service.database, 'delete from live_streams; delete from players'))

test('the published client creates, shows, changes, lists and deletes live streams', async () => {
  const { liveStreams } = client(service.url)
  const restreams = [{ name: 'Channel', serverUrl: 'rtmp://live.example.com/app', streamKey: 'abc' }]
  const created = await liveStreams.create({ name: 'Show', _public: true, restreams })
  assert.match(created.liveStreamId, /^li[0-9A-Za-z]{22}$/)
  assert.match(created.streamKey!, /^[0-9A-Za-z]{22}$/)
  assert.deepEqual([created.name, created._public, created.broadcasting], ['Show', true, false])
  assert.deepEqual(
    created.restreams.map((each) => ({ ...each })),
    restreams,
  )
  const url = `${service.url}/live/${created.liveStreamId}`
  const { iframe, ...assets } = created.assets!
  assert.deepEqual({ ...assets }, { hls: `${url}.m3u8`, player: url, thumbnail: `${url}/thumbnail.jpg` })
  assert.ok(iframe!.startsWith(`<iframe src="${url}" title="Show" `), iframe)
  assert.deepEqual(await liveStreams.get(created.liveStreamId), created)
  const changed = await liveStreams.update(created.liveStreamId, { name: 'Other', restreams: [] })
  assert.deepEqual([changed.name, changed.restreams, changed.streamKey], ['Other', [], created.streamKey])
  const other = await liveStreams.create({ name: 'Second' })
  const list = await liveStreams.list({ sortBy: 'name', sortOrder: 'asc' })
  assert.deepEqual(
    list.data.map(({ name }) => name),
    ['Other', 'Second'],
  )
  const byKey = await liveStreams.list({ streamKey: other.streamKey! })
  assert.deepEqual(
    byKey.data.map(({ liveStreamId }) => liveStreamId),
    [other.liveStreamId],
  )
  await liveStreams.delete(created.liveStreamId)
  assertProblem(await call(`${streams()}/${created.liveStreamId}`), 404, 'resource-not-found', 'liveStreamId')
})

test('a list is filtered by a part of the name, and has pages', async () => {
  for (const name of ['Morning show', 'Evening SHOW', 'News', '100%'])
    await createLiveStream(service, { name })
  const names = async (search: string) => {
    const { body } = await call(`${streams()}?${search}&sortBy=name&sortOrder=asc`)
    return body.data.map((each: { name: string }) => each.name)
  }
  assert.deepEqual(await names('name=show'), ['Evening SHOW', 'Morning show'])
  assert.deepEqual(await names('name=%25'), ['100%'])
  assert.deepEqual(await names('pageSize=1&currentPage=2'), ['Evening SHOW'])
})

test('each response of a private live stream has URLs for another viewer', async () => {
  const { liveStreamId, assets } = await createLiveStream(service, { name: 'Secret', public: false })
  const { body } = await call(`${streams()}/${liveStreamId}`)
  const token = /\/live\/private\/([0-9a-f-]{36})\//.exec(assets.hls)?.[1]
  assert.equal(assets.hls, `${service.url}/live/private/${token}/${liveStreamId}.m3u8`)
  assert.equal(assets.player, `${service.url}/live/${liveStreamId}?token=${token}`)
  assert.notEqual(body.assets.hls, assets.hls)
})

test('a rotated stream key replaces the previous one', async () => {
  const { liveStreamId, streamKey } = await createLiveStream(service)
  const { status, body } = await call(`${streams()}/${liveStreamId}/stream-key`, { method: 'POST' })
  assert.equal(status, 200)
  assert.notEqual(body.streamKey, streamKey)
  assert.equal((await call(`${streams()}?streamKey=${streamKey}`)).body.data.length, 0)
})

test('live streams and player themes belong to their environment', async () => {
  const sandbox = { key: sandboxKey }
  const { liveStreamId } = await createLiveStream(service)
  const url = `${service.url}/sandbox/live-streams/${liveStreamId}`
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/stream-key'],
  ] as const) {
    const json = method === 'PATCH' ? { json: { name: 'x' } } : {}
    const response = await call(url + path, { ...sandbox, method, ...json })
    assertProblem(response, 404, 'resource-not-found', 'liveStreamId')
  }
  assert.equal((await call(`${service.url}/sandbox/live-streams`, sandbox)).body.data.length, 0)
  const theme = await call(`${service.url}/players`, { method: 'POST', json: { name: 'Blue' } })
  const { playerId } = theme.body
  const json = { name: 'x', playerId }
  const foreign = await call(`${service.url}/sandbox/live-streams`, { ...sandbox, method: 'POST', json })
  assertProblem(foreign, 400, 'invalid-attribute', 'playerId')
  assert.equal((await createLiveStream(service, json)).playerId, playerId)
  await call(`${service.url}/players/${playerId}`, { method: 'DELETE' })
  assert.equal((await call(`${streams()}?name=x`)).body.data[0].playerId, null)
})

test('metadata and the viewer count of the player can be set and changed', async () => {
  const created = await createLiveStream(service)
  assert.deepEqual([created.metadata, created.showViewers], [[], false])
  const url = `${streams()}/${created.liveStreamId}`
  const metadata = [{ key: 'user', value: '__user__' }]
  const changed = await call(url, { method: 'PATCH', json: { metadata, showViewers: true } })
  assert.deepEqual([changed.body.metadata, changed.body.showViewers], [metadata, true])
  await call(url, { method: 'PATCH', json: { name: 'Other' } })
  const { body } = await call(url)
  assert.deepEqual([body.metadata, body.showViewers], [metadata, true])
})

test('the player page has the name, the theme and the thumbnail of the live stream', async () => {
  const { playerId } = (await call(`${service.url}/players`, { method: 'POST', json: { link: 'red' } })).body
  const { liveStreamId } = await createLiveStream(service, { name: '</script>&', playerId })
  const url = `${service.url}/live/${liveStreamId}`
  const page = await call(url, { key: '' })
  assert.equal(page.status, 200)
  assert.match(page.headers.get('cache-control') ?? '', /no-store/)
  assert.match(page.text, /<title>&lt;\/script&gt;&amp;<\/title>/)
  assert.ok(page.text.includes(`<link rel="canonical" href="${url}">`))
  const config = (await call(`${url}/config.json`, { key: '' })).body
  const { type, state, title, poster, theme, hls, collector } = config
  assert.deepEqual(
    { type, state, title, poster, hls, collector },
    {
      type: 'live',
      state: 'waiting',
      title: '</script>&',
      poster: null,
      hls: `/live/${liveStreamId}.m3u8`,
      collector: '/collector/live',
    },
  )
  assert.equal(theme.link, 'red')
  await query(service.database, 'insert into live_thumbnails values ($1, $2)', [liveStreamId, Buffer.of(0)])
  const changed = (await call(`${url}/config.json`, { key: '' })).body
  assert.equal(changed.poster, `/live/${liveStreamId}/thumbnail.jpg`)
})

test('invalid attributes are named', async () => {
  const restream = { name: 'a', serverUrl: 'rtmp://example.com/app', streamKey: 'b' }
  const cases: [object, string][] = [
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: 'x', public: 'no' }, 'public'],
    [{ name: 'x', showViewers: 'yes' }, 'showViewers'],
    [{ name: 'x', metadata: [{ key: 'a' }] }, 'metadata[0]'],
    [{ name: 'x', metadata: [{ a: 'b' }, { a: 'c' }] }, 'metadata[1]'],
    [{ name: 'x', playerId: 'pl1' }, 'playerId'],
    [{ name: 'x', restreams: Array(6).fill(restream) }, 'restreams'],
    [{ name: 'x', restreams: [{ ...restream, serverUrl: 'http://example.com' }] }, 'restreams[0][serverUrl]'],
    [{ name: 'x', restreams: [restream, { ...restream, serverUrl: 'rtmp://' }] }, 'restreams[1][serverUrl]'],
    [{ name: 'x', restreams: [{ ...restream, serverUrl: 'rtmp://example.com' }] }, 'restreams[0][serverUrl]'],
    [
      { name: 'x', restreams: [{ ...restream, serverUrl: 'rtmp://10.0.0.1/app' }] },
      'restreams[0][serverUrl]',
    ],
    ...[
      'rtmp://example.com/a\r\nb',
      'rtmp://example.com/app\n',
      'rtmp://example.com/a%0D%0ab',
      '\trtmp://example.com/a',
    ].map((serverUrl): [object, string] => [
      { name: 'x', restreams: [restream, { ...restream, serverUrl }] },
      'restreams[1][serverUrl]',
    ]),
    [{ name: 'x', restreams: [{ ...restream, streamKey: ' ' }] }, 'restreams[0][streamKey]'],
    [{ name: 'x', restreams: [{ ...restream, streamKey: 'b\r\nc' }] }, 'restreams[0][streamKey]'],
    [{ name: 'x', restreams: [{ ...restream, streamKey: 'b\u007f' }] }, 'restreams[0][streamKey]'],
    [{ name: 'x', restreams: [{ name: 'a', serverUrl: restream.serverUrl }] }, 'restreams[0][streamKey]'],
  ]
  for (const [json, name] of cases) {
    const response = await call(streams(), { method: 'POST', json })
    assert.equal(response.status, 400, JSON.stringify(json))
    assert.equal(response.body.name, name, response.text)
  }
  assert.equal((await call(streams())).body.data.length, 0)
})
