import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createAndUpload,
  deleteVideo,
  encodeAsKinora,
  type KinoraResult,
  waitUntilIdle,
} from './encode-kinora.ts'
import { qualityRows } from './encode-quality.ts'
import { encodeAsPeer, encodeMinimum, rungsOf } from './encode-references.ts'
import { makeSource, readArguments } from './encode-sources.ts'
import { encodeTogether } from './encode-together.ts'
import { type Cost, ffmpeg, probe, type Source } from './ffmpeg.ts'
import {
  authorization,
  median,
  percentile,
  Resources,
  type RunningServer,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atMost, below, printTable, type Row } from './table.ts'

export const rounds = 3

const seconds = (value: number, digits = 1) => `${value.toFixed(digits)} s`
const ms = (value: number) => `${value.toFixed(1)} ms`

/** The 99th percentile of the response time in milliseconds, for sequential requests. */
async function responseP99(url: string, durationSeconds: number): Promise<number> {
  const times: number[] = []
  const end = performance.now() + durationSeconds * 1_000
  while (performance.now() < end) {
    const start = performance.now()
    await (await fetch(url, { headers: { authorization } })).arrayBuffer()
    times.push(performance.now() - start)
    await delay(5)
  }
  return percentile(times, 0.99)
}

/**
 * Uploads a file that is ten times as long. Measures the time from the last byte until it is playable, and the response
 * times of the API while it is encoded and afterwards.
 */
async function measureLongVersion(kinora: RunningServer, source: Source, folder: string) {
  const long = join(folder, 'long.mp4')
  await ffmpeg('-stream_loop', '9', '-i', source.path, '-c', 'copy', long)
  const { url } = kinora
  const { videoId, lastByteAt } = await createAndUpload(url, long)
  while ((await fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)).status !== 200) await delay(20)
  const playable = (performance.now() - lastByteAt) / 1000
  const busyP99 = await responseP99(`${url}/videos/${videoId}`, 5)
  await deleteVideo(url, videoId)
  await waitUntilIdle(kinora)
  const idleP99 = await responseP99(`${url}/videos`, 5)
  return { playable, busyP99, idleP99 }
}

type Round = { kinora: KinoraResult; peer: Cost; together: Cost; minimum: Cost }

/** In turn, so that other load on the machine affects all of them. */
async function runRounds(kinora: RunningServer, source: Source, folder: string): Promise<Round[]> {
  const results: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const result = await encodeAsKinora(kinora, source.path)
    await waitUntilIdle(kinora)
    results.push({
      kinora: result,
      peer: await encodeAsPeer(source, folder),
      together: await encodeTogether(source, folder),
      minimum: await encodeMinimum(source, folder),
    })
  }
  return results
}

function costRows(results: Round[]): Row[] {
  const medianOf = (of: (round: Round) => number) => median(results.map(of))
  const wallRatio = medianOf(({ kinora, peer }) => kinora.wall / peer.wall)
  const togetherRatio = medianOf(({ kinora, together }) => kinora.cpu / together.cpu)
  const minimumRatio = medianOf(({ kinora, minimum }) => kinora.cpu / minimum.cpu)
  const cpu = seconds(medianOf(({ kinora }) => kinora.cpu))
  return [
    {
      measured: "time, compared with PeerTube's settings",
      kinora: seconds(medianOf(({ kinora }) => kinora.wall)),
      reference: seconds(medianOf(({ peer }) => peer.wall)),
      ratio: wallRatio,
      goal: atMost(0.62, wallRatio),
    },
    {
      measured: 'CPU time, compared with all qualities in one process',
      kinora: cpu,
      reference: seconds(medianOf(({ together }) => together.cpu)),
      ratio: togetherRatio,
      goal: atMost(1.08, togetherRatio),
    },
    {
      measured: 'CPU time, compared with x264 alone',
      kinora: cpu,
      reference: seconds(medianOf(({ minimum }) => minimum.cpu)),
      ratio: minimumRatio,
      goal: atMost(1.3, minimumRatio),
    },
    {
      measured: 'time until the first complete quality',
      kinora: seconds(medianOf(({ kinora }) => kinora.firstQuality)),
    },
  ]
}

const titleOf = (source: Source, kind: string) =>
  `${basename(source.path)}, ${kind}: ${source.width}x${source.height}, ${seconds(source.seconds)}, ` +
  `${rungsOf(source).length} qualities and MP4`

