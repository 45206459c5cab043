import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withoutCopying } from './encode.ts'
import { createAndUpload, deleteVideo, waitUntilIdle } from './encode-kinora.ts'
import { encodeStart, rungsOf } from './encode-references.ts'
import { type Kind, makeSource, type Recipe, readArguments } from './encode-sources.ts'
import { probe, type Source, timed } from './ffmpeg.ts'
import { readPlaylists } from './growing-playlists.ts'
import { median, Resources, type RunningServer, startKinora, withTemporaryFolder } from './servers.ts'
import { SimulatedPlayer } from './simulated-player.ts'
import { atMost, printTable, type Row } from './table.ts'

/** The viewer of a longer video leaves after three minutes. */
const watchedSeconds = 180
/** Of a longer video, only the part that the viewer watches is waited for. */
const maxCompleteSeconds = 120
/** Reading the playlists takes CPU time from the encoder, so it slows down once the video is playable. */
const pollMs = { before: 20, after: 100 }
const maxObservedSeconds = 900
const startRounds = 3

/** Pairs of elapsed seconds and available seconds, one for each change. */
type Growth = [elapsed: number, available: number][]

type Observation = {
  flushSeconds: number
  startedAt: number
  stalls: number[]
  growth: { any: Growth; lowest: Growth; top: Growth }
  /** When the highest quality was playable from start to end. */
  topCompleteAt: number | undefined
}

type Until = 'started' | 'watched' | 'complete'

/** Uploads a source and watches it from the last byte on. Deletes it afterwards. */
async function observe(kinora: RunningServer, source: Source, until: Until): Promise<Observation> {
  const rungs = rungsOf(source)
  const [lowest, top] = [rungs[0]!.quality, rungs.at(-1)!.quality]
  const player = new SimulatedPlayer(Math.min(watchedSeconds, source.seconds))
  const growth: Observation['growth'] = { any: [], lowest: [], top: [] }
  let topCompleteAt: number | undefined
  // Otherwise the disk may still be busy with the source or the last video when the service flushes this one.
  await timed('sync', [])
  const { videoId, lastByteAt, flushSeconds } = await createAndUpload(kinora.url, source.path)
  const elapsed = () => (performance.now() - lastByteAt) / 1000
  const isDone = () => {
    if (until === 'started') return player.startedAt !== undefined
    return player.isSafe && (until === 'watched' || topCompleteAt !== undefined)
  }
  while (!isDone() && elapsed() < maxObservedSeconds) {
    const { any, qualities } = await readPlaylists(kinora.url, videoId)
    const time = elapsed()
    player.advance(time, any.isComplete ? source.seconds : any.seconds)
    const listed = { any, lowest: qualities.get(lowest), top: qualities.get(top) }
    for (const name of ['any', 'lowest', 'top'] as const) {
      const seconds = listed[name]?.seconds ?? 0
      if (seconds > (growth[name].at(-1)?.[1] ?? 0)) growth[name].push([time, seconds])
    }
    if (listed.top?.isComplete) topCompleteAt ??= time
    await delay(player.startedAt === undefined ? pollMs.before : pollMs.after)
  }
  player.stop(elapsed())
  await deleteVideo(kinora.url, videoId)
  await waitUntilIdle(kinora)
  const stalls = player.stalls.map(({ seconds }) => seconds)
  const startedAt = player.startedAt ?? Number.POSITIVE_INFINITY
  return { flushSeconds, startedAt, stalls, growth, topCompleteAt }
}

const seconds = (value: number, digits = 1) => `${value.toFixed(digits)} s`

/** The first and the last change, and those between them that add at least half. */
export function describeGrowth(growth: Growth): string {
  const shown: Growth = []
  for (const [i, point] of growth.entries()) {
    const isLast = i === growth.length - 1
    if (isLast || point[1] >= 1.5 * (shown.at(-1)?.[1] ?? 0)) shown.push(point)
  }
  return shown.map(([at, available]) => `${seconds(at)} → ${Math.round(available)}`).join(', ') || 'nothing'
}

type Scenario = {
  name: string
  source: Source
  /** Of the service. */
  settings: Record<string, string>
  /** For the time until the highest quality is complete. */
  completeGoal?: number | undefined
}

async function watch(kinora: RunningServer, { name, source, completeGoal }: Scenario): Promise<Row[]> {
  const until = completeGoal !== undefined || source.seconds <= maxCompleteSeconds ? 'complete' : 'watched'
  const { startedAt, stalls, growth, topCompleteAt } = await observe(kinora, source, until)
  const rungs = rungsOf(source)
  console.log(`\n${name}: seconds that are playable, by the time since the last byte`)
  console.log(`  any quality  ${describeGrowth(growth.any)}`)
  console.log(`  ${rungs[0]!.quality.padEnd(11)}  ${describeGrowth(growth.lowest)}`)
  console.log(`  ${rungs.at(-1)!.quality.padEnd(11)}  ${describeGrowth(growth.top)}`)
  const total = stalls.reduce((sum, stall) => sum + stall, 0)
  const complete = topCompleteAt ?? Number.POSITIVE_INFINITY
  return [
    { measured: `${name}: start after the last byte`, kinora: seconds(startedAt, 2) },
    {
      measured: '  stalls',
      kinora: stalls.length === 0 ? '0' : `${stalls.length}, ${seconds(total)} in total`,
      goal: { text: '0', isMet: stalls.length === 0 },
    },
    ...(until === 'complete'
      ? [
          {
            measured: `  ${rungs.at(-1)!.quality} complete`,
            kinora: seconds(complete),
            ...(completeGoal !== undefined && { goal: atMost(completeGoal, complete, ' s') }),
          },
        ]
      : []),
  ]
}

type Words = { includes(word: string): boolean; selects(...words: string[]): boolean }

