import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { startLossyRelay } from '../../server/live/ingest/srt/test-server.ts'
import { launchBrowser } from '../../test/support/browser/browser.ts'
import { cpuSecondsOfTree } from '../cpu.ts'
import { median, Resources, startServer, withTemporaryFolder } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { makeClip } from './clip.ts'
import { autoplay, latencyRow, sampleLatency } from './latency.ts'
import { type LiveService, type LiveStream, startLive, untilFound } from './service.ts'

const streams = 10
const rounds = 3
const settleMs = 4_000
const seconds = 15
const lossSeconds = 30

/** SRT from ffmpeg with libsrt: camera to screen, frames lost on lossy networks, and CPU time compared with RTMP. */
export async function srt(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const service = await startLive(resources, folder)
    const clips = { large: await makeClip(folder, '720p'), small: await makeClip(folder, '240p') }
    rows.push(...(await cameraToScreen(resources, service, clips.large)))
    for (const loss of [0.01, 0.05, 0.1]) rows.push(await framesLost(resources, service, clips.small, loss))
    rows.push(await framesLost(resources, service, clips.small, 0.05, 50))
    rows.push(...(await cpuRows(resources, service, clips.small)))
  })
  return rows
}

const startSender = (port: number, { streamKey }: LiveStream, clip: string, latencyMs = 120) =>
  sendTo(`srt://127.0.0.1:${port}?streamid=${streamKey}&latency=${1_000 * latencyMs}`, clip)

/** Sends a clip again and again, until it is stopped. */
function sendTo(url: string, clip: string) {
  const input = ['-v', 'error', '-nostdin', '-re', '-stream_loop', '-1', '-i', clip]
  const child = spawn('ffmpeg', [...input, '-c', 'copy', '-f', 'mpegts', url], { stdio: 'inherit' })
  return {
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The relay loses nothing. It tells when the encoder sends its first packet. */
async function cameraToScreen(resources: Resources, service: LiveService, clip: string): Promise<Row[]> {
  const browser = await launchBrowser([autoplay])
  if (!browser) return []
  resources.add(() => browser.close())
  const relay = await startLossyRelay(undoneBy(resources), { to: service.srtPort, loss: 0 })
  const [stream] = await service.createStreams(1)
  const sender = startSender(relay.port, stream!, clip)
  const page = `${service.url}/live/${stream!.liveStreamId}`
  await untilFound(`${page}.m3u8`)
  const samples = await sampleLatency(browser, `${page}?autoplay=true&muted=true`, relay.firstDataAt())
  await sender.stop()
  await service.call('PUT', `/live-streams/${stream!.liveStreamId}/complete`)
  return [latencyRow('camera to screen over SRT with a latency of 120 ms, p50', samples, 0.5, 2)]
}

type Health = { droppedFrames: number; link: { lostPackets: number; retransmittedPackets: number } }

async function framesLost(
  resources: Resources,
  service: LiveService,
  clip: string,
  loss: number,
  jitterMs = 0,
): Promise<Row> {
  const relay = await startLossyRelay(undoneBy(resources), { to: service.srtPort, loss, jitterMs })
  const [stream] = await service.createStreams(1)
  // Four times the longest round trip.
  const sender = startSender(relay.port, stream!, clip, jitterMs > 0 ? 8 * jitterMs : undefined)
  await delay(lossSeconds * 1_000)
  const { data } = await service.call<{ data: { health: Health }[] }>(
    'GET',
    `/live-streams/${stream!.liveStreamId}/broadcasts`,
  )
  await sender.stop()
  await service.call('PUT', `/live-streams/${stream!.liveStreamId}/complete`)
  const { droppedFrames, link } = data[0]!.health
  const jitter = jitterMs > 0 ? `, with ${jitterMs} ms of jitter` : ''
  return {
    measured: `frames lost in ${lossSeconds} s over SRT while ${100 * loss} % of all packets are lost${jitter}`,
    kinora: `${droppedFrames} (${relay.dropped} packets lost, ${link.lostPackets} for good)`,
    goal: atMost(0, droppedFrames),
  }
}

async function cpuRows(resources: Resources, service: LiveService, clip: string): Promise<Row[]> {
  const created = await service.createStreams(streams)
  const overSrt = async () => {
    const senders = created.map((stream) => startSender(service.srtPort, stream, clip))
    return async () => void (await Promise.all(senders.map((sender) => sender.stop())))
  }
  const overRtmp = async () => {
    const { stop } = await service.broadcast(created, clip)
    return async () => void (await stop())
  }
  const bare = await resources.server(startServer('bench/bare-udp.ts', {}))
  const overBareUdp = async () => {
    const url = `udp://${new URL(bare.url).host}?pkt_size=1316`
    const senders = created.map(() => sendTo(url, clip))
    return async () => void (await Promise.all(senders.map((sender) => sender.stop())))
  }
  const idle = await cpuPerSecond(service)
  const costs = { srt: [] as number[], rtmp: [] as number[], bare: [] as number[] }
  for (let i = 0; i < rounds; i++) {
    costs.rtmp.push((await costOf(service, overRtmp)) - idle)
    costs.srt.push((await costOf(service, overSrt)) - idle)
    costs.bare.push(await costOf(bare, overBareUdp))
  }
  const percent = (cost: number) => `${((100 * cost) / streams).toFixed(2)} % of a core`
  const ratio = median(costs.srt.map((each, i) => each / costs.rtmp[i]!))
  return [
    {
      measured: 'CPU time of a stream that is passed through, over SRT and over RTMP',
      kinora: percent(median(costs.srt)),
      reference: percent(median(costs.rtmp)),
      ratio,
      goal: atMost(1.5, ratio),
    },
    {
      measured: 'CPU time of a UDP socket of Node that counts the packets of a stream',
      kinora: percent(median(costs.bare)),
    },
  ]
}

async function costOf(service: Measured, start: () => Promise<() => Promise<void>>): Promise<number> {
  const stop = await start()
  await delay(settleMs)
  const cost = await cpuPerSecond(service)
  await stop()
  await delay(1_000)
  return cost
}

async function cpuPerSecond({ child }: Measured): Promise<number> {
  const before = await cpuSecondsOfTree(child.pid!)
  await delay(seconds * 1_000)
  return ((await cpuSecondsOfTree(child.pid!)) - before) / seconds
}

type Measured = Pick<LiveService, 'child'>

const undoneBy = (resources: Resources) => ({ after: (end: () => unknown) => void resources.add(end) })
