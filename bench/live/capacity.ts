import { setTimeout as delay } from 'node:timers/promises'
import { percentile, Resources, withTemporaryFolder } from '../servers.ts'
import type { Row } from '../table.ts'
import { frameRate, makeClip } from './clip.ts'
import type { Encoders } from './encoders.ts'
import { nextReload, partAfter, readParts } from './playlist.ts'
import { type LiveService, type LiveStream, playlistUrl, startLive } from './service.ts'

/** A broadcast is behind if its parts arrive later than this, which is the length of a part. */
const maxLateMs = 500
const holdMs = 10_000
/** Of the broadcasts that were added last, this many are watched. */
const watched = 4

const passedThroughSteps = [10, 20, 30, 40, 60, 80, 100, 150, 200]
const maxLadders = 8
const ladder = ['source', '480p', '360p', '240p']

/** How many broadcasts the machine holds together with the encoders that send them, without falling behind. */
export async function capacity(): Promise<Row[]> {
  const ladders = await inService('720p', holdLadders)
  const passedThrough = await inService('240p', holdPassedThrough)
  const most = passedThroughSteps.at(-1)!
  return [
    { measured: 'broadcasts at once, passed through', kinora: countOf(passedThrough, most) },
    { measured: 'broadcasts at once, 720p with 480p, 360p and 240p', kinora: countOf(ladders, maxLadders) },
  ]
}

const countOf = (count: number, most: number) => (count >= most ? `${most} or more` : String(count))

type Hold = (service: LiveService, clip: string, encoders: Encoders[]) => Promise<number>

async function inService(size: '720p' | '240p', hold: Hold): Promise<number> {
  let held = 0
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const clip = await makeClip(folder, size)
    const service = await startLive(resources, folder)
    const encoders: Encoders[] = []
    resources.add(() => Promise.all(encoders.map((each) => each.stop())))
    held = await hold(service, clip, encoders)
  })
  return held
}

/** Adds broadcasts until their parts arrive late. */
async function holdPassedThrough(service: LiveService, clip: string, encoders: Encoders[]): Promise<number> {
  let held = 0
  for (const count of passedThroughSteps) {
    const streams = await service.createStreams(count - held)
    const added = await service.broadcast(streams, clip).catch(() => undefined)
    if (!added) {
      console.log(`  ${count} passed through: the encoders could not connect in time`)
      break
    }
    encoders.push(added)
    const late = await latenessOf(service, streams, added)
    console.log(`  ${count} passed through: parts ${Math.round(late)} ms late (p95)`)
    if (late > maxLateMs) break
    held = count
  }
  return held
}

/** Adds broadcasts until one of them has fewer qualities, or until parts of the lowest quality arrive late. */
async function holdLadders(service: LiveService, clip: string, encoders: Encoders[]): Promise<number> {
  const streams: LiveStream[] = []
  while (streams.length < maxLadders) {
    const added = await service.createStreams(1)
    streams.push(...added)
    encoders.push(await service.broadcast(added, clip))
    if (!(await untilLaddersAreComplete(service, streams))) return streams.length - 1
    await delay(holdMs)
    const qualities = await Promise.all(streams.map((stream) => qualitiesOf(service, stream)))
    console.log(
      `  ${streams.length} with ladders: ${qualities.map((each) => each.length).join(', ')} qualities`,
    )
    if (qualities.some((each) => each.length < ladder.length)) return streams.length - 1
  }
  return streams.length
}

async function untilLaddersAreComplete(service: LiveService, streams: LiveStream[]): Promise<boolean> {
  for (let tries = 0; tries < 20; tries++) {
    const qualities = await Promise.all(streams.map((stream) => qualitiesOf(service, stream)))
    if (qualities.every((each) => ladder.every((quality) => each.includes(quality)))) return true
    await delay(500)
  }
  return false
}

async function qualitiesOf({ call }: LiveService, { liveStreamId }: LiveStream): Promise<string[]> {
  type Broadcasts = { data: { qualities: string[] }[] }
  const { data } = await call<Broadcasts>('GET', `/live-streams/${liveStreamId}/broadcasts`)
  return data[0]?.qualities ?? []
}

/** How long after the encoders should have sent them the parts can be loaded, p95. */
async function latenessOf(service: LiveService, streams: LiveStream[], encoders: Encoders): Promise<number> {
  const late = streams
    .slice(0, watched)
    .map(async (stream, i) => watchParts(await playlistUrl(service.url, stream), encoders.starts[i]!.startMs))
  return percentile((await Promise.all(late)).flat(), 0.95)
}

async function watchParts(playlist: string, startMs: number): Promise<number[]> {
  const late: number[] = []
  const reload = async (query: string) => (await fetch(playlist + query)).text()
  let known = await reload('')
  for (const until = Date.now() + holdMs; Date.now() < until; ) {
    const next = await reload(nextReload(known))
    const awaited = partAfter(readParts(next), readParts(known).at(-1)!)
    if (awaited) late.push(Date.now() - startMs - (awaited.endFrame * 1000) / frameRate)
    known = next
  }
  return late
}
