import { addRange, type Ranges } from './ranges.ts'

/** `seek` and `source` occur only in the short report format. */
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

/** Times are milliseconds on the client's clock. Positions are seconds from the start of the video. */
export type ReportedEvent = {
  type: ReportedType
  emittedAt: number
  at: number | null
  from: number | null
  to: number | null
  /** Undefined if the report does not say whether the video is paused. */
  isPaused?: boolean
}

export type Report = { sentAt: number; loadedAt: number | null; events: ReportedEvent[] }

/** An event as it is stored, with times on the server's clock. */
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
  /** While the video plays: the time at which it was at `position`. */
  playingSince: number | null
  awaitsPlay: boolean
  eventAt: number
  watched: Ranges
  parts: Ranges
  /** Fingerprints of the latest events. */
  recent: readonly number[]
}

/** A larger difference means a wrong clock. A smaller one may be network delay, or reports that arrive out of order. */
const clockToleranceMs = 5_000
const maxAheadMs = 60_000
const maxBackMs = 24 * 3_600_000
const maxLoadMs = 60_000
/** The highest playback rate that is counted. */
const maxPlaybackRate = 4
/** Allowed difference between times and positions, which clients do not read in the same instant. */
const slackSeconds = 2
/** The highest position of a video whose duration is unknown: eleven days. */
const maxPosition = 1e6
const maxRecent = 64
/** Players report every ten seconds, and once a minute in hidden tabs. After a longer silence the device was asleep. */
const maxSilenceMs = 90_000
const maxReadyMs = 600_000

/** Starts a viewing with its first report. The client's clock may be wrong, but its differences are right. */
export function startViewing(report: Report, now: number): Viewing {
  const earliest = Math.min(
    report.loadedAt ?? report.sentAt,
    ...report.events.map(({ emittedAt }) => emittedAt),
  )
  const loadedAt = now - clamp(report.sentAt - earliest, 0, maxLoadMs)
  return {
    loadedAt,
    seenAt: loadedAt,
    readyMs: null,
    plays: 0,
    firstPlayedAt: null,
    ends: 0,
    watchSeconds: 0,
    position: null,
    playingSince: null,
    awaitsPlay: true,
    eventAt: loadedAt,
    watched: [],
    parts: [],
    recent: [],
  }
}

/** The facts that every event of one report needs. */
type ReportScope = {
  now: number
  loadedAt: number
  durationSeconds: number | undefined
  clockCorrectionMs: number
}

const serverTime = (time: number, { now, loadedAt, clockCorrectionMs }: ReportScope) =>
  Math.round(clamp(time + clockCorrectionMs, Math.max(loadedAt, now - maxBackMs), now + maxAheadMs))

const validPosition = (at: number, { durationSeconds }: ReportScope) =>
  clamp(at, 0, durationSeconds ?? maxPosition)

/**
 * Applies a report to a viewing. Clients are not trusted: a viewing gains at most four watched seconds per second since
 * it was loaded. Events that were counted before are ignored. Events older than the latest one are stored, but do not
 * move the position.
 */
export function applyReport(
  before: Viewing,
  report: Report,
  { now, durationSeconds }: { now: number; durationSeconds: number | undefined },
): { viewing: Viewing; events: ViewingEvent[] } {
  const skewMs = now - report.sentAt
  const clockCorrectionMs = Math.abs(skewMs) > clockToleranceMs ? skewMs : 0
  const scope = { now, loadedAt: before.loadedAt, durationSeconds, clockCorrectionMs }
  const seen = new Set(before.recent)
  const fresh: number[] = []
  const events: ViewingEvent[] = []
  let viewing = before
  for (const reported of report.events.toSorted((a, b) => a.emittedAt - b.emittedAt)) {
    const fingerprint = fingerprintOf(reported)
    if (seen.has(fingerprint)) continue
    seen.add(fingerprint)
    fresh.push(fingerprint)
    const time = serverTime(reported.emittedAt, scope)
    const event = withValidPositions(reported, scope)
    const stored = storedEvent(event, viewing.position)
    if (stored) events.push({ emittedAt: time, ...stored })
    const isReload =
      event.type === 'ready' &&
      report.loadedAt !== null &&
      // With autoplay, the first play may be in the millisecond of the load.
      serverTime(report.loadedAt, scope) > viewing.eventAt
    viewing = countEvent(viewing, event, { time, isReload, loadedAt: report.loadedAt })
    if (time >= viewing.eventAt) viewing = movePosition(viewing, event, { ...scope, time, isReload })
  }
  viewing = playOn(viewing, report, before.seenAt, scope)
  const recent =
    fresh.length > 0
      ? [...viewing.recent, ...fresh].slice(-Math.max(maxRecent, fresh.length))
      : viewing.recent
  return { viewing: { ...viewing, recent, seenAt: Math.max(viewing.seenAt, now) }, events }
}

function withValidPositions(event: ReportedEvent, scope: ReportScope): ReportedEvent {
  const valid = (at: number | null) => (at === null ? null : validPosition(at, scope))
  return { ...event, at: valid(event.at), from: valid(event.from), to: valid(event.to) }
}