/** A source of which every quality is encoded. */
async function compareEncoded(kinora: RunningServer, path: string, folder: string): Promise<void> {
  const source = await probe(path)
  const results = await runRounds(kinora, source, folder)
  const { videoId } = results.at(-1)!.kinora
  const qualities = await qualityRows(kinora.url, videoId, source, folder)
  const playable = median(results.map((round) => round.kinora.playable))
  const long = await measureLongVersion(kinora, source, folder)
  printTable(titleOf(source, 'encoded'), [
    ...costRows(results),
    ...qualities,
    {
      measured: 'playable after the last byte',
      kinora: seconds(playable, 2),
      goal: atMost(1, playable, ' s'),
    },
    {
      measured: 'playable, ten times as long',
      kinora: seconds(long.playable, 2),
      reference: seconds(playable, 2),
      ratio: long.playable / playable,
      goal: atMost(1.2, long.playable / playable),
    },
    responseRow(long),
  ])
}

const responseRow = ({ busyP99, idleP99 }: { busyP99: number; idleP99: number }): Row => ({
  measured: 'API response p99 while encoding, compared with idle',
  kinora: ms(busyP99),
  reference: ms(idleP99),
  ratio: busyP99 / idleP99,
  goal: below(5, busyP99 / idleP99),
})

/** A source whose streams become the highest quality as they are, compared with encoding all qualities of it. */
async function compareCopied(
  kinora: RunningServer,
  withoutCopies: RunningServer,
  path: string,
  folder: string,
): Promise<void> {
  const source = await probe(path)
  const results: { copied: KinoraResult; encoded: KinoraResult; peer: Cost }[] = []
  for (let round = 0; round < rounds; round++) {
    const copied = await encodeAsKinora(kinora, path)
    await waitUntilIdle(kinora)
    const encoded = await encodeAsKinora(withoutCopies, path)
    await waitUntilIdle(withoutCopies)
    results.push({ copied, encoded, peer: await encodeAsPeer(source, folder) })
  }
  const medianOf = (of: (result: (typeof results)[number]) => number) => median(results.map(of))
  const cpuRatio = medianOf(({ copied, encoded }) => copied.cpu / encoded.cpu)
  const wallRatio = medianOf(({ copied, peer }) => copied.wall / peer.wall)
  const long = await measureLongVersion(kinora, source, folder)
  printTable(titleOf(source, 'copied'), [
    {
      measured: 'CPU time, compared with encoding every quality',
      kinora: seconds(medianOf(({ copied }) => copied.cpu)),
      reference: seconds(medianOf(({ encoded }) => encoded.cpu)),
      ratio: cpuRatio,
      goal: atMost(0.6, cpuRatio),
    },
    {
      measured: "time, compared with PeerTube's settings",
      kinora: seconds(medianOf(({ copied }) => copied.wall)),
      reference: seconds(medianOf(({ peer }) => peer.wall)),
      ratio: wallRatio,
      goal: atMost(0.4, wallRatio),
    },
    {
      measured: 'time until the first complete quality',
      kinora: seconds(medianOf(({ copied }) => copied.firstQuality)),
    },
    responseRow(long),
  ])
}

/** The setting of a service that encodes every quality of every source. */
export const withoutCopying = { KINORA_COPY_SOURCES: 'off' }

/** A file from `--source` is encoded, and also copied if the words say so. */
export async function encode(args: string[]): Promise<void> {
  const { files, words } = readArguments(args)
  const isSelected = (word: string) => words.length === 0 || words.includes(word)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const encoder = await resources.server(startKinora(join(folder, 'encoding'), withoutCopying))
    if (isSelected('encoded')) {
      const generated = files.length > 0 ? [] : [14, 60]
      for (const path of files) await compareEncoded(encoder, path, folder)
      for (const length of generated)
        await compareEncoded(encoder, await makeSource(folder, sourceOf('encoded', length)), folder)
    }
    if (!isSelected('copied') || (files.length > 0 && words.length === 0)) return
    const copier = await resources.server(startKinora(join(folder, 'copying')))
    const sources = files.length > 0 ? files : [await makeSource(folder, sourceOf('copied', 60))]
    for (const path of sources) await compareCopied(copier, encoder, path, folder)
  })
}

const sourceOf = (kind: 'encoded' | 'copied', length: number) =>
  ({ kind, size: '720p', seconds: length }) as const
