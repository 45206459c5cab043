import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSegments, makeGrid, secondsOf, segmentOf, segmentsOf } from '../media/grid.ts'
import { ladderOf } from '../media/ladder.ts'
import {
  chooseWork,
  isCopiedQuality,
  listWork,
  overheadSeconds,
  priorityOf,
  type WaitingChunk,
  workOf,
} from './schedule.ts'
import { EncodingSpeed } from './speed.ts'
import type { EncodingPlan } from './tables.ts'

const rate = { num: 30, den: 1 }

function planOf(size: { width: number; height: number }, seconds: number): EncodingPlan {
  const rungs = ladderOf(size, rate)
  return {
    ...{ key: 'source', offsetSeconds: 0, ...makeGrid(rate, seconds), rungs },
    ...{ hasSound: true, isWatermarked: false },
  }
}

const hd = { width: 1280, height: 720 }
const fullHd = { width: 1920, height: 1080 }

type Machine = { slots: number; secondsPerWork: number }
type Piece = { renditions: string[]; segment: number; at: number }

/** Encodes a video in virtual time. Decoding starts at a key frame, up to 8 s before a chunk. */
function simulate(plan: EncodingPlan, machine: Machine) {
  const { width, height } = plan.rungs.at(-1)!
  const sourcePixels = width * height
  const speed = new EncodingSpeed()
  let waiting: WaitingChunk[] = listWork(plan).map((chunk, id) => ({ ...chunk, id, failures: 0, losses: 0 }))
  const slots = Array.from({ length: machine.slots }, () => ({ free: 0, done: () => {} }))
  const pieces: Piece[] = []
  const chunks: string[] = []
  let [work, lastId] = [0, 100]
  while (waiting.length > 0) {
    const slot = slots.reduce((a, b) => (b.free < a.free ? b : a))
    slot.done()
    const now = slot.free
    const { from, firstSegment, segments } = chooseWork({
      ...{ plan, sourcePixels, waiting, elapsedSeconds: now, slots: machine.slots },
      secondsPerWork: speed.secondsPerWork('video'),
    })
    const qualities = from.flatMap((chunk) => chunk.qualities)
    waiting = waiting.flatMap((chunk) => {
      if (!from.includes(chunk)) return [chunk]
      const end = firstSegment + segments
      const before = { ...chunk, segments: firstSegment - chunk.first_segment }
      const after = {
        ...chunk,
        id: ++lastId,
        first_segment: end,
        segments: chunk.first_segment + chunk.segments - end,
      }
      assert.ok(segments > 0 && before.segments >= 0 && after.segments >= 0)
      return [before, after].filter((rest) => rest.segments > 0)
    })
    const list = segmentsOf(plan, { firstSegment, segments })
    const isVideo = from[0]!.track === 'picture' && !isCopiedQuality(plan, qualities[0])
    const skipped = ((list[0]!.fromFrame % 240) * 0.3 * sourcePixels) / 1e6
    const units = (frames: number) => workOf(plan, sourcePixels, { qualities, frames })
    const total = list.reduce((sum, { frames }) => sum + frames, 0)
    const timeOf = (frames: number) =>
      overheadSeconds +
      (isVideo ? machine.secondsPerWork * (units(frames) + skipped) : secondsOf(plan, frames) / 60)
    let frames = 0
    for (const { index, frames: own } of list) {
      frames += own
      pieces.push({
        renditions: isVideo || qualities.length ? qualities : ['sound'],
        segment: index,
        at: now + timeOf(frames),
      })
    }
    if (isVideo) work += units(total)
    slot.free = now + timeOf(total)
    slot.done = () => isVideo && speed.record('video', { seconds: timeOf(total), work: units(total) })
    chunks.push(
      `${now.toFixed(1)} s: ${qualities.join('+') || 'audio'} ${firstSegment}-${firstSegment + segments - 1}`,
    )
  }
  const all = plan.rungs.map(({ quality }) => quality)
  const once = workOf(plan, sourcePixels, { qualities: all, frames: plan.frames })
  return { pieces, chunks, end: Math.max(...slots.map(({ free }) => free)), workRatio: work / once }
}

/** The seconds of a rendition that are encoded without a gap, over time. */
function growthOf(plan: EncodingPlan, pieces: Piece[], rendition: string) {
  const times = new Map(
    pieces.filter(({ renditions }) => renditions.includes(rendition)).map(({ segment, at }) => [segment, at]),
  )
  let latest = 0
  return Array.from({ length: countSegments(plan) }, (_, segment) => {
    latest = Math.max(latest, times.get(segment) ?? Number.POSITIVE_INFINITY)
    return { at: latest, from: secondsOf(plan, segmentOf(plan, segment).fromFrame) }
  })
}

/** When a viewer can start, and how long that viewer has to wait later on, in total. */
function watch(plan: EncodingPlan, pieces: Piece[], renditions: string[]) {
  const video = renditions.map((rendition) => growthOf(plan, pieces, rendition))
  const audio = growthOf(plan, pieces, 'sound')
  let [start, delay] = [0, 0]
  for (const [i, { from, at: audioAt }] of audio.entries()) {
    const at = Math.max(audioAt, Math.min(...video.map((growth) => growth[i]!.at)))
    if (i === 0) start = at
    else delay = Math.max(delay, at - start - from)
  }
  return { start, stall: delay }
}

