import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ladderOf, type Rung } from '../server/media/ladder.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

/** How PeerTube caps a quality: bits for each pixel of each frame. */
const peerBits: Record<string, number> = {
  '240p': 0.17,
  '360p': 0.15,
  '480p': 0.12,
  '720p': 0.11,
  '1080p': 0.1,
  '2160p': 0.08,
}

type Spent = { wall: number; cpu: number }
type Source = {
  path: string
  width: number
  height: number
  rate: { num: number; den: number }
  seconds: number
}
type Measured = { bytes: number; ssim: number }

/** Runs a program and tells what it took: the time on the clock, and that of all cores. */
async function timed(command: string, args: string[]): Promise<Spent & { stderr: string; stdout: string }> {
  const start = performance.now()
  // The shell's `times` is the one portable way to a child's processor time.
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
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr.slice(-500)}`)
  const ofChildren = times.trim().split('\n')[1] ?? ''
  const cpu = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, m) => sum + Number(m[1]) * 60 + Number(m[2]),
    0,
  )
  return { wall: (performance.now() - start) / 1000, cpu, stdout, stderr }
}

const ffmpeg = (...args: string[]) =>
  timed('ffmpeg', ['-hide_banner', '-nostdin', '-y', '-v', 'error', ...args])

async function look(path: string): Promise<Source> {
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
async function encodeAsPeer(source: Source, rungs: Rung[], folder: string): Promise<Spent> {
  const spent = { wall: 0, cpu: 0 }
  const fps = source.rate.num / source.rate.den
  for (const { quality, width, height } of rungs) {
    const maxrate = Math.round(width * height * fps * peerBits[quality]!)
    const { wall, cpu } = await ffmpeg(
      ...['-i', source.path, '-vf', `scale=${width}:${height}`, '-c:v', 'libx264', '-preset', 'veryfast'],
      ...['-crf', '23', '-maxrate', String(maxrate), '-bufsize', String(2 * maxrate), '-pix_fmt', 'yuv420p'],
      ...['-bf', '16', '-b_strategy', '1', '-g', String(Math.round(2 * fps)), '-c:a', 'aac', '-b:a', '128k'],
      ...['-movflags', '+faststart', '-f', 'mp4', join(folder, `peer-${quality}.mp4`)],
    )
    spent.wall += wall
    spent.cpu += cpu
  }
  return spent
}

/**
 * What cannot be saved: x264 with the preset that peers use, on frames that are decoded and scaled already. As many
 * at once as there are cores, as in the service: cores that share a cache are slower together.
 */
async function floor(source: Source, rungs: Rung[], folder: string): Promise<Spent> {
  const spent = { wall: 0, cpu: 0 }
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
    spent.cpu += runs.reduce((sum, { cpu }) => sum + cpu, 0) / runs.length
    await rm(raw)
  }
  spent.wall = spent.cpu / availableParallelism()
  return spent
}

async function measure(source: Source, rung: Rung, path: string): Promise<Measured> {
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

type Kinora = { url: string; child: { pid?: number | undefined } }

const get = (url: string) => fetch(url, { headers: { authorization } })

async function createAndUpload(url: string, path: string): Promise<string> {
  const created = await fetch(`${url}/videos`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ mp4Support: true }),
  })
  const { videoId } = (await created.json()) as { videoId: string }
  const form = new FormData()
  form.append('file', new Blob([await readFile(path)]), basename(path))
  const sent = await fetch(`${url}/videos/${videoId}/source`, {
    method: 'POST',
    headers: { authorization },
    body: form,
  })
  if (sent.status !== 201) throw new Error(`the upload was answered ${sent.status}`)
  return videoId
}

type Status = {
  encoding: { playable: boolean; qualities: { type: string; quality: string; status: string }[] }
}

/** Processor seconds of programs that the service has run to their end. */
async function childrenCpu(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

type Encoded = Spent & { videoId: string; playable: number; firstQuality: number }

async function encodeAsKinora({ url, child }: Kinora, path: string): Promise<Encoded> {
  const cpuBefore = await childrenCpu(child.pid)
  const videoId = await createAndUpload(url, path)
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
    // Each question takes time from what is measured.
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

/** The 99th percentile of answers in milliseconds, one request after the other, as long as asked. */
async function answers(url: string, until: () => boolean): Promise<number> {
  const times: number[] = []
  while (!until()) {
    const start = performance.now()
    await (await get(url)).arrayBuffer()
    times.push(performance.now() - start)
    await delay(5)
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

async function findSources(folder: string, named: string | undefined): Promise<string[]> {
  if (named) return [named]
  const shared = ['the-last-man-on-earth-720p-14s.mp4', 'big-buck-bunny-480p-30s.mp4'].map((name) =>
    join('../shared/media', name),
  )
  if (shared.every((path) => existsSync(path))) return shared
  const made = join(folder, 'made.mp4')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'testsrc2=s=1280x720:r=30,noise=alls=12:allf=t', '-f', 'lavfi', '-i', 'sine'],
    ...['-t', '60', '-c:v', 'libx264', '-preset', 'veryfast', '-crf', '18', '-c:a', 'aac', made],
  )
  return [made]
}

const verdict = (isReached: boolean) => (isReached ? 'reached' : 'MISSED')

async function compare(kinora: Kinora, path: string, folder: string): Promise<void> {
  const source = await look(path)
  const rungs = ladderOf(source, source.rate)
  console.log(
    `\n${basename(path)}: ${source.width}x${source.height}, ${source.seconds.toFixed(1)} s, ${rungs.length} qualities and MP4`,
  )

  // By turns, as a shared machine is not equally fast all the time.
  const rounds: { ours: Encoded; peer: Spent; least: Spent }[] = []
  for (let round = 0; round < 3; round++) {
    rounds.push({
      ours: await encodeAsKinora(kinora, path),
      peer: await encodeAsPeer(source, rungs, folder),
      least: await floor(source, rungs, folder),
    })
  }
  const middle = (of: (round: (typeof rounds)[number]) => number) => median(rounds.map(of))
  for (const name of ['ours', 'peer', 'least'] as const) {
    const [wall, cpu] = [middle((round) => round[name].wall), middle((round) => round[name].cpu)]
    console.log(`  ${name.padEnd(6)} wall ${wall.toFixed(1)} s  cpu ${cpu.toFixed(1)} s`)
  }
  const wall = middle(({ ours, peer }) => ours.wall / peer.wall)
  const cpu = middle(({ ours, least }) => ours.cpu / least.cpu)
  console.log(`  wall to the peer's ${wall.toFixed(2)}  goal at most 0.65  ${verdict(wall <= 0.65)}`)
  console.log(`  cpu to the least ${cpu.toFixed(2)}  goal at most 1.3  ${verdict(cpu <= 1.3)}`)
  console.log(`  first quality whole after ${middle(({ ours }) => ours.firstQuality).toFixed(1)} s`)
  const ours = rounds.at(-1)!.ours
  const playable = middle((round) => round.ours.playable)

  let [bytesOurs, bytesPeer] = [0, 0]
  let isAsGood = true
  for (const rung of rungs) {
    const file = join(folder, 'ours.mp4')
    await download(kinora.url, ours.videoId, rung.quality, file)
    const [a, b] = [
      await measure(source, rung, file),
      await measure(source, rung, join(folder, `peer-${rung.quality}.mp4`)),
    ]
    bytesOurs += a.bytes
    bytesPeer += b.bytes
    isAsGood &&= a.ssim >= b.ssim && a.bytes <= b.bytes
    const kB = (n: number) => `${Math.round(n / 1000)} kB`
    console.log(
      `  ${rung.quality.padEnd(6)} SSIM ${a.ssim.toFixed(4)} against ${b.ssim.toFixed(4)}  ${kB(a.bytes)} against ${kB(b.bytes)} (${(a.bytes / b.bytes).toFixed(2)})`,
    )
  }
  console.log(
    `  all: bytes ${(bytesOurs / bytesPeer).toFixed(2)} of the peer's; no less SSIM and no more bytes in each: ${verdict(isAsGood)}`,
  )

  const long = join(folder, 'long.mp4')
  await ffmpeg('-stream_loop', '9', '-i', path, '-c', 'copy', long)
  const longId = createAndUpload(kinora.url, long)
  const start = await longId.then(() => performance.now())
  const id = await longId
  while ((await fetch(`${kinora.url}/vod/${id}/hls/manifest.m3u8`)).status !== 200) await delay(20)
  const longPlayable = (performance.now() - start) / 1000
  console.log(
    `  playable ${playable.toFixed(2)} s after the last byte  goal within 2  ${verdict(playable <= 2)}`,
  )
  console.log(
    `  playable, ten times as long, ${longPlayable.toFixed(2)} s: ${(longPlayable / playable).toFixed(2)} times  goal at most 1.2  ${verdict(longPlayable <= 1.2 * playable)}`,
  )

  const video = `${kinora.url}/videos/${id}`
  const end = performance.now() + 5_000
  const busy = await answers(video, () => performance.now() > end)
  await fetch(video, { method: 'DELETE', headers: { authorization } })
  await delay(5_000)
  const other = `${kinora.url}/videos/${ours.videoId}`
  const endIdle = performance.now() + 5_000
  const idle = await answers(other, () => performance.now() > endIdle)
  console.log(
    `  answers while encoding: p99 ${busy.toFixed(1)} ms, idle ${idle.toFixed(1)} ms: ${(busy / idle).toFixed(1)} times  goal below 5  ${verdict(busy < 5 * idle)}`,
  )
}

export async function encode(args: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const kinora = await startServer('server/main.ts', {
    KINORA_DATA_DIR: join(folder, 'data'),
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
  })
  try {
    const at = args.indexOf('--source')
    for (const path of await findSources(folder, at < 0 ? undefined : args[at + 1]))
      await compare(kinora, path, folder)
  } finally {
    await stopServer(kinora)
    await rm(folder, { recursive: true, force: true })
  }
}
