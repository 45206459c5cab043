import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import { fakeDevices, publishCamera } from '../support/browser/whip-page.ts'
import { type ApiResponse, call, kinora, type Service, waitFor } from '../support/harness.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
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
  service = await kinora(
    { after: (end) => ends.push(end) },
    { ...withoutEncoding(), KINORA_WEBRTC_PORT: '0' },
  )
  pages = await servePages((_, response) => response.setHeader('content-type', 'text/html').end('<p>'))
  page = await browser!.newPage()
  await page.goto(pages.url)
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

const broadcastsOf = async (id: string) =>
  (await call(`${service.url}/live-streams/${id}/broadcasts`)).body.data

test('a browser broadcasts its camera, and ends the session', { skip }, async () => {
  const stream = await createLiveStream(service)
  const session = await publishCamera(page, `${service.url}/whip`, stream.streamKey)
  let broadcast: ApiResponse['body']
  await waitFor(
    async () => {
      ;[broadcast] = await broadcastsOf(stream.liveStreamId)
      return broadcast?.health?.frameRate > 20 && broadcast.visibleAt
    },
    () => JSON.stringify([broadcast, service.output()]),
  )
  assert.equal(broadcast.health.protocol, 'whip')
  assert.match(broadcast.health.codecs, /^avc1\.\w+,mp4a\.40\.2$/)
  await waitFor(async () => (await call(stream.assets.hls, { key: '' })).status === 200)
  const ended = await call(session, { method: 'DELETE', key: '' })
  assert.equal(ended.status, 200)
  await waitFor(async () => (await broadcastsOf(stream.liveStreamId))[0].state === 'away')
})

test('an unknown stream key and a bad offer are refused', async () => {
  const offer = (key: string, body: string) =>
    call(`${service.url}/whip`, {
      method: 'POST',
      key: '',
      headers: { authorization: `Bearer ${key}` },
      body,
    })
  const { streamKey } = await createLiveStream(service)
  assert.equal((await offer('nobody', 'v=0')).status, 401)
  for (const body of ['', 'v=1', 'v=0', 'v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0', 'v=0\n'.repeat(5_000)])
    assert.deepEqual(slugOf(await offer(streamKey, body)), [400, 'invalid-offer'], body.slice(0, 100))
  assert.equal((await offer(streamKey, 'v=0\n'.repeat(50_000))).status, 413)
  for (const method of ['PATCH', 'DELETE'])
    assert.equal((await call(`${service.url}/whip/ws0`, { method, key: '' })).status, 404)
})

const slugOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, body.type.split('/').at(-1)]
