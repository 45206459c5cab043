import { addRange, type Ranges } from './ranges.ts'

/** Those of reports, and `seek` and `source`, which the second format of reports has in their place. */
export const reportedTypes = [
  'ready',
  'play',
  'resume',
  'progress',
  'pause',
  'seek.forward',
  'seek.backward',
  'seek',
  'end',
  'error',
  'source',
] as const
export type ReportedType = (typeof reportedTypes)[number]

/** Times are milliseconds by the clock of whoever sends, positions seconds of the video. */
export type ReportedEvent = {
  type: ReportedType
  emittedAt: number
  at: number | null
  from: number | null
  to: number | null
  /** Where it is said, whether the video stands still. */
  isPaused?: boolean
}

export type Report = { sentAt: number; loadedAt: number | null; events: ReportedEvent[] }

/** What is kept of an event, by the server's clock. */
export type ViewingEvent = {
  type: string
  emittedAt: number
  at: number | null
  from: number | null
  to: number | null
}

export type Viewing = {
  loadedAt: number
  seenAt: number
  readyMs: number | null
  plays: number
  firstPlayedAt: number | null
  ends: number
  watchSeconds: number
  position: number | null
  /** While it plays: when it was at the position. */
  playingSince: number | null
  awaitsPlay: boolean
  eventAt: number
  watched: Ranges
  parts: Ranges
  recent: readonly number[]
}

/** A clock that differs by more than this is wrong; less may be the way here, and reports overtake each other. */
const clockToleranceMs = 5_000
const farthestAheadMs = 60_000
const longestBackMs = 24 * 3_600_000
const longestLoadMs = 60_000
/** Playback is at most so many times as fast as time. */
const fastest = 4
/** Times and positions are not taken in the same instant. */
const slackSeconds = 2
/** Without a length, positions end somewhere all the same: eleven days. */
const farthest = 1e6
const remembered = 64
/** Players report every ten seconds, those in hidden tabs once a minute; longer, and the machine slept. */
const longestSilenceMs = 90_000
const longestReadyMs = 600_000

/** When a viewing of which the first report has come was loaded: its clock may be wrong, its differences are not. */
export function startViewing(report: Report, now: number): Viewing {
  const earliest = Math.min(
    report.loadedAt ?? report.sentAt,
    ...report.events.map(({ emittedAt }) => emittedAt),
  )
  const loadedAt = now - clamp(report.sentAt - earliest, 0, longestLoadMs)
  return {
    ...{ loadedAt, seenAt: loadedAt, readyMs: null, plays: 0, firstPlayedAt: null, ends: 0, watchSeconds: 0 },
    ...{ position: null, playingSince: null, awaitsPlay: true, eventAt: loadedAt },
    ...{ watched: [], parts: [], recent: [] },
  }
}

/**
 * What a report makes of a viewing. Whatever it claims, a viewing gains at most four seconds of watching in a second
 * of time since it was loaded; events that were counted before are not counted again; older ones than the latest
 * are noted, but move nothing.
 */
