import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { lacksSrt, sendTs } from '../../server/live/ingest/srt/test-server.ts'
import { launchBrowser, servePages, skip } from '../support/browser/browser.ts'
import { fakeDevices, publishCamera } from '../support/browser/whip-page.ts'
import { call, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream, type LiveStream } from '../support/live/live-streams.ts'
import { ffmpeg } from '../support/media/media.ts'
import { withoutEncoding } from '../support/programs.ts'

// One broadcast over all protocols.

const service = sharedKinora(withoutEncoding())
const needs = { skip: skip || lacksSrt }

let browser: Browser | undefined
let folder: string
const film = (format: string) => join(folder, `film.${format}`)

before(async () => {
  if (needs.skip) return
  browser = await launchBrowser(fakeDevices)
  folder = await temporaryFolder({ after() {} })
  // The audio has the format of WebRTC: another one would begin another recording.
  const inputs = ['testsrc2=s=320x180:r=25:d=3', 'sine=d=3:r=48000'].flatMap((each) => [
    '-f',
    'lavfi',
    '-i',
    each,
  ])
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', '-c:a', 'aac', '-ac', '2']
  for (const format of ['flv', 'ts']) await ffmpeg(...inputs, ...codecs, film(format))
})
after(() => browser?.close())

test(
  'the protocol of a broadcast changes three times: parts continue, and there is one recording',
  needs,
  async (t) => {
    const stream = await createLiveStream(service)
    const { liveStreamId: id, streamKey } = stream
    const broadcasts = async () => (await call(`${service.url}/live-streams/${id}/broadcasts`)).body.data
    const isAway = async () => (await broadcasts())[0]?.state === 'away'
    const protocol = async () => (await broadcasts())[0]?.health?.protocol
    const overRtmp = async () => {
      const encoder = startFfmpegEncoder(t, service, streamKey, '-i', film('flv'))
      assert.equal(await encoder.ended, 0, encoder.output())
      await waitFor(isAway)
      assertHealth((await broadcasts())[0].health, 'rtmp')
    }
    await overRtmp()

    const srtPort = Number(/srt:\/\/[^:\s]+:(\d+)/.exec(service.output())![1])
    const { code, output } = await sendTs(t, film('ts'), srtPort, { streamid: streamKey })
    assert.equal(code, 0, output)
    await waitFor(async () => (await protocol()) === 'srt' && (await isAway()))
    assertHealth((await broadcasts())[0].health, 'srt')

    const session = await openWhip(t, streamKey)
    await waitFor(async () => (await playlist(stream)).match(/#EXT-X-DISCONTINUITY$/gm)?.length === 2)
    // Two key frames.
    await waitFor(
      async () => (await protocol()) === 'whip' && (await broadcasts())[0].health.keyFrameInterval > 0,
    )
    await call(session, { method: 'DELETE', key: '' })
    await waitFor(isAway)
    assertHealth((await broadcasts())[0].health, 'whip')

    await overRtmp()
    const text = await playlist(stream)
    assert.equal(text.match(/#EXT-X-DISCONTINUITY$/gm)?.length, 3, text)
    const sequences = [...text.matchAll(/^(\d+)-\d+\.m4s/gm)].map(([, sequence]) => Number(sequence))
    assert.deepEqual(
      sequences,
      sequences.map((_, i) => sequences[0]! + i),
    )

    await call(`${service.url}/live-streams/${id}/complete`, { method: 'PUT' })
    await waitFor(async () => (await broadcasts())[0].recordings[0]?.state === 'recorded')
    const [broadcast, ...others] = await broadcasts()
    assert.deepEqual([broadcast.recordings.length, others], [1, []])
    const { body } = await call(`${service.url}/videos?liveStreamId=${id}`)
    assert.equal(body.data.length, 1)
  },
)

/** What the owner sees, whatever the protocol. TCP hides what the network loses. */
function assertHealth(health: Record<string, unknown>, protocol: string): void {
  assert.equal(health.protocol, protocol)
  assert.match(String(health.codecs), /^avc1\.\w+,mp4a\.40\.2$/)
  for (const field of ['width', 'height', 'bitRate', 'frameRate', 'keyFrameInterval'])
    assert.ok(Number(health[field]) > 0, `${protocol}: ${JSON.stringify(health)}`)
  const link = protocol === 'rtmp' ? [] : ['lostPackets', 'packetLoss', 'retransmittedPackets', 'roundTrip']
  assert.deepEqual(Object.keys(health.link ?? {}).sort(), link, protocol)
}

/** Returns the URL of the session. */
async function openWhip(t: TestContext, streamKey: string): Promise<string> {
  const pages = await servePages((_, response) => response.setHeader('content-type', 'text/html').end('<p>'))
  const page = await browser!.newPage()
  t.after(async () => {
    await page.close()
    pages.close()
  })
  await page.goto(pages.url)
  return publishCamera(page, `${service.url}/whip`, streamKey)
}

/** Of what is passed through. */
async function playlist({ assets }: LiveStream): Promise<string> {
  const { text } = await call(assets.hls, { key: '' })
  const path = text.split('\n').find((line) => line !== '' && !line.startsWith('#'))
  return (await call(new URL(path!, assets.hls).href, { key: '' })).text
}
