import { spawn, spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { lacksNftables, setLinkFaults } from '../../machines/links.ts'
import { enter, openNamespaces } from '../../machines/namespaces.ts'
import { type Network, openNetwork } from '../../machines/network.ts'
import { lacksMachines } from '../../machines/requirements.ts'
import { Resources, withTemporaryFolder } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { makeClip } from './clip.ts'
import { type LiveService, type LiveStream, playlistUrl, startLive } from './service.ts'

const protocols = ['SRT', 'RTMP'] as const
type Protocol = (typeof protocols)[number]

const seconds = 30
const pollMs = 200
/** The encoder sends its first picture within the first seconds, before anything is lost. */
const settleMs = 4_000

/** Encoders on another machine, whose link loses packets in both directions: what SRT and RTMP make of the same link. */
export async function loss(): Promise<Row[]> {
  const rows: Row[] = []
  const missing = lacksMachines || lacksNftables
  if (missing) return [{ measured: 'a link that loses packets', kinora: `not measured: ${missing}` }]
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const network = await openNetwork()
    resources.add(() => network.close())
    const service = await startLive(resources, folder, { KINORA_HOST: '0.0.0.0' })
    const clip = await makeClip(folder, '240p')
    for (const percent of [1, 5, 10]) rows.push(...(await lossRows(service, network, clip, percent)))
  })
  return rows
}

async function lossRows(
  service: LiveService,
  network: Network,
  clip: string,
  percent: number,
): Promise<Row[]> {
  const { ownAddress: host } = network
  const machine = await openNamespaces('encoder')
  try {
    await network.connect(machine)
    // Otherwise, the kernel hands over many packets of TCP in one piece, which is lost or not.
    spawnSync(...enter(machine, ['ip', 'link', 'set', 'eth0', 'gso_max_segs', '1']), { stdio: 'inherit' })
    const streams = await service.createStreams(protocols.length)
    for (const [i, protocol] of protocols.entries()) {
      const url = urls[protocol](service, host, streams[i]!)
      const input = ['-v', 'error', '-nostdin', '-re', '-stream_loop', '-1', '-i', clip, '-c', 'copy', '-f']
      const [command, args] = enter(machine, ['ffmpeg', ...input, ...url])
      // It ends with the machine.
      spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    }
    await delay(settleMs)
    setLinkFaults({ pid: machine.pid, network }, [{ kind: 'lossy', peer: host, percent }])
    const measured = await Promise.all(streams.map((stream) => measure(service, stream)))
    for (const { liveStreamId } of streams)
      await service.call('PUT', `/live-streams/${liveStreamId}/complete`)
    return protocols.map((protocol, i) => rowOf(protocol, percent, measured[i]!))
  } finally {
    await machine.close()
  }
}

const urls = {
  SRT: ({ srtPort }: LiveService, host: string, { streamKey }: LiveStream) => [
    'mpegts',
    `srt://${host}:${srtPort}?streamid=${streamKey}&latency=120000`,
  ],
  RTMP: ({ rtmpPort }: LiveService, host: string, { streamKey }: LiveStream) => [
    'flv',
    `rtmp://${host}:${rtmpPort}/s/${streamKey}`,
  ],
}

type Measured = { droppedFrames: number; behindMs: number }

/** How far the broadcast falls behind, compared with its beginning, and the frames that are missing in it. */
async function measure(service: LiveService, stream: LiveStream): Promise<Measured> {
  const playlist = await playlistUrl(service.url, stream)
  const lagMs = async () => performance.now() - mediaMs(await (await fetch(playlist)).text())
  const firstMs = await lagMs()
  let worstMs = firstMs
  for (const endAt = performance.now() + 1_000 * seconds; performance.now() < endAt; await delay(pollMs))
    worstMs = Math.max(worstMs, await lagMs())
  const path = `/live-streams/${stream.liveStreamId}/broadcasts`
  const { data } = await service.call<{ data: { health: { droppedFrames: number } }[] }>('GET', path)
  return { droppedFrames: data[0]!.health.droppedFrames, behindMs: worstMs - firstMs }
}

/** The duration of everything that a playlist lists. */
function mediaMs(playlist: string): number {
  const end = playlist.lastIndexOf('#EXTINF:')
  const segments = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)]
  const parts = [...playlist.slice(Math.max(0, end)).matchAll(/#EXT-X-PART:DURATION=([\d.]+)/g)]
  return [...segments, ...parts].reduce((sum, [, duration]) => sum + 1_000 * Number(duration), 0)
}

function rowOf(protocol: Protocol, percent: number, { droppedFrames, behindMs }: Measured): Row {
  const behind = `${(behindMs / 1_000).toFixed(1)} s behind at worst`
  return {
    measured: `frames lost in ${seconds} s over ${protocol} while a link loses ${percent} % in each direction`,
    kinora: `${droppedFrames}, ${behind}`,
    ...(protocol === 'SRT' && percent <= 5 && { goal: atMost(0, droppedFrames) }),
  }
}
