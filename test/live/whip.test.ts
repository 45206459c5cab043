import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import { fakeDevices, publishCamera } from '../support/browser/whip-page.ts'
import { type ApiResponse, call, kinora, type Service, sandboxKey, waitFor } from '../support/harness.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { sampleOffer } from '../support/live/offer.ts'
import { withoutEncoding } from '../support/programs.ts'

// Broadcasts over WebRTC, with a browser that has a fake camera.

let service: Service
let browser: Browser | undefined
let pages: Pages | undefined
let page: Page
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  browser = await launchBrowser(fakeDevices)
  service = await kinora({ after: (end) => ends.push(end) }, withoutEncoding())
  pages = await servePages((_, response) => response.setHeader('content-type', 'text/html').end('<p>'))
  page = await browser!.newPage()
  await page.goto(pages.url)
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

const sdp = { 'content-type': 'application/sdp' }
const broadcastsOf = async (id: string) =>
  (await call(`${service.url}/live-streams/${id}/broadcasts`)).body.data

test('a browser broadcasts its camera, and ends the session', { skip }, async () => {
  const stream = await createLiveStream(service)
  const publish = () => publishCamera(page, `${service.url}/whip`, stream.streamKey)
  let session = await publish()
  let broadcast: ApiResponse['body']
  await waitFor(
    async () => {
      // On a busy machine, a connection may take longer than it may.
      if ((await page.evaluate('connection.connectionState')) === 'failed') session = await publish()
      ;[broadcast] = await broadcastsOf(stream.liveStreamId)
      return broadcast?.health?.frameRate > 0 && broadcast.visibleAt
    },
    () => JSON.stringify([broadcast, service.output()]),
  )
  assert.equal(broadcast.health.protocol, 'whip')
  assert.match(broadcast.health.codecs, /^avc1\.\w+,mp4a\.40\.2$/)
  await waitFor(async () => (await call(stream.assets.hls, { key: '' })).status === 200)
  const headers = { ...sdp, authorization: `Bearer ${stream.streamKey}` }
  const second = await call(`${service.url}/whip`, { method: 'POST', key: '', headers, body: sampleOffer() })
  assert.deepEqual(slugOf(second), [409, 'stream-key-occupied'], 'before it connects')
  const { lastRefusal } = (await call(`${service.url}/live-streams/${stream.liveStreamId}`)).body
  assert.equal(lastRefusal.reason, 'Another encoder is sending to this live stream.')
  const ended = await call(session, { method: 'DELETE', key: '' })
  assert.equal(ended.status, 200)
  await waitFor(async () => (await broadcastsOf(stream.liveStreamId))[0].state === 'away')
})

test('a visitor with a studio token goes live from the page, once', { skip }, async (t) => {
  const stream = await createLiveStream(service)
  const tokens = `${service.url}/live-streams/${stream.liveStreamId}/studio-tokens`
  const { status, body } = await call(tokens, { method: 'POST', json: { ttl: 60 } })
  assert.equal(status, 201)
  const context = await browser!.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
  })
  t.after(() => context.close())
  const studio = await context.newPage()
  const errors: string[] = []
  studio.on('pageerror', (error) => errors.push(error.message))
  studio.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) errors.push(message.text())
  })
  await studio.addInitScript(refuseOnce)
  await studio.goto(body.url)
  await studio.getByText('Allow access to camera and microphone').waitFor()
  await studio.getByRole('button', { name: 'Try again' }).click()
  const sessions: string[] = []
  studio.on('response', (response) => {
    if (response.url().endsWith('/whip') && response.status() === 201)
      sessions.push(response.headers().location ?? '')
  })
  await studio.getByRole('button', { name: 'Go live' }).click()
  await studio.getByText(/^Live \d/).waitFor()
  assert.equal(new URL(studio.url()).search, '', 'the URL no longer has the token')
  await studio.getByText(/Mbit\/s/).waitFor()
  await assertAccessible(studio)
  await waitFor(async () => (await call(stream.assets.hls, { key: '' })).status === 200)
  if (process.env.TEST_SCREENSHOTS) {
    await studio.screenshot({ path: `${process.env.TEST_SCREENSHOTS}/studio-1280.png` })
    await studio.setViewportSize({ width: 360, height: 740 })
    await studio.screenshot({ path: `${process.env.TEST_SCREENSHOTS}/studio-360.png` })
  }

  assert.equal((await call(service.url + sessions[0], { method: 'DELETE', key: '' })).status, 200)
  await waitFor(async () => sessions.length > 1)
  await studio.getByText(/^Live \d/).waitFor()
  assert.equal((await broadcastsOf(stream.liveStreamId)).length, 1, 'the broadcast continues')
  await studio.getByText('The connection was lost').waitFor({ state: 'hidden' })

  const stranger = await (await browser!.newContext()).newPage()
  t.after(() => stranger.context().close())
  await stranger.goto(body.url)
  await stranger.getByText('This link does not work').waitFor()

  await studio.getByRole('button', { name: 'End broadcast' }).click()
  await studio.getByText(/^The recording is/).waitFor()
  await waitFor(async () => (await broadcastsOf(stream.liveStreamId))[0].state === 'ended')
  assert.deepEqual(errors, [])
})

