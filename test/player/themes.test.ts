import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, beforeEach, test } from 'node:test'
import {
  assertProblem,
  call,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'
import { client } from '../support/published-client.ts'

const service = sharedKinora({ KINORA_ROLES: 'api' })
const players = () => `${service.url}/players`
const post = (json: unknown, key?: string) =>
  call(key === sandboxKey ? `${service.url}/sandbox/players` : players(), {
    method: 'POST',
    json,
    ...(key && { key }),
  })

let folder = ''
const image = (name: string) => join(folder, name)

before(async () => {
  folder = await temporaryFolder({ after: () => {} })
  const make = (size: string, name: string) =>
    ffmpeg('-f', 'lavfi', '-i', `color=red:s=${size}`, '-frames:v', '1', image(name))
  await Promise.all([make('200x100', 'logo.png'), make('120x40', 'logo.jpg'), make('202x100', 'wide.png')])
})
beforeEach(() => query(service.database, 'delete from players'))

const white = 'rgba(255, 255, 255, 1)'
const defaults = {
  text: white,
  link: white,
  linkHover: white,
  linkActive: white,
  trackPlayed: 'rgba(88, 131, 255, .95)',
  trackUnplayed: 'rgba(255, 255, 255, .35)',
  trackBackground: 'rgba(255, 255, 255, .2)',
  backgroundTop: 'rgba(0, 0, 0, .7)',
  backgroundBottom: 'rgba(0, 0, 0, .7)',
  backgroundText: white,
  enableApi: true,
  enableControls: true,
  forceAutoplay: false,
  hideTitle: false,
  forceLoop: false,
}

test('the published client creates, shows, changes, lists and deletes themes', async () => {
  const { playerThemes } = client(service.url)
  const created = await playerThemes.create({ name: 'Blue', text: '#00f', forceLoop: true })
  assert.match(created.playerId, /^pl[0-9A-Za-z]{22}$/)
  assert.ok(Math.abs(created.createdAt!.getTime() - Date.now()) < 60_000)
  const { playerId, createdAt: _c, updatedAt: _u, assets, name, ...style } = created
  assert.equal(name, 'Blue')
  assert.deepEqual({ ...assets }, { logo: null, link: null })
  const { id, ...shown } = style as Record<string, unknown>
  assert.ok(id === undefined || id === playerId)
  assert.deepEqual(shown, { ...defaults, text: '#00f', forceLoop: true })
  assert.deepEqual(await playerThemes.get(playerId), created)

  const changed = await playerThemes.update(playerId, { link: 'rgb(1 2 3 / 50%)', forceLoop: false })
  assert.equal(changed.link, 'rgb(1 2 3 / 50%)')
  assert.equal(changed.text, '#00f')
  assert.equal(changed.forceLoop, false)
  assert.equal(changed.name, 'Blue')

  const other = await playerThemes.create({ name: 'azure' })
  const names = async (order: object) => (await playerThemes.list(order)).data.map((each) => each.name)
  assert.deepEqual(await names({}), ['azure', 'Blue'])
  assert.deepEqual(await names({ sortBy: 'name', sortOrder: 'asc' }), ['azure', 'Blue'])
  assert.deepEqual(await names({ sortBy: 'name', sortOrder: 'desc' }), ['Blue', 'azure'])
  assert.deepEqual(await names({ sortBy: 'createdAt', sortOrder: 'asc' }), ['Blue', 'azure'])
  await playerThemes.update(playerId, { name: 'Navy' })
  assert.deepEqual(await names({ sortBy: 'updatedAt', sortOrder: 'desc' }), ['Navy', 'azure'])
  const second = await playerThemes.list({ currentPage: 2, pageSize: 1, sortBy: 'name', sortOrder: 'asc' })
  assert.deepEqual(
    second.data.map((each) => each.name),
    ['Navy'],
  )
  assert.equal(second.pagination.itemsTotal, 2)

  await playerThemes.delete(other.playerId)
  await assert.rejects(playerThemes.get(other.playerId), { code: 404 })
  await assert.rejects(playerThemes.delete(other.playerId), { code: 404 })
  await assert.rejects(playerThemes.update(other.playerId, { name: 'x' }), { code: 404 })
})

test('a theme without attributes has the default values', async () => {
  const { status, body } = await post({})
  assert.equal(status, 201)
  assert.equal(body.id, body.playerId)
  assert.equal(body.name, '')
  for (const [name, value] of Object.entries(defaults)) assert.equal(body[name], value, name)
  const same = await call(`${players()}/${body.playerId}`, { method: 'PATCH', json: {} })
  assert.equal(same.status, 200)
  assert.deepEqual(same.body, body)
})

test('all invalid attributes of a theme are rejected by name in one response', async () => {
  const names = async (json: unknown, method = 'POST', url = players()) => {
    const { status, body, text } = await call(url, { method, json })
    assert.equal(status, 400, text)
    return body.problems.map((each: { name: string }) => each.name)
  }
  const bad = { text: 'red; background: url(//example.com)', link: '</style><script>', backgroundTop: '' }
  assert.deepEqual(await names(bad), ['text', 'link', 'backgroundTop'])
  assert.deepEqual(await names({ text: 7, forceLoop: 'yes', name: 'n'.repeat(101) }), [
    'name',
    'text',
    'forceLoop',
  ])
  assert.deepEqual(await names({ text: `rgb(${'1'.repeat(200)}, 2, 3)` }), ['text'])
  assert.deepEqual(await names({ name: 'a\0b' }), ['name'])
  const { body } = await post({ text: 'teal' })
  const url = `${players()}/${body.playerId}`
  assert.deepEqual(await names({ text: 'var(--x)', link: '#123' }, 'PATCH', url), ['text'])
  assert.equal((await call(url)).body.link, white)
  assertProblem(await post([]), 400, 'invalid-payload')
  assertProblem(await call(`${players()}?sortBy=color`), 400, 'request-invalid-query-parameter', 'sortBy')
  assertProblem(await call(`${players()}?pageSize=0`), 400, 'request-invalid-query-parameter', 'pageSize')
  for (const id of ['x', `pl${'A'.repeat(22)}`, 'pl%00', `pl${'A'.repeat(5000)}`])
    assertProblem(await call(`${players()}/${id}`), 404, 'resource-not-found', 'playerId')
})

test('the published client uploads a logo, which is public', async () => {
  const { playerThemes } = client(service.url)
  const { playerId } = await playerThemes.create({ name: 'Logo' })
  const linked = await playerThemes.uploadLogo(playerId, image('logo.png'), 'https://example.com/?a=b&c')
  assert.equal(linked.assets?.link, 'https://example.com/?a=b&c')
  const logoUrl = linked.assets?.logo ?? ''
  assert.ok(logoUrl.startsWith(`${service.url}/players/${playerId}/logo/`), logoUrl)
  assert.match(logoUrl, /\.png$/)
  const shown = await call(logoUrl, { key: '' })
  assert.equal(shown.status, 200)
  assert.equal(shown.headers.get('content-type'), 'image/png')
  assert.equal(shown.headers.get('x-content-type-options'), 'nosniff')
  assert.match(shown.headers.get('cache-control') ?? '', /immutable/)

  // Without a link the client sends the text "undefined". The new logo has a new URL.
  const other = await playerThemes.uploadLogo(playerId, image('logo.jpg'))
  assert.equal(other.assets?.link, null)
  assert.match(other.assets?.logo ?? '', /\.jpg$/)
  assert.equal((await call(other.assets?.logo ?? '', { key: '' })).headers.get('content-type'), 'image/jpeg')
  assertProblem(await call(logoUrl, { key: '' }), 404, 'resource-not-found', 'file')
  assert.deepEqual((await playerThemes.get(playerId)).assets, other.assets)

  await playerThemes.deleteLogo(playerId)
  assert.deepEqual({ ...(await playerThemes.get(playerId)).assets }, { logo: null, link: null })
  assertProblem(await call(other.assets?.logo ?? '', { key: '' }), 404, 'resource-not-found', 'file')
})

test('a logo that is not a small image is rejected, regardless of its file name', async () => {
  const { body } = await post({})
  const url = `${players()}/${body.playerId}/logo`
  const send = (content: Buffer, after: Record<string, string> = {}, to = url) =>
    sendFile(to, content, { filename: 'logo.png', after })
  const script = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  assertProblem(await send(script), 400, 'uploaded-file-extension-invalid', 'file')
  assertProblem(await send(Buffer.alloc(0)), 400, 'uploaded-file-empty', 'file')
  const small = await readFile(image('logo.png'))
  assertProblem(await send(await readFile(image('wide.png'))), 400, 'uploaded-file-too-large', 'file')
  const padded = Buffer.concat([small, Buffer.alloc(100 * 1024)])
  assertProblem(await send(padded), 400, 'uploaded-file-too-large', 'file')
  for (const link of ['javascript:alert(1)', 'example.com', `https://example.com/${'x'.repeat(3000)}`])
    assertProblem(await send(small, { link }), 400, 'invalid-attribute', 'link')
  assertProblem(await call(url, { method: 'POST', json: {} }), 400, 'invalid-payload')
  const unknown = `${players()}/pl${'A'.repeat(22)}/logo`
  assertProblem(await send(small, {}, unknown), 404, 'resource-not-found', 'playerId')
  assertProblem(await call(unknown, { method: 'DELETE' }), 404, 'resource-not-found', 'playerId')
  for (const file of ['x.png', '..%2f..%2fetc', `${'0'.repeat(16)}.svg`, `${'0'.repeat(16)}.png`])
    assertProblem(await call(`${url}/${file}`, { key: '' }), 404, 'resource-not-found', 'file')
  assert.deepEqual((await call(`${players()}/${body.playerId}`)).body.assets, { logo: null, link: null })
})

test('a video accepts only themes of its environment and loses its theme when that is deleted', async () => {
  const { videos, playerThemes } = client(service.url)
  const { playerId } = await playerThemes.create({ name: 'Mine' })
  const { videoId } = await videos.create({ title: 'Film', playerId })
  assert.equal((await videos.get(videoId)).playerId, playerId)
  const foundBy = async (id: string, key?: string) => {
    const { body } = await call(`${service.url}/videos?playerId=${id}`, key ? { key } : {})
    return body.data.map((each: { videoId: string }) => each.videoId)
  }
  await videos.create({ title: 'Without a theme' })
  assert.deepEqual(await foundBy(playerId), [videoId])
  assert.deepEqual(await foundBy(playerId, sandboxKey), [])
  assert.deepEqual(await foundBy('x'), [])
  assert.equal((await videos.update(videoId, { playerId: null as never })).playerId, null)
  assert.equal((await videos.update(videoId, { playerId })).playerId, playerId)

  const foreign = (await post({ name: 'Theirs' }, sandboxKey)).body.playerId
  const url = `${service.url}/videos`
  for (const bad of [foreign, `pl${'A'.repeat(22)}`, 'pl\0', 'x']) {
    const json = { playerId: bad, source: 'https://example.com/a.mp4' }
    for (const each of [{ playerId: bad }, json])
      assertProblem(await call(url, { method: 'POST', json: each }), 400, 'invalid-attribute', 'playerId')
    const changed = await call(`${url}/${videoId}`, { method: 'PATCH', json: { playerId: bad, tags: ['a'] } })
    assertProblem(changed, 400, 'invalid-attribute', 'playerId')
  }
  assert.equal((await videos.list()).pagination.itemsTotal, 2)
  assertProblem(await call(`${players()}/${foreign}`), 404, 'resource-not-found', 'playerId')

  await playerThemes.delete(playerId)
  const left = await videos.get(videoId)
  assert.equal(left.playerId, null)
  assert.deepEqual(left.tags, [])
})
