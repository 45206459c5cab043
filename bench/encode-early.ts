import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuSecondsOfTree } from './cpu.ts'
import { deleteVideo, waitUntilIdle } from './encode-kinora.ts'
import { type Kind, makeSource } from './encode-sources.ts'
import { sendFile } from './send-file.ts'
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

const defaultSeconds = 600
/** A second of the upload has so much of the video. Nothing can be encoded as fast as the fast one. */
const speeds = { fast: 10, slow: 2 }
/** Playback should start soon after this part of the file has arrived. */
const firstShare = 0.05
/** An upload takes about a second. */
const rounds = 9
const stepMs = 50

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
async function observe(kinora: RunningServer, path: string, seconds: number): Promise<Upload> {
  const videoId = await createVideo(kinora.url, { mp4Support: true })
  let shareAt = Number.POSITIVE_INFINITY
  const playable = waitForPlayable(kinora, videoId)
  const { lastByteAt } = await sendFile(sourceUrl(kinora, videoId), path, {
    seconds,
    onShare(share) {
      if (share >= firstShare) shareAt = Math.min(shareAt, performance.now())
    },
  })
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
  await sendFile(sourceUrl(kinora, videoId), path)
  const seconds = (performance.now() - begun) / 1_000
  await deleteVideo(kinora.url, videoId)
  await waitUntilIdle(kinora)
  return seconds
}

/** Without the pictures and the MP4, which an upload that is abandoned does not get. */
async function cpuOfEncoding(kinora: RunningServer, path: string): Promise<number> {
  const before = await cpuSecondsOfTree(kinora.child.pid!)
  const videoId = await createVideo(kinora.url, { mp4Support: false })
  await sendFile(sourceUrl(kinora, videoId), path)
  await waitForEnd(kinora, videoId)
  const cpu = (await cpuSecondsOfTree(kinora.child.pid!)) - before
  await deleteVideo(kinora.url, videoId)
  await waitUntilIdle(kinora)
  return cpu
}

/** The place of an upload stays for the next attempt, as an empty file. */
async function listNonEmpty(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)))
  return paths.filter((_, n) => (stats[n]?.size ?? 0) > 0)
}

/** An upload that ends in the middle. Returns the CPU seconds, and the files that are left of it. */
async function abandon(kinora: RunningServer, path: string, dataFolder: string, seconds: number) {
  const known = new Set(await listNonEmpty(join(dataFolder, 'files')))
  const before = await cpuSecondsOfTree(kinora.child.pid!)
  const videoId = await createVideo(kinora.url, { mp4Support: false })
  await sendFile(sourceUrl(kinora, videoId), path, { until: 0.5, seconds })
  await waitUntilIdle(kinora)
  const cpu = (await cpuSecondsOfTree(kinora.child.pid!)) - before
  const listLeft = async () =>
    (await listNonEmpty(join(dataFolder, 'files'))).filter((file) => !known.has(file))
  let left = await listLeft()
  // A job removes them.
  for (let polls = 0; left.length > 0 && polls < 100; polls++) {
    await delay(100)
    left = await listLeft()
  }
  await deleteVideo(kinora.url, videoId)
  return { cpu, left }
}

const inSeconds = (value: number, digits = 1) => `${value.toFixed(digits)} s`

async function compare(folder: string, kind: Kind, lengthSeconds: number): Promise<void> {
  const uploadSeconds = lengthSeconds / speeds.fast
  await using resources = new Resources()
  const path = await makeSource(folder, { kind, size: '720p', seconds: lengthSeconds })
  const half = await makeSource(folder, { kind, size: '720p', seconds: lengthSeconds / 2 })
  const start = (name: string, setting: string) =>
    resources.server(startKinora(join(folder, `${kind}-${name}`), { KINORA_ENCODE_DURING_UPLOAD: setting }))
  const [early, after] = [await start('early', 'on'), await start('after', 'off')]
  const [during, before] = [
    await observe(early, path, uploadSeconds),
    await observe(after, path, uploadSeconds),
  ]
  const slow = await observe(early, path, lengthSeconds / speeds.slow)
  const abandoned = await abandon(early, path, join(folder, `${kind}-early`), uploadSeconds)
  const halfCpu = await cpuOfEncoding(after, half)
  const times = { early: [] as number[], after: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const services = [['after', after] as const, ['early', early] as const]
    for (const [name, kinora] of round % 2 === 0 ? services : services.toReversed())
      times[name].push(await timeUpload(kinora, path))
  }
  const toBefore = (seconds: number) => ({
    kinora: inSeconds(seconds),
    reference: inSeconds(before.endAfterLastByte),
    ratio: seconds / before.endAfterLastByte,
  })
  const ends = toBefore(during.endAfterLastByte)
  const throughput = median(times.after) / median(times.early)
  const rows: Row[] = [
    {
      measured: `playable after the first ${100 * firstShare} %`,
      kinora: inSeconds(during.playableAfterShare),
      goal: atMost(3, during.playableAfterShare, ' s'),
    },
    {
      measured: 'everything finished after the last byte',
      ...ends,
      goal: atMost(0.5, ends.ratio),
    },
    {
      measured: '  the reference less the time of the upload',
      ...toBefore(Math.max(0, before.endAfterLastByte - uploadSeconds)),
    },
    {
      measured: `everything finished after the last byte of an upload over ${lengthSeconds / speeds.slow} s`,
      ...toBefore(slow.endAfterLastByte),
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
    {
      measured: '  files with content that are left',
      kinora: String(abandoned.left.length),
      goal: atMost(0, abandoned.left.length),
    },
  ]
  printTable(
    `${lengthSeconds} seconds of 720p, ${kind}, uploaded over ${uploadSeconds} s; reference: encoded after the last byte`,
    rows,
  )
}

/** Words select the kinds of sources: `encoded`, `copied`. */
export const encodeEarly = (args: string[]): Promise<void> => {
  const { values, positionals } = parseArgs({
    args,
    options: { seconds: { type: 'string', default: String(defaultSeconds) } },
    allowPositionals: true,
  })
  return withTemporaryFolder(async (folder) => {
    for (const kind of ['encoded', 'copied'] as const)
      if (positionals.length === 0 || positionals.includes(kind))
        await compare(folder, kind, Number(values.seconds))
  })
}