/** Playing after a reload counts as another play. Playing again after the end does not. */
function countEvent(
  viewing: Viewing,
  event: ReportedEvent,
  { time, isReload, loadedAt }: { time: number; isReload: boolean; loadedAt: number | null },
): Viewing {
  if (event.type === 'ready') {
    const isFirst = viewing.readyMs === null && loadedAt !== null
    return {
      ...viewing,
      awaitsPlay: viewing.awaitsPlay || isReload,
      readyMs: isFirst ? Math.round(clamp(event.emittedAt - loadedAt, 0, maxReadyMs)) : viewing.readyMs,
    }
  }
  if (event.type === 'end') return { ...viewing, ends: viewing.ends + 1 }
  if (!isStart(event) || !viewing.awaitsPlay) return viewing
  return {
    ...viewing,
    awaitsPlay: false,
    plays: viewing.plays + 1,
    firstPlayedAt: Math.min(viewing.firstPlayedAt ?? time, time),
  }
}

type EventScope = ReportScope & { time: number; isReload: boolean }

function movePosition(
  before: Viewing,
  { type, at, from, to, isPaused }: ReportedEvent,
  scope: EventScope,
): Viewing {
  const { time } = scope
  const viewing = { ...before, eventAt: time }
  switch (type) {
    case 'ready':
      // With autoplay, a video may play before it reports that it is ready.
      if (viewing.playingSince !== null && !scope.isReload) return viewing
      return { ...viewing, playingSince: null, position: at }
    case 'source':
      return { ...viewing, playingSince: null, position: at }
    case 'play':
    case 'resume':
      return { ...viewing, position: at ?? viewing.position ?? 0, playingSince: time }
    case 'progress':
      if (at === null) return viewing
      return { ...playTo(viewing, at, scope), playingSince: isPaused ? null : time }
    case 'pause':
    case 'end':
      return { ...(at === null ? viewing : playTo(viewing, at, scope)), playingSince: null }
    case 'seek':
    case 'seek.forward':
    case 'seek.backward': {
      const reached = from === null ? viewing : playTo(viewing, from, scope)
      const playingSince = reached.playingSince === null ? null : time
      return { ...reached, position: to ?? at ?? reached.position, playingSince }
    }
    case 'error':
      return viewing
  }
}

/** Without a position in the report, a playing video is assumed to have played on at normal speed. */
function playOn(viewing: Viewing, report: Report, lastSeenAt: number, scope: ReportScope): Viewing {
  const { position, playingSince } = viewing
  const hasProgress = report.events.some(({ type }) => type === 'progress')
  if (hasProgress || playingSince === null || position === null) return viewing
  const time = serverTime(report.sentAt, scope)
  const sinceReportMs = scope.now - Math.max(lastSeenAt, playingSince)
  const elapsedMs = Math.min(time - playingSince, sinceReportMs, maxSilenceMs)
  if (elapsedMs <= 0) return viewing
  return playTo(viewing, validPosition(position + elapsedMs / 1_000, scope), { ...scope, time })
}

/** Moves to a position. The skipped range counts as watched if the video was playing for long enough to reach it. */
function playTo(
  viewing: Viewing,
  at: number,
  { now, time, durationSeconds }: ReportScope & { time: number },
): Viewing {
  const { position, playingSince } = viewing
  if (playingSince === null || position === null) return { ...viewing, position: at }
  const moved = { ...viewing, position: at, playingSince: time }
  const gained = at - position
  if (gained > ((time - playingSince) / 1_000) * maxPlaybackRate + slackSeconds) return moved
  const allowed = ((now - viewing.loadedAt) / 1_000) * maxPlaybackRate - viewing.watchSeconds
  const watchedSeconds = Math.min(gained, allowed)
  if (watchedSeconds <= 0) return moved
  const end = position + watchedSeconds
  const percent = (seconds: number, duration: number) => Math.min(100, Math.round((seconds / duration) * 100))
  return {
    ...moved,
    watchSeconds: viewing.watchSeconds + watchedSeconds,
    // Rounded, so that adjacent ranges join.
    watched: addRange(viewing.watched, Math.round(position), Math.round(end)),
    parts: durationSeconds
      ? addRange(viewing.parts, percent(position, durationSeconds), percent(end, durationSeconds))
      : viewing.parts,
  }
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max)

const isStart = ({ type, isPaused }: ReportedEvent) =>
  type === 'play' || type === 'resume' || (type === 'progress' && isPaused === false)

/** Converts `seek`, which has only a target, to the published event types. */
function storedEvent(
  { type, at, from, to }: ReportedEvent,
  position: number | null,
): Omit<ViewingEvent, 'emittedAt'> | undefined {
  if (type === 'source') return undefined
  if (type !== 'seek') return { type, at, from, to }
  const [start, target] = [position ?? at ?? 0, at ?? 0]
  return { type: start <= target ? 'seek.forward' : 'seek.backward', at: null, from: start, to: target }
}

/** A 32-bit hash (FNV-1a) that identifies an event: small enough to store, and unique among a few hundred events. */
function fingerprintOf({ type, emittedAt, at, from, to }: ReportedEvent): number {
  const text = `${type} ${emittedAt} ${at} ${from} ${to}`
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash | 0
}