/** The real time factor of the whole ladder. */
function machineOf(plan: EncodingPlan, factor: number, slots = 2): Machine {
  const { width, height } = plan.rungs.at(-1)!
  const qualities = plan.rungs.map(({ quality }) => quality)
  const perSecond = workOf(plan, width * height, { qualities, frames: 30 })
  return { slots, secondsPerWork: slots / (factor * perSecond) }
}

const qualitiesOf = (plan: EncodingPlan) => plan.rungs.map(({ quality }) => quality)

test('nobody waits who watches a video as soon as it is playable', (t) => {
  for (const size of [hd, fullHd])
    for (const seconds of [14, 40, 60, 600])
      for (const factor of [0.6, 0.8, 1, 1.3, 1.75, 3]) {
        const plan = planOf(size, seconds)
        const { pieces, chunks, workRatio } = simulate(plan, machineOf(plan, factor))
        const { start, stall } = watch(plan, pieces, qualitiesOf(plan))
        const name = `${seconds} s of ${size.height}p, all qualities at ${factor} times real time`
        const work = `${workRatio.toFixed(2)} of the work of one run`
        t.diagnostic(`${name}: starts after ${start.toFixed(1)} s, ${work}`)
        assert.equal(stall, 0, `${name}\n${chunks.join('\n')}`)
      }
})

test('on a fast machine, the lowest quality runs ahead only for a short time, since it costs another decoding', () => {
  for (const [seconds, most] of [
    [60, 1.08],
    [600, 1.011],
    [3_600, 1.002],
  ] as const)
    for (const factor of [1.3, 1.75, 3]) {
      const plan = planOf(hd, seconds)
      const { workRatio } = simulate(plan, machineOf(plan, factor))
      assert.ok(workRatio < most, `${seconds} s at ${factor}: ${workRatio}`)
    }
})

test('on a slow machine, the qualities that can keep up with the viewer come before the others', () => {
  const plan = planOf(hd, 600)
  const { pieces } = simulate(plan, machineOf(plan, 0.9))
  const half = Math.floor(countSegments(plan) / 2)
  const [lowest, , medium, top] = qualitiesOf(plan).map(
    (quality) => growthOf(plan, pieces, quality)[half]!.at,
  )
  assert.ok(lowest! < 300 && medium! < 330 && top! > 400, `${lowest}, ${medium}, ${top}`)
})

test('nothing is encoded twice, and everything is encoded', () => {
  for (const factor of [0.2, 0.7, 1.2, 10])
    for (const slots of [1, 2, 7]) {
      const plan = planOf(fullHd, 123)
      const { pieces } = simulate(plan, machineOf(plan, factor, slots))
      for (const rendition of [...qualitiesOf(plan), 'sound']) {
        const found = pieces
          .filter(({ renditions }) => renditions.includes(rendition))
          .map(({ segment }) => segment)
        assert.deepEqual(
          found.sort((a, b) => a - b),
          Array.from({ length: countSegments(plan) }, (_, i) => i),
        )
      }
    }
})

const situation = (plan: EncodingPlan, waiting: WaitingChunk[]) => ({
  ...{ plan, waiting, sourcePixels: 1280 * 720, elapsedSeconds: 0, secondsPerWork: 0.02, slots: 2 },
})
const waitingOf = (plan: EncodingPlan): WaitingChunk[] =>
  listWork(plan).map((chunk, id) => ({ ...chunk, id, failures: 0, losses: 0 }))

test('a copied quality comes first, in large chunks', () => {
  const plan = { ...planOf(hd, 600), copiesVideo: true as const }
  const { from, segments } = chooseWork(situation(plan, waitingOf(plan)))
  assert.deepEqual(from[0]!.qualities, ['720p'])
  assert.ok(segments >= 10)
})

test('a chunk that has failed is encoded again as it is', () => {
  const plan = planOf(hd, 600)
  const failed = { track: 'picture', qualities: ['360p'], first_segment: 7, segments: 3 } as const
  const again = { ...failed, qualities: ['360p'], id: 99, failures: 1, losses: 0 }
  assert.deepEqual(chooseWork(situation(plan, [...waitingOf(plan), again])), {
    ...{ from: [again], firstSegment: 7, segments: 3, decoding: 'full' },
  })
})

test('the starts of all videos come before the middle of any', () => {
  const plan = planOf(hd, 600)
  const priority = (track: 'picture' | 'sound', qualities: string[], first_segment: number) =>
    priorityOf(plan, { track, qualities, first_segment })
  assert.ok(priority('picture', ['240p'], 0) < priority('picture', ['240p'], 3))
  assert.ok(priority('picture', ['240p'], 4) < priority('picture', ['720p'], 0))
  assert.ok(priority('picture', ['720p'], 0) < priority('picture', ['240p'], 20))
  assert.equal(priority('sound', [], 9), priority('picture', ['240p'], 9))
})
