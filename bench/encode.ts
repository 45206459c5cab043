import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ladderOf, type Rung } from '../server/media/ladder.ts'
import {
  authorization,
  createVideo,
  median,
  percentile,
  Resources,
  type RunningServer,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atMost, below, printTable, type Row } from './table.ts'

export const rounds = 3

/** PeerTube's maximum bit rates, in bits per pixel and frame. */
const peerBitsPerPixel: Record<string, number> = {
  '240p': 0.17,
  '360p': 0.15,
  '480p': 0.12,
  '720p': 0.11,
  '1080p': 0.1,
  '2160p': 0.08,
}

type Cost = { wall: number; cpu: number }
type Source = {
  path: string
  width: number
  height: number
  rate: { num: number; den: number }
  seconds: number
}
type Quality = { bytes: number; ssim: number }

/** Runs a program and measures its elapsed time and its CPU time on all cores. */
async function timed(command: string, args: string[]): Promise<Cost & { stderr: string; stdout: string }> {
  const start = performance.now()
  // The shell's `times` is the only portable way to get the CPU time of one child process.
  const child = spawn('bash', ['-c', '"$@"; code=$?; times >&3; exit $code', 'bash', command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const texts = ['', '', '']
  for (const [i, stream] of [child.stdout, child.stderr, child.stdio[3]].entries())
    (stream as Readable).on('data', (chunk) => {
      texts[i] += chunk
    })
  const [code] = await once(child, 'close')
  const [stdout = '', stderr = '', times = ''] = texts
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}: ${stderr.slice(-500)}`)
  const ofChildren = times.trim().split('\n')[1] ?? ''
  const cpu = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, m) => sum + Number(m[1]) * 60 + Number(m[2]),
    0,
  )
  return { wall: (performance.now() - start) / 1000, cpu, stdout, stderr }
}

export const ffmpeg = (...args: string[]) =>
  timed('ffmpeg', ['-hide_banner', '-nostdin', '-y', '-v', 'error', ...args])

async function probe(path: string): Promise<Source> {
  const { stdout } = await timed('ffprobe', [
    ...['-v', 'error', '-select_streams', 'v:0', '-of', 'json'],
    ...['-show_entries', 'stream=width,height,r_frame_rate,duration:format=duration', path],
  ])
  const { streams, format } = JSON.parse(stdout)
  const [num, den] = streams[0].r_frame_rate.split('/').map(Number)
  const { width, height, duration } = streams[0]
  return { path, width, height, rate: { num, den }, seconds: Number(duration ?? format.duration) }
}

/** One ffmpeg for each quality, one after the other, each on all cores. */
async function encodeAsPeer(source: Source, rungs: Rung[], folder: string): Promise<Cost> {
  const cost = { wall: 0, cpu: 0 }
  const fps = source.rate.num / source.rate.den
  for (const { quality, width, height } of rungs) {
    const maxrate = Math.round(width * height * fps * peerBitsPerPixel[quality]!)
    const { wall, cpu } = await ffmpeg(
      ...['-i', source.path, '-vf', `scale=${width}:${height}`, '-c:v', 'libx264', '-preset', 'veryfast'],
      ...['-crf', '23', '-maxrate', String(maxrate), '-bufsize', String(2 * maxrate), '-pix_fmt', 'yuv420p'],
      ...['-bf', '16', '-b_strategy', '1', '-g', String(Math.round(2 * fps)), '-c:a', 'aac', '-b:a', '128k'],
      ...['-movflags', '+faststart', '-f', 'mp4', join(folder, `peer-${quality}.mp4`)],
    )
    cost.wall += wall
    cost.cpu += cpu
  }
  return cost
}

/**
 * The minimum cost: x264 with the same preset, on frames that are already decoded and scaled. Runs one process on each
 * core, as the service does, because cores that share a cache slow each other down.
 */
async function encodeMinimum(source: Source, rungs: Rung[], folder: string): Promise<Cost> {
  const cost = { wall: 0, cpu: 0 }
  for (const { width, height, maxKbps } of rungs) {
    const raw = join(folder, 'raw.yuv')
    const { num, den } = source.rate
    await ffmpeg(
      ...['-i', source.path, '-vf', `scale=${width}:${height}`, '-pix_fmt', 'yuv420p', '-f', 'rawvideo', raw],
    )
    const frames = String(Math.round((4 * num) / den))
    const runs = await Promise.all(
      Array.from({ length: availableParallelism() }, () =>
        ffmpeg(
          ...['-f', 'rawvideo', '-s', `${width}x${height}`, '-r', `${num}/${den}`, '-i', raw],
          ...['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-crf', '23', '-g', frames],
          ...['-maxrate', `${maxKbps}k`, '-bufsize', `${2 * maxKbps}k`, '-f', 'null', '-'],
        ),
      ),
    )
    cost.cpu += runs.reduce((sum, { cpu }) => sum + cpu, 0) / runs.length
    await rm(raw)
  }
  cost.wall = cost.cpu / availableParallelism()
  return cost
}

async function measureQuality(source: Source, rung: Rung, path: string): Promise<Quality> {
  const scale = `[1:v]scale=${rung.width}:${rung.height},setpts=PTS-STARTPTS[r];[0:v]setpts=PTS-STARTPTS[d];[d][r]ssim`
  const { stderr } = await timed('ffmpeg', [
    ...['-hide_banner', '-nostdin', '-v', 'info', '-i', path, '-i', source.path],
    ...['-filter_complex', scale, '-an', '-f', 'null', '-'],
  ])
  const { stdout } = await timed('ffprobe', [
    ...['-v', 'error', '-select_streams', 'v', '-show_entries', 'packet=size', '-of', 'csv=p=0', path],
  ])
  const bytes = stdout.split('\n').reduce((sum, line) => sum + (Number.parseInt(line, 10) || 0), 0)
  return { bytes, ssim: Number(/SSIM.*All:([\d.]+)/.exec(stderr)?.[1]) }
}

const get = (url: string) => fetch(url, { headers: { authorization } })

async function createAndUpload(url: string, path: string, payload: object = {}): Promise<string> {
  const videoId = await createVideo(url, { mp4Support: true, ...payload })
  const form = new FormData()
  form.append('file', new Blob([await readFile(path)]), basename(path))
  const sent = await fetch(`${url}/videos/${videoId}/source`, {
    method: 'POST',
    headers: { authorization },
    body: form,
  })
  if (sent.status !== 201) throw new Error(`the response to the upload was ${sent.status}`)
  return videoId
}

type Status = {
  encoding: { playable: boolean; qualities: { type: string; quality: string; status: string }[] }
}

/** CPU seconds of the child processes that have ended. */
export async function childrenCpu(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

type KinoraResult = Cost & { videoId: string; playable: number; firstQuality: number }

export async function encodeAsKinora(
  { url, child }: RunningServer,
  path: string,
  payload: object = {},
): Promise<KinoraResult> {
  const cpuBefore = await childrenCpu(child.pid)
  const videoId = await createAndUpload(url, path, payload)
  const start = performance.now()
  const since = () => (performance.now() - start) / 1000
  let playable: number | undefined
  let firstQuality: number | undefined
  for (;;) {
    if (playable === undefined) {
      const manifest = await fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)
      if (manifest.status === 200) playable = since()
    }
    const { encoding } = (await (await get(`${url}/videos/${videoId}/status`)).json()) as Status
    const { qualities } = encoding
    if (qualities.some(({ status }) => status === 'failed')) throw new Error('a quality failed')
    if (qualities.some(({ status }) => status === 'encoded')) firstQuality ??= since()
    if (qualities.length > 0 && qualities.every(({ status }) => status === 'encoded')) break
    // Polling takes CPU time from the encoder, so it slows down once the video is playable.
    await delay(playable === undefined ? 20 : 100)
  }
  const wall = since()
  return {
    videoId,
    wall,
    cpu: (await childrenCpu(child.pid)) - cpuBefore,
    playable: playable ?? wall,
    firstQuality: firstQuality ?? wall,
  }
}

async function download(url: string, videoId: string, quality: string, path: string): Promise<void> {
  const base = `${url}/vod/${videoId}/hls/${quality}`
  const playlist = await (await fetch(`${base}/manifest.m3u8`)).text()
  const names = playlist.split('\n').filter((line) => line && !line.startsWith('#'))
  async function* all() {
    for (const name of ['init.mp4', ...names])
      yield* Readable.fromWeb((await fetch(`${base}/${name}`)).body as never)
  }
  await pipeline(all, createWriteStream(path))
}

/** The 99th percentile of the response time in milliseconds, for sequential requests. */
async function responseP99(url: string, durationSeconds: number): Promise<number> {
  const times: number[] = []
  const end = performance.now() + durationSeconds * 1_000
  while (performance.now() < end) {
    const start = performance.now()
    await (await get(url)).arrayBuffer()
    times.push(performance.now() - start)
    await delay(5)
  }
  return percentile(times, 0.99)
}

/** Files from `--source FILE`, which can be given several times; a generated 60 s clip by default. */
export async function findSources(folder: string, args: string[]): Promise<string[]> {
  const { values } = parseArgs({ args, options: { source: { type: 'string', multiple: true } } })
  if (values.source) return values.source
  const path = join(folder, 'generated.mp4')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'testsrc2=s=1280x720:r=30,noise=alls=12:allf=t', '-f', 'lavfi', '-i', 'sine'],
    ...['-t', '60', '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-c:a', 'aac', path],
  )
  return [path]
}

type Round = { kinora: KinoraResult; peer: Cost; minimum: Cost }

const seconds = (value: number, digits = 1) => `${value.toFixed(digits)} s`

/** Alternates between the three, so that other load on the machine affects all of them. */
async function runRounds(kinora: RunningServer, source: Source, rungs: Rung[], folder: string) {
  const results: Round[] = []
  for (let round = 0; round < rounds; round++) {
    results.push({
      kinora: await encodeAsKinora(kinora, source.path),
      peer: await encodeAsPeer(source, rungs, folder),
      minimum: await encodeMinimum(source, rungs, folder),
    })
  }
  return results
}

function costRows(results: Round[]): Row[] {
  const medianOf = (of: (round: Round) => number) => median(results.map(of))
  const wallRatio = medianOf(({ kinora, peer }) => kinora.wall / peer.wall)
  const cpuRatio = medianOf(({ kinora, minimum }) => kinora.cpu / minimum.cpu)
  const firstQuality = medianOf(({ kinora }) => kinora.firstQuality)
  return [
    {
      measured: "time, compared with PeerTube's settings",
      kinora: seconds(medianOf(({ kinora }) => kinora.wall)),
      reference: seconds(medianOf(({ peer }) => peer.wall)),
      ratio: wallRatio,
      goal: atMost(0.65, wallRatio),
    },
    {
      measured: 'CPU time, compared with x264 alone',
      kinora: seconds(medianOf(({ kinora }) => kinora.cpu)),
      reference: seconds(medianOf(({ minimum }) => minimum.cpu)),
      ratio: cpuRatio,
      goal: atMost(1.3, cpuRatio),
    },
    { measured: 'time until the first complete quality', kinora: seconds(firstQuality) },
  ]
}

type Measurement = { quality: string; kinora: Quality; peer: Quality }

async function measureQualities(url: string, videoId: string, source: Source, rungs: Rung[], folder: string) {
  const measured: Measurement[] = []
  for (const rung of rungs) {
    const file = join(folder, 'kinora.mp4')
    await download(url, videoId, rung.quality, file)
    measured.push({
      quality: rung.quality,
      kinora: await measureQuality(source, rung, file),
      peer: await measureQuality(source, rung, join(folder, `peer-${rung.quality}.mp4`)),
    })
  }
  return measured
}

function qualityRows(measured: Measurement[]): Row[] {
  const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`
  const describe = ({ ssim, bytes }: Quality) => `SSIM ${ssim.toFixed(4)}, ${kB(bytes)}`
  const rows = measured.map(({ quality, kinora, peer }) => ({
    measured: `${quality}: SSIM and size`,
    kinora: describe(kinora),
    reference: describe(peer),
    ratio: kinora.bytes / peer.bytes,
    goal: {
      text: 'SSIM not lower, size not larger',
      isMet: kinora.ssim >= peer.ssim && kinora.bytes <= peer.bytes,
    },
  }))
  const total = (of: (each: Measurement) => Quality) =>
    measured.reduce((sum, each) => sum + of(each).bytes, 0)
  const [kinora, peer] = [total((each) => each.kinora), total((each) => each.peer)]
  const ratio = kinora / peer
  const all = { measured: 'size of all qualities', kinora: kB(kinora), reference: kB(peer), ratio }
  return [...rows, { ...all, goal: atMost(1, ratio) }]
}

/** Uploads a file that is ten times as long. Returns the time from the last byte until it is playable. */
async function uploadLongVersion(url: string, path: string, folder: string) {
  const long = join(folder, 'long.mp4')
  await ffmpeg('-stream_loop', '9', '-i', path, '-c', 'copy', long)
  const videoId = await createAndUpload(url, long)
  const start = performance.now()
  while ((await fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)).status !== 200) await delay(20)
  return { videoId, playable: (performance.now() - start) / 1000 }
}

