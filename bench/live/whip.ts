import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { startLossyRelay } from '../../server/live/ingest/srt/test-server.ts'
import { isRtcp } from '../../server/live/webrtc/rtp.ts'
import { launchBrowser } from '../../test/support/browser/browser.ts'
import { publishCamera } from '../../test/support/browser/whip-page.ts'
import { clockStream } from '../../test/support/live/burnt-clock.ts'
import { sampleOffer } from '../../test/support/live/offer.ts'
import { cpuSeconds } from '../cpu.ts'
import { Resources, withTemporaryFolder } from '../servers.ts'
import type { Row } from '../table.ts'
import { autoplay, latencyRow, sampleLatency } from './latency.ts'
import { type LiveService, type LiveStream, startLive, untilFound } from './service.ts'

const size = '1280x720'
const settleMs = 10_000
const seconds = 15
const lossSeconds = 30

/** WebRTC from Chromium: camera to screen, CPU time, and what is lost on lossy networks. */
export async function whip(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    // Of two pages in one browser, the sender would be in the background, where timers are slow.
    const [browser, viewer] = [await launchBrowser([autoplay]), await launchBrowser([autoplay])]
    if (!browser || !viewer) return
    for (const each of [browser, viewer]) resources.add(() => each.close())
    const service = await startLive(resources, folder)
    rows.push(...(await cameraToScreen(service, browser, viewer)))
    // Without loss, it shows what the browser leaves out itself.
    for (const loss of [0, 0.01, 0.05, 0.1])
      rows.push(await packetsMissing(resources, service, browser, loss))
  })
  return rows
}

async function publish(
  service: LiveService,
  browser: Browser,
  options: { sinceMs: number; port?: number; hasAudio: boolean },
): Promise<{ stream: LiveStream; page: Page }> {
  const [stream] = await service.createStreams(1)
  const page = await browser.newPage()
  // Of the same origin, without a policy.
  await page.goto(`${service.url}/robots.txt`)
  const clock = clockStream({ size, sinceMs: options.sinceMs })
  await publishCamera(page, `${service.url}/whip`, stream!.streamKey, {
    stream: `((all) => ${options.hasAudio} ? all : new MediaStream(all.getVideoTracks()))(${clock})`,
    ...(options.port && { port: options.port }),
  })
  return { stream: stream!, page }
}

type Health = {
  bitRate: number
  droppedFrames: number
  link: { lostPackets: number; retransmittedPackets: number }
}

async function healthOf(service: LiveService, { liveStreamId }: LiveStream): Promise<Health> {
  const path = `/live-streams/${liveStreamId}/broadcasts`
  const { data } = await service.call<{ data: { health: Health }[] }>('GET', path)
  return data[0]!.health
}

async function cameraToScreen(service: LiveService, browser: Browser, viewer: Browser): Promise<Row[]> {
  const sinceMs = Date.now()
  const { stream, page } = await publish(service, browser, { sinceMs, hasAudio: true })
  const media = `${service.url}/live/${stream.liveStreamId}`
  await untilFound(`${media}.m3u8`)
  await delay(settleMs)
  const pids = [service.child.pid!]
  const before = await cpuSeconds(pids)
  await delay(seconds * 1_000)
  const used = (await cpuSeconds(pids)) - before
  const { bitRate } = await healthOf(service, stream)
  const samples = await sampleLatency(viewer, `${media}?autoplay=true&muted=true`, sinceMs)
  await end(service, stream, page)
  const rate = `${(bitRate / 1e6).toFixed(1)} Mbit/s`
  return [
    latencyRow('camera to screen over WebRTC, p50', samples, 0.5, 2),
    {
      measured: `CPU time of the service without ffmpeg, for one encoder over WebRTC with ${rate}`,
      kinora: `${((100 * used) / seconds).toFixed(1)} % of a core`,
    },
  ]
}

async function packetsMissing(
  resources: Resources,
  service: LiveService,
  browser: Browser,
  loss: number,
): Promise<Row> {
  const undone = { after: (close: () => unknown) => resources.add(async () => void close()) }
  const relay = await startLossyRelay(undone, { to: await findPort(service), loss, hasContent: isRtp })
  // Browsers repair audio only if the page asks for it.
  const { stream, page } = await publish(service, browser, {
    sinceMs: Date.now(),
    port: relay.port,
    hasAudio: false,
  })
  await delay(lossSeconds * 1_000)
  const { droppedFrames, link } = await healthOf(service, stream)
  await end(service, stream, page)
  return {
    measured: `packets of video missing after ${lossSeconds} s over WebRTC while ${100 * loss} % of all packets are lost`,
    kinora: `${link.lostPackets} of ${relay.dropped}; ${droppedFrames} frames missing`,
  }
}

// Packets of STUN and DTLS begin with other bytes, and reports have other types.
const isRtp = (packet: Buffer) => packet[0]! >> 6 === 2 && !isRtcp(packet)

/** The UDP port, which is in the answer to any offer. */
async function findPort(service: LiveService): Promise<number> {
  const [stream] = await service.createStreams(1)
  const headers = { authorization: `Bearer ${stream!.streamKey}`, 'content-type': 'application/sdp' }
  const response = await fetch(`${service.url}/whip`, { method: 'POST', headers, body: sampleOffer() })
  const [, port] = / (\d+) typ host/.exec(await response.text()) ?? []
  await fetch(service.url + response.headers.get('location'), { method: 'DELETE' })
  return Number(port)
}

async function end(service: LiveService, { liveStreamId }: LiveStream, page: Page): Promise<void> {
  await page.close()
  await service.call('PUT', `/live-streams/${liveStreamId}/complete`)
}