test('a studio token gives access to its live stream only, until it is deleted', async () => {
  const [stream, other] = [await createLiveStream(service), await createLiveStream(service)]
  const tokens = `${service.url}/live-streams/${stream.liveStreamId}/studio-tokens`
  const base = `${service.url}/live/${stream.liveStreamId}/studio`
  const { token, studioTokenId } = (await call(tokens, { method: 'POST', json: {} })).body
  const open = (url: string) => call(`${url}/session`, { method: 'POST', key: '', json: { token } })
  assert.equal((await open(`${service.url}/live/${other.liveStreamId}/studio`)).status, 401)
  const { session } = (await open(base)).body
  assert.equal((await open(base)).status, 401, 'a token opens one session')
  const headers = { authorization: `Bearer ${session}` }
  const ask = (url: string, method = 'GET') => call(url, { method, key: '', headers })
  assert.equal((await ask(`${base}/state`)).body.name, 'Show')
  for (const path of [`live/${other.liveStreamId}/studio/state`, `live-streams/${stream.liveStreamId}`])
    assert.equal((await ask(`${service.url}/${path}`)).status, 401, path)
  const whip = () =>
    call(`${service.url}/whip`, { method: 'POST', key: '', headers: { ...sdp, ...headers }, body: 'v=0' })
  assert.equal((await whip()).status, 400, 'the session may send an offer')
  assert.equal((await call(`${tokens}/${studioTokenId}`, { method: 'DELETE' })).status, 204)
  assert.equal((await whip()).status, 401)
  assert.equal((await ask(`${base}/state`)).status, 401)
})

test('valid studio tokens are listed and deleted, by the environment of their live stream', async () => {
  const [stream, other] = [await createLiveStream(service), await createLiveStream(service)]
  const tokensOf = ({ liveStreamId }: { liveStreamId: string }) =>
    `${service.url}/live-streams/${liveStreamId}/studio-tokens`
  const create = async () => (await call(tokensOf(stream), { method: 'POST', json: { ttl: 60 } })).body
  const [first, second] = [await create(), await create()]
  const session = `${service.url}/live/${stream.liveStreamId}/studio/session`
  await call(session, { method: 'POST', key: '', json: { token: first.token } })
  const { data, pagination } = (await call(tokensOf(stream))).body
  const shown = ({ studioTokenId, isOpened }: typeof data) => [studioTokenId, isOpened]
  assert.deepEqual(data.map(shown), [
    [second.studioTokenId, false],
    [first.studioTokenId, true],
  ])
  assert.deepEqual(Object.keys(data[0]), ['studioTokenId', 'createdAt', 'expiresAt', 'isOpened'], 'no secret')
  assert.equal(pagination.itemsTotal, 2)
  const remove = async (url: string, key?: string) =>
    (await call(url, { method: 'DELETE', ...(key && { key }) })).status
  const one = `${tokensOf(stream)}/${first.studioTokenId}`
  assert.equal((await call(tokensOf(stream), { key: sandboxKey })).status, 404)
  assert.equal(await remove(one, sandboxKey), 404)
  assert.equal(await remove(`${tokensOf(other)}/${first.studioTokenId}`), 404)
  assert.equal(await remove(one), 204)
  assert.equal(await remove(one), 404)
  assert.equal(await remove(tokensOf(stream)), 204)
  assert.equal((await call(tokensOf(stream))).body.pagination.itemsTotal, 0)
})