async function compare(kinora: RunningServer, path: string, folder: string): Promise<void> {
  const { url } = kinora
  const source = await probe(path)
  const rungs = ladderOf(source, source.rate)
  const results = await runRounds(kinora, source, rungs, folder)
  const { videoId } = results.at(-1)!.kinora
  const measured = await measureQualities(url, videoId, source, rungs, folder)
  const playable = median(results.map((round) => round.kinora.playable))
  const long = await uploadLongVersion(url, path, folder)
  const busy = await responseP99(`${url}/videos/${long.videoId}`, 5)
  await fetch(`${url}/videos/${long.videoId}`, { method: 'DELETE', headers: { authorization } })
  await delay(5_000)
  const idle = await responseP99(`${url}/videos/${videoId}`, 5)
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const size = `${source.width}x${source.height}, ${seconds(source.seconds)}`
  printTable(`${basename(path)}: ${size}, ${rungs.length} qualities and MP4`, [
    ...costRows(results),
    ...qualityRows(measured),
    {
      measured: 'playable after the last byte',
      kinora: seconds(playable, 2),
      goal: atMost(2, playable, ' s'),
    },
    {
      measured: 'playable, ten times as long',
      kinora: seconds(long.playable, 2),
      reference: seconds(playable, 2),
      ratio: long.playable / playable,
      goal: atMost(1.2, long.playable / playable),
    },
    {
      measured: 'API response p99 while encoding, compared with idle',
      kinora: ms(busy),
      reference: ms(idle),
      ratio: busy / idle,
      goal: below(5, busy / idle),
    },
  ])
}

export async function encode(args: string[]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const sources = await findSources(folder, args)
    const kinora = await resources.server(startKinora(join(folder, 'data')))
    for (const path of sources) await compare(kinora, path, folder)
  })
}
