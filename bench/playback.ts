import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'
import { segmentFile } from '../server/renditions/files.ts'
import { cpuSeconds, parentPid, withChildren } from './cpu.ts'
import { firstFrame } from './first-frame.ts'
import { accelServer, plainServer, startNginx } from './nginx.ts'
import { playbackSessions } from './playback-sessions.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'
import { load, type Viewing } from './viewers.ts'

const segments = 24
const segmentBytes = 1_000_000
const viewers = 200
const roundSeconds = 2
const accelLocation = '/kinora-files/'

const plan = {
  ...{ key: 'source', offsetSeconds: 0, rate: { num: 25, den: 1 } },
  // 2 s, then 4 s each.
  frames: 50 + (segments - 1) * 100,
  rungs: [{ quality: '720p', width: 1280, height: 720, maxKbps: 2_800 }],
  ...{ hasSound: false, isWatermarked: false },
}

/** A video as the encoder leaves it, with segments of exactly 1 MB. */
async function fillVideo(api: string, client: pg.Client, files: string): Promise<string> {
  const response = await fetch(`${api}/videos`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'Bench' }),
  })
  const { videoId } = (await response.json()) as { videoId: string }
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

/** The same files by the same addresses, as they would lie in a folder of nginx. */
async function copyTo(root: string, api: string, paths: string[]): Promise<void> {
  for (const path of paths)
    await put(join(root, path), Buffer.from(await (await fetch(api + path)).arrayBuffer()))
}

/** CPU seconds so far, by program. */
type Cpu = Record<string, number>
type Server = { name: string; url: string; cpu(): Promise<Cpu>; goal?: number }
type Round = { perCpuSecond: number; perSecond: number; microseconds: Cpu }

async function measure({ url, cpu }: Server, viewing: Viewing): Promise<Round> {
  const before = await cpu()
  const { requests, seconds } = await load(url, viewing, viewers, roundSeconds)
  const used = Object.entries(await cpu()).map(([name, now]) => [name, now - before[name]!] as const)
  return {
    perCpuSecond: requests / used.reduce((sum, [, each]) => sum + each, 0),
    perSecond: requests / seconds,
    microseconds: Object.fromEntries(used.map(([name, each]) => [name, (each * 1e6) / requests])),
  }
}

/** In turns, so that whatever else the machine does meets all alike. By CPU time, as the load takes part of the cores. */
async function compare(title: string, servers: Server[], viewing: Viewing, hasGoal: boolean): Promise<void> {
  const rounds = servers.map((): Round[] => [])
  for (let i = -1; i < 5; i++) {
    for (const [n, server] of servers.entries()) {
      const round = await measure(server, viewing)
      // The first one warms up.
      if (i >= 0) rounds[n]?.push(round)
    }
  }
  const base = servers.findIndex(({ name }) => name === 'nginx')
  console.log(`${title}:`)
  for (const [n, { name, goal }] of servers.entries()) {
    const of = (which: 'perCpuSecond' | 'perSecond') => median(rounds[n]!.map((round) => round[which]))
    const against = (which: 'perCpuSecond' | 'perSecond') =>
      median(rounds[n]!.map((round, i) => round[which] / (rounds[base]?.[i]?.[which] ?? Number.NaN)))
    const ratio = against('perCpuSecond')
    const programs = Object.keys(rounds[n]![0]!.microseconds)
    const spent = programs.map(
      (each) => `${each} ${median(rounds[n]!.map(({ microseconds }) => microseconds[each]!)).toFixed(0)} µs`,
    )
    const judged = hasGoal && goal !== undefined && base >= 0
    console.log(
      `  ${name.padEnd(28)} ${of('perCpuSecond').toFixed(0).padStart(6)} per CPU second  ratio ${ratio.toFixed(2)}` +
        `${judged ? `  goal at least ${goal}  ${ratio >= goal ? 'reached' : 'MISSED'}` : ''}` +
        `  (${of('perSecond').toFixed(0)}/s, ratio ${against('perSecond').toFixed(2)}; ${spent.join(', ')})`,
    )
  }
}

async function measureDelivery(parts: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const log = { info() {}, warn: console.warn, error: console.error }
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log })
  const { user, password, host, database } = postgres.connection
  const databaseUrl = `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`
  const env = {
    KINORA_DATABASE_URL: databaseUrl,
    KINORA_DATA_DIR: folder,
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
  }
  const kinora = await startServer('server/main.ts', env)
  const behind = await startServer('server/main.ts', {
    ...env,
    KINORA_ACCEL_REDIRECT: accelLocation,
    KINORA_ROLES: 'api',
  })
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const closers: (() => Promise<void>)[] = []
  try {
    const files = join(folder, 'files')
    const videoId = await fillVideo(kinora.url, client, files)
    const paths = {
      playlists: ['manifest.m3u8', '720p/manifest.m3u8'].map((path) => `/vod/${videoId}/hls/${path}`),
      segments: Array.from({ length: segments }, (_, i) => `/vod/${videoId}/hls/720p/video-${i}.m4s`),
    }
    const root = join(folder, 'nginx')
    await copyTo(root, kinora.url, [...paths.playlists, ...paths.segments])
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const postmaster = await parentPid(rows[0]!.pid)
    const ofKinora = (pid: number) => async () => ({
      node: await cpuSeconds([pid]),
      postgres: await cpuSeconds(await withChildren(postmaster)),
    })
    const servers: Server[] = [
      { name: 'Kinora', url: kinora.url, cpu: ofKinora(kinora.child.pid!), goal: 0.5 },
    ]
    const plain = await startNginx(join(folder, 'plain'), (port) => plainServer(port, root))
    if (plain) {
      closers.push(plain.close)
      servers.unshift({
        name: 'nginx',
        url: plain.url,
        cpu: async () => ({ nginx: await cpuSeconds(await plain.workers()) }),
      })
      const accel = await startNginx(join(folder, 'accel'), (port) =>
        accelServer(port, behind.url, accelLocation, files),
      )
      if (accel) {
        closers.push(accel.close)
        const cpu = async () => ({
          nginx: await cpuSeconds(await accel.workers()),
          ...(await ofKinora(behind.child.pid!)()),
        })
        servers.push({ name: 'nginx with X-Accel-Redirect', url: accel.url, cpu, goal: 0.95 })
      }
    } else console.log('there is no nginx on this machine to compare with')
    const isAsked = (part: string) => parts.length === 0 || parts.includes(part)
    if (isAsked('viewing'))
      await compare(
        `${viewers} viewers, each two playlists and ${segments} segments of 1 MB`,
        servers,
        [...paths.playlists, ...paths.segments],
        true,
      )
    if (isAsked('segments')) await compare('segments alone', servers, paths.segments, false)
    if (isAsked('playlists')) await compare('playlists alone', servers, paths.playlists, false)
  } finally {
    await client.end()
    for (const close of closers) await close()
    await stopServer(kinora)
    await stopServer(behind)
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Parts: `viewing`, `segments`, `playlists`, `first-frame`, `sessions`; without any, all. */
export async function playback(parts: string[]): Promise<void> {
  const isAsked = (...names: string[]) => parts.length === 0 || names.some((name) => parts.includes(name))
  if (isAsked('viewing', 'segments', 'playlists')) await measureDelivery(parts)
  if (isAsked('first-frame')) await firstFrame()
  if (isAsked('sessions')) await playbackSessions()
}
