import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { segmentFile } from '../server/videos/files.ts'
import { cpuSeconds, parentPid, withChildren } from './cpu.ts'
import { firstFrame } from './first-frame.ts'
import { accelServer, plainServer, startCache, startNginx } from './nginx.ts'
import { playbackSessions } from './playback-sessions.ts'
import {
  createVideo,
  median,
  Resources,
  type RunningServer,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atLeast, printTable, type Row } from './table.ts'
import { runViewers, type Viewing } from './viewers.ts'

const segments = 24
const segmentBytes = 1_000_000
const viewers = 200
const roundSeconds = 2
/** V8 compiles what Node runs for a request after some thousand requests. */
const warmUpSeconds = 6
const idleSeconds = 4
const accelLocation = '/kinora-files/'

const plan = {
  key: 'source',
  offsetSeconds: 0,
  rate: { num: 25, den: 1 },
  // The first segment has 2 s, the others 4 s each.
  frames: 50 + (segments - 1) * 100,
  rungs: [{ quality: '720p', width: 1280, height: 720, maxKbps: 2_800 }],
  hasSound: false,
  isWatermarked: false,
}

/** Inserts an encoded video with segments of exactly 1 MB. */
async function insertVideo(api: string, client: pg.Client, files: string): Promise<string> {
  const videoId = await createVideo(api, { title: 'Bench' })
  await client.query(
    `insert into encodings (video_id, environment, state, plan, created_at, finished_at)
     values ($1, 'production', 'encoded', $2, now(), now())`,
    [videoId, plan],
  )
  await client.query(
    `insert into renditions (video_id, type, quality, height, state) values ($1, 'hls', '720p', 720, 'encoded')`,
    [videoId],
  )
  await client.query(
    `insert into initializations (video_id, rendition, codec, bytes) values ($1, '720p', 'avc1.64001f', $2)`,
    [videoId, randomBytes(800)],
  )
  const row = `videos/${videoId}/hls/720p/0`
  await client.query(
    `insert into segments (video_id, rendition, first_segment, sizes, key) values ($1, '720p', 0, $2, $3)`,
    [videoId, Array(segments).fill(segmentBytes), row],
  )
  for (let i = 0; i < segments; i++) await put(join(files, segmentFile(row, i)), randomBytes(segmentBytes))
  return videoId
}

async function put(path: string, content: Buffer | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}

/** Copies the files to a folder that nginx serves with the same paths. */
async function copyFiles(api: string, paths: string[], folder: string): Promise<void> {
  for (const path of paths)
    await put(join(folder, path), Buffer.from(await (await fetch(api + path)).arrayBuffer()))
}

/** CPU seconds so far, by program. */
type Cpu = Record<string, number>
/** `idle` is the CPU time of the programs in each second without requests. */
type Server = { name: string; url: string; cpu(): Promise<Cpu>; idle?: Cpu; minRatio?: number }
type Round = { perCpuSecond: number; perSecond: number; microseconds: Cpu }

async function measureIdle({ cpu }: Server): Promise<Cpu> {
  const before = await cpu()
  await delay(idleSeconds * 1000)
  return Object.fromEntries(
    Object.entries(await cpu()).map(([name, now]) => [name, (now - before[name]!) / idleSeconds]),
  )
}

async function measure({ url, cpu, idle = {} }: Server, viewing: Viewing, seconds: number): Promise<Round> {
  const before = await cpu()
  const { requests, seconds: took } = await runViewers({ url, viewing, viewers, seconds })
  const used = Object.entries(await cpu()).map(
    ([name, now]) => [name, now - before[name]! - (idle[name] ?? 0) * took] as const,
  )
  return {
    perCpuSecond: requests / used.reduce((sum, [, each]) => sum + each, 0),
    perSecond: requests / took,
    microseconds: Object.fromEntries(used.map(([name, each]) => [name, (each * 1e6) / requests])),
  }
}

/**
 * Compares requests per second of CPU time, because the viewers use part of the same cores. Alternates between the
 * servers, so that other load on the machine affects all of them.
 */
async function compare(title: string, servers: Server[], viewing: Viewing, hasGoal: boolean): Promise<void> {
  const rounds = servers.map((): Round[] => [])
  await Promise.all(servers.map(async (server) => Object.assign(server, { idle: await measureIdle(server) })))
  for (let i = -1; i < 5; i++) {
    for (const [n, server] of servers.entries()) {
      const round = await measure(server, viewing, i < 0 ? warmUpSeconds : roundSeconds)
      if (i >= 0) rounds[n]?.push(round)
    }
  }
  const nginx = rounds[servers.findIndex(({ name }) => name === 'nginx')]
  const rows = servers
    .map((server, n) => deliveryRow(server, rounds[n]!, nginx, hasGoal))
    .filter((_, n) => rounds[n] !== nginx)
  printTable(`${title}: requests per second of CPU time, compared with nginx`, rows)
  for (const [n, { name }] of servers.entries()) console.log(`  ${name}: ${describeCosts(rounds[n]!)}`)
}

