import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  applyReport,
  type Report,
  type ReportedEvent,
  reportedTypes,
  startViewing,
  type Viewing,
} from './apply-report.ts'
import { addRange, formatRanges, lengthOf, parseRanges, type Ranges } from './ranges.ts'

const start = Date.UTC(2026, 0, 2, 12)

type Loose = Partial<ReportedEvent> & { type: ReportedEvent['type'] }

/** An event a number of seconds after the page was loaded. */
const event = (seconds: number, { type, ...rest }: Loose): ReportedEvent => ({
  type,
  emittedAt: start + seconds * 1_000,
  at: null,
  from: null,
  to: null,
  ...rest,
})

const report = (seconds: number, events: ReportedEvent[]): Report => ({
  sentAt: start + seconds * 1_000,
  loadedAt: start,
  events,
})

/** Applies reports that arrive as soon as they are sent. */
function applyAll(reports: Report[], durationSeconds: number | undefined = 100): Viewing {
  const [first] = reports
  let viewing = startViewing(first!, first!.sentAt)
  for (const each of reports)
    viewing = applyReport(viewing, each, { now: each.sentAt, durationSeconds }).viewing
  return viewing
}

test('progress while playing counts as watched', () => {
  const viewing = applyAll([
    report(1, [event(1, { type: 'ready', at: 0 })]),
    report(11, [event(2, { type: 'play', at: 0 }), event(11, { type: 'progress', at: 9 })]),
    report(14, [event(14, { type: 'pause', at: 12 })]),
    report(60, [event(59, { type: 'progress', at: 50 })]),
  ])
  assert.equal(viewing.watchSeconds, 12)
  assert.deepEqual(viewing.watched, [[0, 12]])
  assert.deepEqual(viewing.parts, [[0, 12]])
  assert.equal(viewing.plays, 1)
  assert.equal(viewing.readyMs, 1_000)
  assert.equal(viewing.position, 50)
})

test('skipped parts do not count as watched, and repeated parts count again', () => {
  const viewing = applyAll([
    report(10, [event(0, { type: 'play', at: 0 }), event(10, { type: 'seek.forward', from: 10, to: 40 })]),
    report(20, [event(20, { type: 'progress', at: 50 })]),
    report(21, [event(20, { type: 'seek.backward', from: 50, to: 45 })]),
    report(30, [event(30, { type: 'end', at: 55 })]),
  ])
  assert.equal(viewing.watchSeconds, 30)
  assert.deepEqual(viewing.watched, [
    [0, 10],
    [40, 55],
  ])
  assert.equal(viewing.ends, 1)
})

test('without positions, a playing video advances at normal speed between reports', () => {
  const viewing = applyAll([
    report(0, [event(0, { type: 'ready', at: 0 })]),
    report(10, [event(4, { type: 'play', at: 0 })]),
    report(20, []),
    report(25, [event(25, { type: 'pause', at: 21 })]),
    report(90, []),
  ])
  const asleep = applyAll(
    [report(0, [event(0, { type: 'play', at: 0 })]), report(10, []), report(7_200, [])],
    9_999,
  )
  assert.equal(asleep.watchSeconds, 100)
  assert.equal(viewing.watchSeconds, 21)
  assert.deepEqual(viewing.watched, [[0, 21]])
})

test('a repeated report counts once, and a late report does not move the position', () => {
  const first = report(10, [event(0, { type: 'play', at: 0 }), event(10, { type: 'progress', at: 10 })])
  const second = report(20, [event(20, { type: 'progress', at: 20 })])
  const last = report(30, [event(30, { type: 'end', at: 30 })])
  const expected = applyAll([first, second, last])
  for (const order of [
    [first, first, second, second, last, last],
    [first, last, second, second],
  ]) {
    let viewing = startViewing(order[0]!, order[0]!.sentAt)
    for (const [i, each] of order.entries())
      viewing = applyReport(viewing, each, { now: each.sentAt + i, durationSeconds: 100 }).viewing
    assert.equal(viewing.watchSeconds, expected.watchSeconds)
    assert.deepEqual(viewing.watched, expected.watched)
    assert.equal(viewing.ends, 1)
    assert.equal(viewing.position, 30)
    assert.equal(viewing.playingSince, null)
  }
})

test('replaying after the end is not another play, reloading is', () => {
  const again = (seconds: number, loaded: number, events: ReportedEvent[]) => ({
    ...report(seconds, events),
    loadedAt: start + loaded * 1_000,
  })
  const played = applyAll([
    report(1, [event(0, { type: 'ready' }), event(1, { type: 'play', at: 0 })]),
    report(9, [event(9, { type: 'end', at: 8 })]),
    report(12, [event(10, { type: 'play', at: 0 })]),
  ])
  assert.equal(played.plays, 1)
  const loaded = applyAll([
    report(1, [event(0, { type: 'ready' }), event(1, { type: 'play', at: 0 })]),
    again(22, 20, [event(21, { type: 'ready' }), event(22, { type: 'play', at: 0 })]),
  ])
  assert.equal(loaded.plays, 2)
  // With autoplay, a video may play before it is ready.
  const early = applyAll([
    { ...report(5, [event(0, { type: 'play', at: 0 }), event(1, { type: 'ready', at: 0 })]), loadedAt: null },
    { ...report(9, [event(9, { type: 'progress', at: 8, isPaused: false })]), loadedAt: null },
  ])
  assert.equal(early.plays, 1)
})