export function follow(
  before: Viewing,
  report: Report,
  { now, durationSeconds }: { now: number; durationSeconds: number | undefined },
): { viewing: Viewing; events: ViewingEvent[] } {
  const state = { ...before }
  const skew = now - report.sentAt
  const correction = Math.abs(skew) > clockToleranceMs ? skew : 0
  const serverTime = (time: number) =>
    Math.round(clamp(time + correction, Math.max(state.loadedAt, now - longestBackMs), now + farthestAheadMs))
  const place = (at: number | null) => (at === null ? null : clamp(at, 0, durationSeconds ?? farthest))

  const seen = new Set(state.recent)
  const fresh: number[] = []
  const events: ViewingEvent[] = []
  for (const event of report.events.toSorted((a, b) => a.emittedAt - b.emittedAt)) {
    const mark = markOf(event)
    if (seen.has(mark)) continue
    seen.add(mark)
    fresh.push(mark)
    const time = serverTime(event.emittedAt)
    const known = { at: place(event.at), from: place(event.from), to: place(event.to) }
    const wasAt = state.position
    const isAnew =
      event.type === 'ready' && report.loadedAt !== null && serverTime(report.loadedAt) >= state.eventAt
    count(event, time, isAnew)
    if (time >= state.eventAt) move({ ...event, ...known }, time, isAnew)
    const noted = note(event.type, known, wasAt)
    if (noted) events.push({ emittedAt: time, ...noted })
  }
  // A report that tells no position, of something that plays: it plays on, unless it was silent for too long.
  const hasProgress = report.events.some(({ type }) => type === 'progress')
  if (!hasProgress && state.playingSince !== null && state.position !== null) {
    const time = serverTime(report.sentAt)
    const sinceReport = now - Math.max(before.seenAt, state.playingSince)
    const elapsed = Math.min(time - state.playingSince, sinceReport, longestSilenceMs)
    if (elapsed > 0) reach(place(state.position + elapsed / 1_000)!, time)
  }
  if (fresh.length > 0) state.recent = [...state.recent, ...fresh].slice(-Math.max(remembered, fresh.length))
  state.seenAt = Math.max(state.seenAt, now)
  return { viewing: state, events }

  /** Loaded anew it is another play, played again after its end it is not. */
  function count(event: ReportedEvent, time: number, isAnew: boolean): void {
    if (event.type === 'ready') {
      if (isAnew) state.awaitsPlay = true
      if (state.readyMs === null && report.loadedAt !== null)
        state.readyMs = Math.round(clamp(event.emittedAt - report.loadedAt, 0, longestReadyMs))
    } else if (event.type === 'end') {
      state.ends++
    } else if (isStart(event) && state.awaitsPlay) {
      state.awaitsPlay = false
      state.plays++
      state.firstPlayedAt = Math.min(state.firstPlayedAt ?? time, time)
    }
  }

  function move({ type, at, from, to, isPaused }: ReportedEvent, time: number, isAnew: boolean): void {
    state.eventAt = time
    switch (type) {
      case 'ready':
        // A video that starts by itself may play before it says that it is ready.
        if (state.playingSince !== null && !isAnew) break
        state.playingSince = null
        state.position = at
        break
      case 'source':
        state.playingSince = null
        state.position = at
        break
      case 'play':
      case 'resume':
        state.position = at ?? state.position ?? 0
        state.playingSince = time
        break
      case 'progress':
        if (at === null) break
        reach(at, time)
        state.playingSince = isPaused ? null : time
        break
      case 'pause':
      case 'end':
        if (at !== null) reach(at, time)
        state.playingSince = null
        break
      case 'seek':
      case 'seek.forward':
      case 'seek.backward':
        if (from !== null) reach(from, time)
        state.position = to ?? at ?? state.position
        if (state.playingSince !== null) state.playingSince = time
        break
    }
  }

  /** The video has come to be there: by playing, if it played and can have got so far. */
  function reach(at: number, time: number): void {
    const { position, playingSince } = state
    state.position = at
    if (playingSince === null || position === null) return
    state.playingSince = time
    const gained = at - position
    if (gained > ((time - playingSince) / 1_000) * fastest + slackSeconds) return
    const most = ((now - state.loadedAt) / 1_000) * fastest - state.watchSeconds
    const watched = Math.min(gained, most)
    if (watched <= 0) return
    state.watchSeconds += watched
    // Rounded, so that what is watched in pieces adds up to what is watched in one.
    state.watched = addRange(state.watched, Math.round(position), Math.round(position + watched))
    if (durationSeconds !== undefined && durationSeconds > 0) {
      const part = (seconds: number) => Math.min(100, Math.round((seconds / durationSeconds) * 100))
      state.parts = addRange(state.parts, part(position), part(position + watched))
    }
  }
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max)

const isStart = ({ type, isPaused }: ReportedEvent) =>
  type === 'play' || type === 'resume' || (type === 'progress' && isPaused === false)

/** In the words that readers know. */
function note(
  type: ReportedType,
  known: Pick<ViewingEvent, 'at' | 'from' | 'to'>,
  wasAt: number | null,
): Omit<ViewingEvent, 'emittedAt'> | undefined {
  if (type === 'source') return undefined
  if (type !== 'seek') return { type, ...known }
  const [from, to] = [wasAt ?? known.at ?? 0, known.at ?? 0]
  return { type: from <= to ? 'seek.forward' : 'seek.backward', at: null, from, to }
}

/** By which an event is known again: 32 bits, few enough to be kept and enough to tell a few hundred apart. */
function markOf({ type, emittedAt, at, from, to }: ReportedEvent): number {
  const text = `${type} ${emittedAt} ${at} ${from} ${to}`
  let mark = 0x811c9dc5
  for (let i = 0; i < text.length; i++) mark = Math.imul(mark ^ text.charCodeAt(i), 0x01000193)
  return mark | 0
}