function deliveryRow(server: Server, rounds: Round[], nginx: Round[] | undefined, hasGoal: boolean): Row {
  const rate = (of: Round[]) => `${median(of.map(({ perCpuSecond }) => perCpuSecond)).toFixed(0)}/s`
  const row = { measured: server.name, kinora: rate(rounds) }
  if (!nginx) return row
  const ratio = median(rounds.map(({ perCpuSecond }, i) => perCpuSecond / nginx[i]!.perCpuSecond))
  const goal = hasGoal && server.minRatio !== undefined ? { goal: atLeast(server.minRatio, ratio) } : {}
  return { ...row, reference: rate(nginx), ratio, ...goal }
}

/** Requests per second of elapsed time, and the CPU time that each program uses for one request. */
function describeCosts(rounds: Round[]): string {
  const costs = Object.keys(rounds[0]!.microseconds).map(
    (program) => `${program} ${median(rounds.map((round) => round.microseconds[program]!)).toFixed(0)} µs`,
  )
  return `${median(rounds.map(({ perSecond }) => perSecond)).toFixed(0)} requests/s; ${costs.join(', ')} per request`
}

type Delivery = { resources: Resources; folder: string; files: string; postmaster: number }

async function startServers(
  { resources, folder, files, postmaster }: Delivery,
  kinora: RunningServer,
  behindNginx: RunningServer,
): Promise<Server[]> {
  const cpuOfKinora = async (pid: number) => ({
    node: await cpuSeconds([pid]),
    postgres: await cpuSeconds(await withChildren(postmaster)),
  })
  const direct: Server = {
    name: 'Kinora',
    url: kinora.url,
    cpu: () => cpuOfKinora(kinora.child.pid!),
    minRatio: 0.6,
  }
  const plain = await startNginx(join(folder, 'plain'), (port) => plainServer(port, join(folder, 'nginx')))
  if (!plain) {
    console.log('nginx is not installed: there is nothing to compare with')
    return [direct]
  }
  resources.add(plain.close)
  const accel = await startNginx(join(folder, 'accel'), (port) =>
    accelServer(port, behindNginx.url, accelLocation, files),
  )
  resources.add(accel!.close)
  const cache = await startCache(join(folder, 'cache'), kinora.url)
  resources.add(cache!.close)
  const cpuOfNginx = async (nginx: typeof plain) => ({ nginx: await cpuSeconds(await nginx.workers()) })
  return [
    { name: 'nginx', url: plain.url, cpu: () => cpuOfNginx(plain) },
    direct,
    {
      name: 'nginx with X-Accel-Redirect',
      url: accel!.url,
      cpu: async () => ({ ...(await cpuOfNginx(accel!)), ...(await cpuOfKinora(behindNginx.child.pid!)) }),
      minRatio: 0.6,
    },
    {
      name: 'nginx as a cache',
      url: cache!.url,
      cpu: async () => ({ ...(await cpuOfNginx(cache!)), ...(await cpuOfKinora(kinora.child.pid!)) }),
    },
  ]
}

async function measureDelivery(parts: string[]): Promise<void> {
  const isSelected = (part: string) => parts.length === 0 || parts.includes(part)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const env = { KINORA_DATABASE_URL: database }
    const kinora = await resources.server(startKinora(folder, env))
    const behindNginx = await resources.server(
      startKinora(folder, { ...env, KINORA_ACCEL_REDIRECT: accelLocation, KINORA_ROLES: 'api' }),
    )
    const client = new pg.Client(database)
    await client.connect()
    resources.add(() => client.end())
    const files = join(folder, 'files')
    const videoId = await insertVideo(kinora.url, client, files)
    const hls = `/vod/${videoId}/hls`
    const playlists = [`${hls}/manifest.m3u8`, `${hls}/720p/manifest.m3u8`]
    const segmentPaths = Array.from({ length: segments }, (_, i) => `${hls}/720p/video-${i}.m4s`)
    const viewing = [...playlists, ...segmentPaths]
    await copyFiles(kinora.url, viewing, join(folder, 'nginx'))
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const postmaster = await parentPid(rows[0]!.pid)
    const servers = await startServers({ resources, folder, files, postmaster }, kinora, behindNginx)
    if (isSelected('viewing'))
      await compare(
        `${viewers} viewers, 2 playlists and ${segments} segments of 1 MB`,
        servers,
        viewing,
        true,
      )
    if (isSelected('segments')) await compare('Segments only', servers, segmentPaths, true)
    if (isSelected('playlists')) await compare('Playlists only', servers, playlists, false)
  })
}

/** Parts: `viewing`, `segments`, `playlists`, `first-frame`, `sessions`; without arguments, all. */
export async function playback(parts: string[]): Promise<void> {
  const isSelected = (...names: string[]) => parts.length === 0 || names.some((name) => parts.includes(name))
  if (isSelected('viewing', 'segments', 'playlists')) await measureDelivery(parts)
  if (isSelected('first-frame')) await firstFrame()
  if (isSelected('sessions')) await playbackSessions()
}