test('a video that plays at the moment of its load is played once', () => {
  const viewing = applyAll([
    report(1, [event(0, { type: 'play', at: 0 }), event(0.5, { type: 'ready', at: 0 })]),
    report(9, [event(8, { type: 'pause', at: 7 }), event(9, { type: 'resume', at: 7 })]),
  ])
  assert.equal(viewing.plays, 1)
})

test('a client clock that is hours off has no effect', () => {
  const right = [
    report(1, [event(1, { type: 'ready', at: 0 })]),
    report(11, [event(1, { type: 'play', at: 0 }), event(11, { type: 'progress', at: 10 })]),
  ]
  const expected = applyAll(right)
  for (const hours of [-30, -2, 2, 100_000]) {
    const off = hours * 3_600_000
    let viewing: Viewing | undefined
    for (const each of right) {
      const shifted = {
        sentAt: each.sentAt + off,
        loadedAt: start + off,
        events: each.events.map((one) => ({ ...one, emittedAt: one.emittedAt + off })),
      }
      viewing ??= startViewing(shifted, each.sentAt)
      viewing = applyReport(viewing, shifted, { now: each.sentAt, durationSeconds: 100 }).viewing
    }
    const { recent: _theirs, ...theirs } = viewing!
    const { recent: _ours, ...ours } = expected
    assert.deepEqual(theirs, ours, `${hours} h`)
  }
})

// --- random reports

/** Pseudo-random numbers that are the same in every run. */
function drawing(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * max)
  }
}

function drawReport(draw: (max: number) => number, now: number): Report {
  const place = () => [null, draw(200) - 50, draw(100) / 7, 1e9, -1e9][draw(5)] ?? null
  const time = () => now + [0, -draw(20_000), draw(200_000), 1e11, -1e11][draw(5)]!
  return {
    sentAt: draw(4) ? now - draw(500) : time(),
    loadedAt: draw(3) ? start : draw(2) ? null : time(),
    events: Array.from({ length: draw(6) }, () => ({
      type: reportedTypes[draw(reportedTypes.length)]!,
      emittedAt: time(),
      at: place(),
      from: place(),
      to: place(),
      ...(draw(2) && { isPaused: draw(2) === 0 }),
    })),
  }
}

function assertValid(ranges: Ranges, max: number, message: string): void {
  let last = -1
  for (const [from, to] of ranges) {
    assert.ok(
      Number.isInteger(from) && Number.isInteger(to) && from > last && to > from && to <= max,
      message,
    )
    last = to
  }
  assert.deepEqual(parseRanges(formatRanges(ranges)), ranges)
}

test('for any reports: bounds hold, counters never shrink, nothing counts twice', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const draw = drawing(seed)
    const durationSeconds = draw(3) ? 20 + draw(100) : undefined
    let now = start
    let viewing: Viewing | undefined
    for (let i = 0; i < 20; i++) {
      now += draw(12_000)
      const sent = drawReport(draw, now)
      viewing ??= startViewing(sent, now)
      const before: Viewing = viewing
      const { viewing: next, events } = applyReport(before, sent, { now, durationSeconds })
      const message = `seed ${seed}, report ${i}`
      assert.ok(next.watchSeconds >= before.watchSeconds, message)
      assert.ok(next.watchSeconds <= ((now - next.loadedAt) / 1_000) * 4 + 1e-6, message)
      assert.ok(next.plays - before.plays <= sent.events.length && next.plays >= before.plays, message)
      assert.ok(lengthOf(next.watched) >= lengthOf(before.watched), message)
      assert.ok(
        next.position === null || (next.position >= 0 && next.position <= (durationSeconds ?? 1e6)),
        message,
      )
      assertValid(next.watched, Math.ceil(durationSeconds ?? 1e6), message)
      assertValid(next.parts, 100, message)
      assert.ok(next.recent.length <= 64 + sent.events.length, message)
      for (const each of events) {
        assert.ok(each.emittedAt >= next.loadedAt && each.emittedAt <= now + 60_000, message)
        for (const at of [each.at, each.from, each.to])
          assert.ok(at === null || (at >= 0 && at <= (durationSeconds ?? 1e6)), message)
      }
      const again = applyReport(next, sent, { now, durationSeconds })
      assert.deepEqual(again.events, [], `${message}, again`)
      assert.deepEqual(
        [again.viewing.plays, again.viewing.ends],
        [next.plays, next.ends],
        `${message}, again`,
      )
      viewing = next
    }
  }
})

test('adjacent ranges join, and ranges stay sorted', () => {
  let ranges: Ranges = []
  for (const [from, to] of [
    [10, 20],
    [0, 5],
    [30, 40],
    [5, 10],
    [7, 7],
    [35, 50],
  ] as const)
    ranges = addRange(ranges, from, to)
  assert.deepEqual(ranges, [
    [0, 20],
    [30, 50],
  ])
  for (let i = 100; i < 10_000; i += 2) ranges = addRange(ranges, i, i + 1)
  assert.ok(ranges.length <= 1_000)
})