test('encoders that never connect take a limited number of places, and candidates are ignored', async () => {
  const { liveStreamId, streamKey } = await createLiveStream(service)
  const candidates = Array.from(
    { length: 1_000 },
    (_, i) => `a=candidate:${i} 1 udp 1 10.0.0.1 ${i} typ host`,
  )
  const offer = () =>
    call(`${service.url}/live-streams/${liveStreamId}/whip`, {
      method: 'POST',
      headers: sdp,
      body: sampleOffer(candidates),
    })
  const sessions: string[] = []
  for (let i = 0; i < 4; i++) {
    const { status, headers } = await offer()
    assert.equal(status, 201)
    sessions.push(`${service.url}${headers.get('location')}`)
  }
  assert.equal((await offer()).status, 201)
  const [oldest, next] = sessions
  assert.equal((await call(oldest!, { method: 'DELETE', key: '' })).status, 404, 'it has given up its place')
  assert.equal((await call(next!, { method: 'DELETE', key: '' })).status, 200)
  assert.equal((await broadcastsOf(liveStreamId)).length, 0, `nothing began: ${streamKey}`)
})

test('an unknown stream key and a bad offer are refused', async () => {
  const offer = (key: string, body: string, headers = sdp) =>
    call(`${service.url}/whip`, {
      method: 'POST',
      key: '',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body,
    })
  const { streamKey } = await createLiveStream(service)
  assert.equal((await offer('nobody', 'v=0')).status, 401)
  for (const body of ['', 'v=1', 'v=0', 'v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0', 'v=0\n'.repeat(5_000)])
    assert.deepEqual(slugOf(await offer(streamKey, body)), [400, 'invalid-offer'], body.slice(0, 100))
  assert.equal((await offer(streamKey, 'v=0\n'.repeat(50_000))).status, 413)
  const json = { 'content-type': 'application/json' }
  assert.deepEqual(slugOf(await offer(streamKey, '{}', json)), [415, 'offer-type-invalid'])
  for (const method of ['PATCH', 'DELETE'])
    assert.equal((await call(`${service.url}/whip/ws0`, { method, key: '' })).status, 404)
})

test('candidates of the encoder are accepted, and a restart of ICE is refused', async () => {
  const { streamKey } = await createLiveStream(service)
  const headers = { ...sdp, authorization: `Bearer ${streamKey}` }
  const answer = await call(`${service.url}/whip`, { method: 'POST', key: '', headers, body: sampleOffer() })
  const session = `${service.url}${answer.headers.get('location')}`
  const patch = (match: string) => {
    const type = { 'content-type': 'application/trickle-ice-sdpfrag' }
    const body = 'a=ice-ufrag:abcd\r\na=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n'
    return call(session, { method: 'PATCH', key: '', headers: { ...type, 'if-match': match }, body })
  }
  assert.equal((await patch(answer.headers.get('etag')!)).status, 204)
  assert.deepEqual(slugOf(await patch('*')), [422, 'no-ice-restart'])
  assert.equal((await call(session, { method: 'DELETE', key: '' })).status, 200)
  assert.equal((await call(session, { method: 'DELETE', key: '' })).status, 404)
})

test('a page of another site may send offers', async () => {
  const asked = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
  const preflight = await call(`${service.url}/whip`, { method: 'OPTIONS', key: '', headers: asked })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('accept-post'), 'application/sdp')
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  const patch = { ...asked, 'access-control-request-method': 'PATCH' }
  const resource = await call(`${service.url}/whip/ws0`, { method: 'OPTIONS', key: '', headers: patch })
  assert.equal(resource.status, 204)
  assert.match(resource.headers.get('access-control-allow-headers') ?? '', /if-match/)
})

/** The visitor does not allow the camera at first. */
const refuseOnce = `{
  const devices = navigator.mediaDevices
  const open = devices.getUserMedia.bind(devices)
  devices.getUserMedia = async () => {
    devices.getUserMedia = open
    throw new DOMException('Permission denied', 'NotAllowedError')
  }
}`

const slugOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, body.type.split('/').at(-1)]
