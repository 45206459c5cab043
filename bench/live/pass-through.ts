import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds, cpuSecondsOfTree } from '../cpu.ts'
import { findRtmpModule, freePort, plainServer, rtmpServer, startNginx } from '../nginx.ts'
import { median, Resources, withTemporaryFolder } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { makeClip } from './clip.ts'
import { startEncoders } from './encoders.ts'
import { startLive } from './service.ts'

const streams = 10
const rounds = 3
const settleMs = 4_000
const seconds = 15

/** `cpu` is the CPU time so far, in seconds. */
type Receiver = { port: number; keys: string[]; cpu(): Promise<number> }

/** The CPU time of broadcasts that are passed through, compared with nginx. Postgres is included. */
export async function passThrough(): Promise<Row[]> {
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const clip = await makeClip(folder, '240p')
    const service = await startLive(resources, folder)
    const created = await service.createStreams(streams)
    const keys = created.map(({ streamKey }) => streamKey)
    const kinora = { port: service.rtmpPort, keys, cpu: () => cpuSecondsOfTree(service.child.pid!) }
    const nginx = await startRtmpNginx(resources, folder)
    const idle = await cpuPerSecond(kinora)
    const costs = await compare(clip, kinora, nginx)
    rows.push(rowOf(costs, idle / streams))
  })
  return rows
}

/** Undefined if it is not installed. */
async function startRtmpNginx(resources: Resources, folder: string): Promise<Receiver | undefined> {
  const module = findRtmpModule()
  if (!module) return undefined
  const hls = join(folder, 'hls')
  await mkdir(hls)
  const port = await freePort()
  const rtmp = rtmpServer(module, port, hls)
  const nginx = await startNginx(join(folder, 'nginx'), (http) => plainServer(http, hls), rtmp)
  if (!nginx) return undefined
  resources.add(nginx.close)
  const keys = Array.from({ length: streams }, (_, i) => `bench${i}`)
  return { port, keys, cpu: async () => cpuSeconds(await nginx.workers()) }
}

/** CPU seconds per stream and second, of each round. */
type Costs = { kinora: number[]; nginx: number[] }

/** In turns, so that other load on the machine affects both. */
async function compare(clip: string, kinora: Receiver, nginx: Receiver | undefined): Promise<Costs> {
  const costs: Costs = { kinora: [], nginx: [] }
  for (let i = 0; i < rounds; i++) {
    if (nginx) costs.nginx.push(await costOf(nginx, clip))
    costs.kinora.push(await costOf(kinora, clip))
  }
  return costs
}

async function costOf(receiver: Receiver, clip: string): Promise<number> {
  const { port, keys } = receiver
  const encoders = await startEncoders({ port, keys, clip })
  await delay(settleMs)
  const cost = (await cpuPerSecond(receiver)) / streams
  await encoders.stop()
  return cost
}

async function cpuPerSecond({ cpu }: Pick<Receiver, 'cpu'>): Promise<number> {
  const before = await cpu()
  await delay(seconds * 1000)
  return ((await cpu()) - before) / seconds
}

/** An idle service also uses CPU time, which is not the cost of a stream. */
function rowOf({ kinora, nginx }: Costs, idle: number): Row {
  const percent = (cost: number) => `${(cost * 100).toFixed(2)} % of a core`
  const streamCost = kinora.map((each) => each - idle)
  const row = { measured: 'CPU time of a stream that is passed through', kinora: percent(median(streamCost)) }
  if (nginx.length === 0)
    return { ...row, reference: 'not measured: apt-get install nginx libnginx-mod-rtmp' }
  const ratio = median(streamCost.map((each, i) => each / nginx[i]!))
  return { ...row, reference: percent(median(nginx)), ratio, goal: atMost(2, ratio) }
}
