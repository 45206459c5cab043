import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSegments, makeGrid, secondsOf, segmentOf, segmentsOf } from '../../media/grid.ts'
import { ladderOf } from '../../media/ladder.ts'
import type { EncodingPlan } from '../tables.ts'
import {
  chooseWork,
  isCopiedQuality,
  listWork,
  overheadSeconds,
  partialPriority,
  priorityOf,
  type WaitingChunk,
  workOf,
} from './schedule.ts'
import { EncodingSpeed } from './speed.ts'

const rate = { num: 30, den: 1 }

function planOf(size: { width: number; height: number }, seconds: number): EncodingPlan {
  const rungs = ladderOf(size, rate)
  return {
    key: 'source',
    offsetSeconds: 0,
    ...makeGrid(rate, seconds),
    rungs,
    hasSound: true,
    isWatermarked: false,
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
  let [work, lastId, startAt] = [0, 100, 0]
  while (waiting.length > 0) {
    const slot = slots.reduce((a, b) => (b.free < a.free ? b : a))
    slot.done()
    const now = slot.free
    const choice = chooseWork({
      ...{
        plan,
        sourcePixels,
        waiting,
        elapsedSeconds: now,
        slots: machine.slots,
        isStarting: now < startAt,
      },
      secondsPerWork: speed.secondsPerWork('video'),
    })
    if (!choice) {
      slot.free = Math.min(startAt, now + 0.1)
      continue
    }
    const { from, firstSegment, segments } = choice
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
    // Without what the schedule expects to be decoded before it.
    const once = (segments: number) =>
      workOf(plan, sourcePixels, { qualities, firstSegment, segments }) -
      workOf(plan, sourcePixels, { qualities, firstSegment, segments: 0 })
    const skipped = ((list[0]!.fromFrame % 240) * 0.3 * sourcePixels) / 1e6
    const timeOf = (segments: number) => {
      const frames = list.slice(0, segments).reduce((sum, segment) => sum + segment.frames, 0)
      const seconds = isVideo
        ? machine.secondsPerWork * (once(segments) + skipped)
        : secondsOf(plan, frames) / 60
      return overheadSeconds + seconds
    }
    for (const [i, { index }] of list.entries())
      pieces.push({
        renditions: isVideo || qualities.length ? qualities : ['sound'],
        segment: index,
        at: now + timeOf(i + 1),
      })
    if (isVideo && firstSegment === 0 && qualities.includes(plan.rungs[0]!.quality)) startAt = now + timeOf(1)
    if (isVideo) work += once(segments)
    slot.free = now + timeOf(segments)
    const expected = workOf(plan, sourcePixels, { qualities, firstSegment, segments })
    slot.done = () => isVideo && speed.record('video', { seconds: timeOf(segments), work: expected })
    chunks.push(
      `${now.toFixed(1)} s: ${qualities.join('+') || 'audio'} ${firstSegment}-${firstSegment + segments - 1}`,
    )
  }
  const all = plan.rungs.map(({ quality }) => quality)
  const least = workOf(plan, sourcePixels, { qualities: all, firstSegment: 0, segments: countSegments(plan) })
  return { pieces, chunks, end: Math.max(...slots.map(({ free }) => free)), workRatio: work / least }
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
  const perSecond = workOf(plan, width * height, { qualities, firstSegment: 0, segments: 1 })
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

test('segments of a single quality are encoded in chunks, as those of several are', () => {
  const plan = planOf({ width: 426, height: 240 }, 600)
  assert.equal(plan.rungs.length, 1)
  const { chunks } = simulate(plan, machineOf(plan, 10))
  const video = chunks.filter((chunk) => chunk.includes('240p'))
  assert.ok(video.length <= Math.ceil(countSegments(plan) / 4), video.join('\n'))
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
  plan,
  waiting,
  sourcePixels: 1280 * 720,
  elapsedSeconds: 0,
  isStarting: false,
  secondsPerWork: 0.02,
  slots: 2,
})
const waitingOf = (plan: EncodingPlan): WaitingChunk[] =>
  listWork(plan).map((chunk, id) => ({ ...chunk, id, failures: 0, losses: 0 }))

test('other video waits for the first segment, but not for long, and audio does not', () => {
  const plan = planOf(hd, 600)
  const rest = waitingOf(plan).map((chunk) =>
    chunk.qualities[0] === '240p' ? { ...chunk, first_segment: 1, segments: chunk.segments - 1 } : chunk,
  )
  const video = rest.filter(({ track }) => track === 'picture')
  const starting = { ...situation(plan, video), isStarting: true }
  assert.equal(chooseWork({ ...starting, elapsedSeconds: 0.3 }), undefined)
  assert.deepEqual(chooseWork({ ...starting, elapsedSeconds: 5 })?.from[0]?.qualities, ['240p'])
  assert.equal(chooseWork({ ...starting, waiting: rest })?.from[0]?.track, 'sound')
})

test('a copied quality comes first, in large chunks', () => {
  const plan = { ...planOf(hd, 600), copiesVideo: true as const }
  const { from, segments } = chooseWork(situation(plan, waitingOf(plan)))!
  assert.deepEqual(from[0]!.qualities, ['720p'])
  assert.ok(segments >= 10)
})

test('a chunk that has failed is encoded again as it is', () => {
  const plan = planOf(hd, 600)
  const failed = { track: 'picture', qualities: ['360p'], first_segment: 7, segments: 3 } as const
  const again = { ...failed, qualities: ['360p'], id: 99, failures: 1, losses: 0 }
  assert.deepEqual(chooseWork(situation(plan, [...waitingOf(plan), again])), {
    from: [again],
    firstSegment: 7,
    segments: 3,
    decoding: 'full',
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

test('videos whose source still arrives come after all others', () => {
  const plan = planOf(hd, 86_400 * 7)
  const partial = {
    ...planOf(hd, 10),
    partial: {
      isPlayable: true,
      handle: '',
      ranges: [],
      isRead: true,
      bytes: null,
      totalSeconds: null,
      share: 1,
    },
  }
  const last = countSegments(plan) - 1
  const first = Math.min(...listWork(partial).map(({ priority }) => priority))
  const most = priorityOf(plan, { track: 'picture', qualities: ['720p'], first_segment: last })
  assert.ok(most < partialPriority && partialPriority <= first && first < 2 ** 31)
})
