import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSecondsOfTree } from './cpu.ts'
import { deleteVideo, waitUntilIdle } from './encode-kinora.ts'
import { type Kind, makeSource } from './encode-sources.ts'
import {
  authorization,
  createVideo,
  median,
  Resources,
  type RunningServer,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atLeast, atMost, printTable, type Row } from './table.ts'

// Encoding during the upload, compared with a service that encodes after the last byte.

const lengthSeconds = 600
const uploadSeconds = 60
/** Playback should start soon after this part of the file has arrived. */
const firstShare = 0.05
const rounds = 3
const stepMs = 50
const boundary = 'kinora-bench'

type Paced = {
  /** Of the file. The connection is closed after this part of it. */
  until?: number
  /** For the entire file. Without it, as fast as possible. */
  seconds?: number
  onShare?(share: number): void
}

/** Sends a file in one request, at a constant rate. Returns when the response has come, or when it was abandoned. */
async function send(url: string, path: string, { until = 1, seconds, onShare }: Paced): Promise<void> {
  const { size } = await stat(path)
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="film.mp4"\r\n\r\n`
  const tail = `\r\n--${boundary}--\r\n`
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const sending = request(url, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + size + tail.length,
    },
  })
  sending.on('error', (error) => (until < 1 ? resolve() : reject(error)))
  sending.on('response', async (response) => {
    const body = await text(response).catch(() => '')
    if (response.statusCode === 201 || until < 1) resolve()
    else reject(new Error(`the response to the upload was ${response.statusCode}: ${body}`))
  })
  const write = (bytes: Buffer | string) =>
    sending.write(bytes) ? undefined : new Promise((done) => sending.once('drain', done))
  await write(head)
  const begun = performance.now()
  let sent = 0
  for await (const bytes of createReadStream(path, {
    highWaterMark: 256 * 1024,
    end: Math.floor(until * size) - 1,
  })) {
    await write(bytes)
    sent += bytes.length
    onShare?.(sent / size)
    while (seconds !== undefined && performance.now() - begun < (1_000 * seconds * sent) / size)
      await delay(stepMs)
  }
  if (until < 1) sending.destroy()
  else sending.end(tail)
  await promise
}

const sourceUrl = ({ url }: RunningServer, videoId: string) => `${url}/videos/${videoId}/source`

async function waitForPlayable({ url }: RunningServer, videoId: string): Promise<number> {
  while ((await fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)).status !== 200) await delay(stepMs)
  return performance.now()
}

async function waitForEnd({ url }: RunningServer, videoId: string): Promise<number> {
  for (;;) {
    const response = await fetch(`${url}/videos/${videoId}/status`, { headers: { authorization } })
    const { encoding } = (await response.json()) as { encoding: { qualities: { status: string }[] } }
    const states = encoding.qualities.map(({ status }) => status)
    if (states.includes('failed')) throw new Error('a quality failed')
    if (states.length > 0 && states.every((state) => state === 'encoded')) return performance.now()
    await delay(4 * stepMs)
  }
}

type Upload = { playableAfterShare: number; endAfterLastByte: number }

/** Uploads a file at a constant rate, and waits until everything is encoded. */
async function observe(kinora: RunningServer, path: string): Promise<Upload> {
  const videoId = await createVideo(kinora.url, { mp4Support: true })
  let shareAt = Number.POSITIVE_INFINITY
  const playable = waitForPlayable(kinora, videoId)
  await send(sourceUrl(kinora, videoId), path, {
    seconds: uploadSeconds,
    onShare(share) {
      if (share >= firstShare) shareAt = Math.min(shareAt, performance.now())
    },
  })
  const lastByteAt = performance.now()
  const endAt = await waitForEnd(kinora, videoId)
  await deleteVideo(kinora.url, videoId)
  await waitUntilIdle(kinora)
  return {
    playableAfterShare: ((await playable) - shareAt) / 1_000,
    endAfterLastByte: (endAt - lastByteAt) / 1_000,
  }
}

/** Seconds of an upload as fast as possible. */
async function timeUpload(kinora: RunningServer, path: string): Promise<number> {
  const videoId = await createVideo(kinora.url)
  const begun = performance.now()
  await send(sourceUrl(kinora, videoId), path, {})
  const seconds = (performance.now() - begun) / 1_000
  await deleteVideo(kinora.url, videoId)
  await waitUntilIdle(kinora)
  return seconds
}

async function cpuOf(kinora: RunningServer, work: () => Promise<unknown>): Promise<number> {
  const before = await cpuSecondsOfTree(kinora.child.pid!)
  await work()
  await waitUntilIdle(kinora)
  return (await cpuSecondsOfTree(kinora.child.pid!)) - before
}

/** An upload that ends in the middle. Returns the CPU seconds, and the files that are left. */
async function abandon(kinora: RunningServer, path: string, dataFolder: string) {
  const videoId = await createVideo(kinora.url)
  const cpu = await cpuOf(kinora, async () => {
    await send(sourceUrl(kinora, videoId), path, { until: 0.5, seconds: uploadSeconds })
    await delay(1_000)
  })
  const left = await readdir(join(dataFolder, 'files/videos', videoId), { recursive: true }).catch(() => [])
  await deleteVideo(kinora.url, videoId)
  return { cpu, left: left.length }
}

const inSeconds = (value: number, digits = 1) => `${value.toFixed(digits)} s`

async function compare(folder: string, kind: Kind): Promise<void> {
  await using resources = new Resources()
  const path = await makeSource(folder, { kind, size: '720p', seconds: lengthSeconds })
  const half = await makeSource(folder, { kind, size: '720p', seconds: lengthSeconds / 2 })
  const start = (name: string, setting: string) =>
    resources.server(startKinora(join(folder, `${kind}-${name}`), { KINORA_ENCODE_DURING_UPLOAD: setting }))
  const [early, after] = [await start('early', 'on'), await start('after', 'off')]
  const [during, before] = [await observe(early, path), await observe(after, path)]
  const abandoned = await abandon(early, path, join(folder, `${kind}-early`))
  const halfId = await createVideo(after.url)
  const halfCpu = await cpuOf(after, async () => {
    await send(sourceUrl(after, halfId), half, {})
    await waitForEnd(after, halfId)
  })
  const times = { early: [] as number[], after: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.after.push(await timeUpload(after, path))
    times.early.push(await timeUpload(early, path))
  }
  const ends = during.endAfterLastByte / before.endAfterLastByte
  const throughput = median(times.after) / median(times.early)
  const rows: Row[] = [
    {
      measured: `playable after the first ${100 * firstShare} %`,
      kinora: inSeconds(during.playableAfterShare),
      goal: atMost(3, during.playableAfterShare, ' s'),
    },
    {
      measured: 'everything finished after the last byte',
      kinora: inSeconds(during.endAfterLastByte),
      reference: inSeconds(before.endAfterLastByte),
      ratio: ends,
      goal: atMost(0.5, ends),
    },
    {
      measured: 'an upload as fast as possible',
      kinora: inSeconds(median(times.early), 2),
      reference: inSeconds(median(times.after), 2),
      ratio: throughput,
      goal: atLeast(0.9, throughput),
    },
    {
      measured: 'an upload that is abandoned at 50 %: CPU time, compared with encoding that half',
      kinora: inSeconds(abandoned.cpu),
      reference: inSeconds(halfCpu),
      ratio: abandoned.cpu / halfCpu,
      goal: atMost(1, abandoned.cpu / halfCpu),
    },
    { measured: '  files that are left', kinora: String(abandoned.left), goal: atMost(0, abandoned.left) },
  ]
  printTable(
    `10 minutes of 720p, ${kind}, uploaded over ${uploadSeconds} s; reference: encoded after the last byte`,
    rows,
  )
}

/** Words select the kinds of sources: `encoded`, `copied`. */
export const encodeEarly = (words: string[]): Promise<void> =>
  withTemporaryFolder(async (folder) => {
    for (const kind of ['encoded', 'copied'] as const)
      if (words.length === 0 || words.includes(kind)) await compare(folder, kind)
  })