/** Of each group of words (sizes, lengths, variants), those that are given select. A group without words selects all. */
function readWords(words: string[], groups: string[][]): Words {
  const isOpen = (word: string) => !words.some((each) => groupOf(word).includes(each))
  const groupOf = (word: string) => groups.find((group) => group.includes(word)) ?? []
  return {
    includes: (word) => words.includes(word),
    selects: (...wanted) => wanted.every((word) => isOpen(word) || words.includes(word)),
  }
}

const groups = [
  ['720p', '1080p'],
  ['short', 'long'],
  ['encoded', 'copied', 'uncopied'],
]

const clips = [
  { name: '720p, 1 minute', length: 'short', size: '720p', seconds: 60 },
  { name: '720p, 1 hour', length: 'long', size: '720p', seconds: 3600 },
  { name: '1080p with noise, 40 s', length: 'short', size: '1080p', seconds: 40, noise: 12 },
  { name: '1080p, 10 minutes', length: 'long', size: '1080p', seconds: 600 },
] as const
/** `uncopied` is a source that could be copied, in a service that copies nothing. */
const variants = [
  { word: 'encoded', kind: 'encoded', settings: {} },
  { word: 'copied', kind: 'copied', settings: {} },
  { word: 'uncopied', kind: 'copied', settings: withoutCopying },
] as const

/** Starts services and makes sources when they are needed for the first time. */
class Setup extends Resources {
  readonly folder: string
  readonly #services = new Map<string, Promise<RunningServer>>()
  readonly #sources = new Map<string, Promise<Source>>()

  constructor(folder: string) {
    super()
    this.folder = folder
  }

  service(settings: Record<string, string>): Promise<RunningServer> {
    const id = JSON.stringify(settings)
    const folder = join(this.folder, `data-${this.#services.size}`)
    return remember(this.#services, id, () => this.server(startKinora(folder, settings)))
  }

  source(recipe: Recipe): Promise<Source> {
    const make = async () => probe(await makeSource(this.folder, recipe))
    return remember(this.#sources, JSON.stringify(recipe), make)
  }
}

function remember<T>(known: Map<string, Promise<T>>, id: string, make: () => Promise<T>): Promise<T> {
  const value = known.get(id) ?? make()
  known.set(id, value)
  return value
}

/** Start of playback, in turn with a bare ffmpeg on an otherwise idle machine. */
async function compareStarts(setup: Setup, kind: Kind): Promise<void> {
  const minute = await setup.source({ kind, size: '720p', seconds: 60 })
  const hour = await setup.source({ kind, size: '720p', seconds: 3600 })
  const kinora = await setup.service({})
  const results: { minute: Observation; hour: Observation; bare: number }[] = []
  for (let round = 0; round < startRounds; round++)
    results.push({
      bare: (await encodeStart(minute.path, setup.folder)).wall,
      minute: await observe(kinora, minute, 'started'),
      hour: await observe(kinora, hour, 'started'),
    })
  const medianOf = (of: (result: (typeof results)[number]) => number) => median(results.map(of))
  const start = medianOf(({ minute }) => minute.startedAt)
  const hourStart = medianOf(({ hour }) => hour.startedAt)
  const hourRatio = medianOf(({ minute, hour }) => hour.startedAt / minute.startedAt)
  const bare = medianOf((result) => result.bare)
  const bareRatio = medianOf(({ minute, bare }) => minute.startedAt / bare)
  printTable(`start of playback after the last byte, 720p, ${kind}`, [
    { measured: '1 minute', kinora: seconds(start, 2), goal: atMost(1, start, ' s') },
    {
      measured: '1 hour, compared with 1 minute',
      kinora: seconds(hourStart, 2),
      reference: seconds(start, 2),
      ratio: hourRatio,
      goal: atMost(1.2, hourRatio),
    },
    {
      measured: 'of that until the upload is confirmed, 1 minute and 1 hour',
      kinora: [medianOf(({ minute }) => minute.flushSeconds), medianOf(({ hour }) => hour.flushSeconds)]
        .map((value) => seconds(value, 2))
        .join(', '),
    },
    {
      measured: '1 minute, compared with an ffmpeg that makes 2 s of 240p',
      kinora: seconds(start, 2),
      reference: seconds(bare, 2),
      ratio: bareRatio,
      goal: atMost(1.3, bareRatio),
    },
  ])
}

async function* listScenarios(setup: Setup, files: string[], words: Words): AsyncGenerator<Scenario> {
  for (const path of files)
    for (const { word, settings } of variants.slice(1))
      if (words.selects(word))
        yield { name: `${basename(path)}, ${word}`, source: await probe(path), settings }
  if (files.length > 0) return
  for (const { name, length, ...clip } of clips)
    for (const { word, kind, settings } of variants) {
      if (!words.selects(clip.size, length, word)) continue
      const source = await setup.source({ kind, ...clip })
      const completeGoal = word === 'copied' && clip.size === '720p' ? 2 : undefined
      yield { name: `${name}, ${word}`, source, settings, completeGoal }
    }
}

export async function encodeStalls(args: string[]): Promise<void> {
  const { files, words: given } = readArguments(args)
  const words = readWords(given, groups)
  await withTemporaryFolder(async (folder) => {
    await using setup = new Setup(folder)
    if (files.length === 0 && (given.length === 0 || words.includes('start')))
      for (const kind of ['encoded', 'copied'] as const)
        if (words.selects(kind)) await compareStarts(setup, kind)
    if (words.includes('start')) return
    const rows: Row[] = []
    for await (const scenario of listScenarios(setup, files, words))
      rows.push(...(await watch(await setup.service(scenario.settings), scenario)))
    printTable('viewers who start as soon as they can', rows)
  })
}
