import type { Transaction } from 'kysely'
import type { Tables } from '../tables.ts'
import { applyReport, startViewing } from './apply-report.ts'
import { placeOf } from './continents.ts'
import { mergeMetadata } from './media.ts'
import { lockMedia, type ReportedMedia } from './media-store.ts'
import type { MediaReport } from './report.ts'
import { dayOf, dayOfSession, sessionIdOf, viewerOf } from './session-id.ts'
import * as store from './session-store.ts'
import { readUserAgent } from './user-agent.ts'

export type PendingReport = { report: MediaReport; media: ReportedMedia; receivedAt: number }

/** Only new sessions have an origin; it does not change afterwards. */
type Session = store.SessionState & { origin?: store.SessionOrigin }
type Sessions = ReadonlyMap<string, Session>

export type WrittenReports<P> = {
  written: { pending: P; sessionId: string }[]
  /** Reports of sessions that another process created at the same time. */
  conflicting: P[]
  /** Reports of media that no longer exist. */
  deleted: P[]
}

/** Applies reports to their sessions and stores the result. */
export async function writeReports<P extends PendingReport>(
  trx: Transaction<Tables>,
  reports: P[],
  secret: Buffer,
): Promise<WrittenReports<P>> {
  // The media cache may still contain deleted media.
  const existing = await lockMedia(
    trx,
    reports.map(({ report }) => report.mediaId),
  )
  const batch = reports.filter(({ report }) => existing.has(report.mediaId))
  const found = await findSessions(trx, batch, secret)
  const { written, sessions, events } = applyReports(batch, found, secret)
  const conflicts = await storeSessions(trx, sessions)
  const storable = events.filter(({ sessionId }) => !conflicts.has(sessionId))
  if (storable.length > 0) await store.insertEvents(trx, storable)
  return {
    written: written.filter(({ sessionId }) => !conflicts.has(sessionId)),
    conflicting: written.flatMap(({ pending, sessionId }) => (conflicts.has(sessionId) ? [pending] : [])),
    deleted: reports.filter(({ report }) => !existing.has(report.mediaId)),
  }
}

type FoundSessions = {
  sessions: Sessions
  /** The ids that the session of a report may have, for reports that do not name an existing session. */
  derivedIds: ReadonlyMap<PendingReport, string[]>
}

/** Locks the existing sessions of these reports. Most reports name their session; the others need a second lookup. */
async function findSessions(
  trx: Transaction<Tables>,
  batch: PendingReport[],
  secret: Buffer,
): Promise<FoundSessions> {
  const named = await lockSessions(
    trx,
    batch.flatMap((pending) => namedId(pending) ?? []),
  )
  const derivedIds = new Map(
    batch
      .filter((pending) => !namedSession(pending, named))
      .map((pending) => [pending, deriveIds(pending, secret)]),
  )
  const ids = [...derivedIds.values()].flat().filter((id) => !named.has(id))
  return { sessions: new Map([...named, ...(await lockSessions(trx, ids))]), derivedIds }
}

async function lockSessions(trx: Transaction<Tables>, ids: string[]): Promise<Sessions> {
  const sessions = new Map<string, Session>()
  const byDay = Map.groupBy(new Set(ids), (id) => dayOfSession(id)!)
  for (const [day, idsOfDay] of [...byDay].sort(([a], [b]) => a - b))
    for (const session of await store.lockSessions(trx, day, idsOfDay)) sessions.set(session.id, session)
  return sessions
}

/** The session that the report names, if it belongs to the same media. */
function namedSession(pending: PendingReport, sessions: Sessions): Session | undefined {
  const session = sessions.get(namedId(pending) ?? '')
  return session?.mediaId === pending.report.mediaId ? session : undefined
}

function applyReports<P extends PendingReport>(batch: P[], found: FoundSessions, secret: Buffer) {
  const sessions = new Map(found.sessions)
  const changed = new Set<string>()
  const written: WrittenReports<P>['written'] = []
  const events: store.StoredEvent[] = []
  for (const pending of batch) {
    const { report, media, receivedAt: now } = pending
    const session =
      namedSession(pending, sessions) ??
      found.derivedIds.get(pending)?.flatMap((id) => sessions.get(id) ?? [])[0] ??
      startSession(pending, secret)
    const { durationSeconds } = media
    const applied = applyReport(session.viewing, report, { now, durationSeconds })
    const metadata = mergeMetadata(session.metadata, report.metadata, media)
    sessions.set(session.id, { ...session, viewing: applied.viewing, metadata })
    changed.add(session.id)
    for (const event of applied.events) events.push({ ...event, sessionId: session.id })
    written.push({ pending, sessionId: session.id })
  }
  return { written, events, sessions: [...changed].map((id) => sessions.get(id)!) }
}

/** Returns the ids of the sessions that another process created meanwhile. */
async function storeSessions(trx: Transaction<Tables>, sessions: Session[]): Promise<Set<string>> {
  const conflicts = new Set<string>()
  const byDay = [...Map.groupBy(sessions, ({ day }) => day)].sort(([a], [b]) => a - b)
  for (const [day, list] of byDay) {
    const existing = list.filter(({ origin }) => !origin)
    if (existing.length > 0) await store.updateSessions(trx, day, existing)
  }
  for (const [day, list] of byDay) {
    const added = list.flatMap((session) => (session.origin ? [{ ...session, origin: session.origin }] : []))
    if (added.length === 0) continue
    const inserted = await store.insertSessions(trx, day, added)
    for (const { id } of added) if (!inserted.has(id)) conflicts.add(id)
  }
  return conflicts
}

/** A session continues until the next day. For an older or unknown id a new session starts. */
function namedId({ report, receivedAt }: PendingReport): string | undefined {
  const day = dayOfSession(report.sessionId ?? '')
  return day !== undefined && Math.abs(day - dayOf(receivedAt)) <= 1 ? report.sessionId : undefined
}

const deriveId = (day: number, { report }: PendingReport, secret: Buffer) =>
  sessionIdOf(secret, day, [report.mediaId, report.viewing])

/** A session that started yesterday may continue today. */
function deriveIds(pending: PendingReport, secret: Buffer): string[] {
  const today = dayOf(pending.receivedAt)
  return [deriveId(today, pending, secret), deriveId(today - 1, pending, secret)]
}

function startSession(pending: PendingReport, secret: Buffer): Session {
  const { report, media, receivedAt } = pending
  const viewing = startViewing(report, receivedAt)
  const day = dayOf(viewing.loadedAt)
  const userAgent = readUserAgent(report.userAgent)
  return {
    id: deriveId(day, pending, secret),
    day,
    mediaId: report.mediaId,
    metadata: {},
    viewing,
    origin: {
      environment: media.environment,
      media_type: media.type,
      referrer: report.referrer,
      ...placeOf(report.country),
      device_type: userAgent.deviceType,
      device_vendor: userAgent.deviceVendor,
      device_model: userAgent.deviceModel,
      os_name: userAgent.osName,
      os_version: userAgent.osVersion,
      browser_name: userAgent.browserName,
      browser_version: userAgent.browserVersion,
      viewer: viewerOf(secret, day, report.userAgent ?? '', report.ipAddress),
    },
  }
}
