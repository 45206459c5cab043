import type { Transaction } from 'kysely'
import type { Context } from '../contracts/context.ts'
import type { Tables } from '../contracts/tables.ts'
import { isUnreachable } from '../lib/db.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { follow, startViewing } from './apply-report.ts'
import { placeOf } from './continents.ts'
import { createMediaLookup, holdMedia, type Media, takeMetadata } from './media.ts'
import type { MediaReport } from './report.ts'
import { dayOf, dayOfSession, sessionIdOf, viewerOf } from './session-id.ts'
import * as store from './session-store.ts'
import { readAgent } from './user-agent.ts'

/** Reports that wait. At some thousands a second it is a few seconds' worth, after which clients are gone. */
const mostWaiting = 10_000
/** All of them as long as a report may be would be ten times as much. */
const mostWaitingBytes = 64 * 1_024 * 1_024
/** Of one transaction. */
const mostReports = 500
const mostEvents = 5_000
const mostTries = 4

type Waiting = {
  report: MediaReport
  media: Media
  receivedAt: number
  resolve(sessionId: string): void
  reject(error: unknown): void
}

type Session = store.SessionState & { origin?: store.SessionOrigin }

export type SessionWriter = { submit(report: MediaReport): Promise<string> }

/**
 * Counts reports. Those that come while a transaction is under way go into the next one together, so that there are
 * as few commits as the disk can do, and each report is answered when it is committed.
 */
export function createSessionWriter(context: Pick<Context, 'db' | 'secret' | 'log' | 'now'>): SessionWriter {
  const { db, secret, log, now } = context
  const findMedia = createMediaLookup(db, () => now().getTime())
  let waiting: Waiting[] = []
  let isWriting = false
  /** What is not answered yet. */
  const open = { reports: 0, bytes: 0 }

  async function writeAll(): Promise<void> {
    isWriting = true
    while (waiting.length > 0) {
      const batch = takeBatch(waiting)
      waiting = waiting.slice(batch.length)
      await write(batch)
    }
    isWriting = false
  }

  async function write(batch: Waiting[]): Promise<void> {
    try {
      await count(batch)
    } catch (error) {
      // One that cannot be written must not take the others with it.
      if (batch.length > 1 && !isUnreachable(error)) {
        log.warn({ err: error, reports: batch.length }, 'reports could not be written together')
        for (const each of batch) await write([each])
      } else {
        for (const { reject } of batch) reject(error)
      }
    }
  }

  /** Tried again when a partition had to be made, or when somebody else began the same session at the same time. */
  async function count(batch: Waiting[]): Promise<void> {
    let left = batch
    for (let tries = 1; left.length > 0; tries++) {
      try {
        const { counted, raced, gone } = await db
          .transaction()
          .execute((trx) => countReports(trx, left, secret))
        for (const { report, id } of counted) report.resolve(id)
        for (const { report, reject } of gone) reject(notFound(report.mediaField))
        left = raced
        if (left.length > 0 && tries === mostTries) throw new Error('a session is begun again and again')
      } catch (error) {
        const isMissing = store.isPartitionMissing(error)
        if (tries === mostTries || !(isMissing || store.isDeadlock(error))) throw error
        if (isMissing)
          await store.makePartitions(
            db,
            left.flatMap(({ receivedAt }) => daysAround(receivedAt)),
          )
      }
    }
  }

  async function submit(report: MediaReport): Promise<string> {
    const receivedAt = now().getTime()
    const media = await findMedia(report.mediaId)
    if (!media) throw notFound(report.mediaField)
    // In place, as a copy would not free it: whatever else it carries does not wait with it.
    report.metadata = takeMetadata({}, report.metadata, media)
    return new Promise((resolve, reject) => {
      waiting.push({ report, media, receivedAt, resolve, reject })
      // Begun at the end of this turn: what has arrived together is written together.
      if (!isWriting) {
        isWriting = true
        setImmediate(() => writeAll())
      }
    })
  }

  return {
    async submit(report) {
      const { bytes } = report
      if (open.reports >= mostWaiting || open.bytes + bytes > mostWaitingBytes)
        throw new ApiError('service-unavailable', {
          title: 'There are more reports than can be counted.',
          headers: { 'retry-after': '5' },
        })
      open.reports += 1
      open.bytes += bytes
      try {
        return await submit(report)
      } finally {
        open.reports -= 1
        open.bytes -= bytes
      }
    },
  }
}

function takeBatch(waiting: Waiting[]): Waiting[] {
  let events = 0
  let size = 0
  for (const { report } of waiting) {
    events += report.events.length
    if (size > 0 && (size === mostReports || events > mostEvents)) break
    size++
  }
  return waiting.slice(0, size)
}

const daysAround = (time: number) => [-1, 0, 1].map((by) => dayOf(time) + by)

type Counted = { report: Waiting; id: string }

async function countReports(
  trx: Transaction<Tables>,
  reports: Waiting[],
  secret: Buffer,
): Promise<{ counted: Counted[]; raced: Waiting[]; gone: Waiting[] }> {
  // What is remembered of it may be of before it was deleted.
  const held = await holdMedia(
    trx,
    reports.map(({ report }) => report.mediaId),
  )
  const isHeld = ({ report }: Waiting) => held.has(report.mediaId)
  const batch = reports.filter(isHeld)
  const sessions = new Map<string, Session>()
  const lock = async (ids: Iterable<string>) => {
    const byDay = Map.groupBy(
      [...new Set(ids)].filter((id) => !sessions.has(id)),
      (id) => dayOfSession(id)!,
    )
    for (const day of [...byDay.keys()].sort((a, b) => a - b))
      for (const session of await store.lockSessions(trx, day, byDay.get(day)!))
        sessions.set(session.id, session)
  }

  // Those that name their session, and then, as few do, those that do not or name one that is not theirs.
  await lock(batch.flatMap((each) => givenId(each) ?? []))
  const given = (each: Waiting) => {
    const session = sessions.get(givenId(each) ?? '')
    return session?.mediaId === each.report.mediaId ? session : undefined
  }
  const others = batch.filter((each) => !given(each))
  const derived = new Map(others.map((each) => [each, derivedIds(each, secret)]))
  await lock([...derived.values()].flat())

  const counted: Counted[] = []
  const events: store.StoredEvent[] = []
  const touched = new Set<Session>()
  for (const each of batch) {
    const { report, media, receivedAt: now } = each
    let session: Session | undefined =
      given(each) ?? derived.get(each)?.flatMap((id) => sessions.get(id) ?? [])[0]
    if (!session) {
      session = startSession(each, secret)
      sessions.set(session.id, session)
    }
    const { durationSeconds } = media
    const followed = follow(session.viewing, report, { now, durationSeconds })
    session.viewing = followed.viewing
    session.metadata = takeMetadata(session.metadata, report.metadata, media)
    for (const event of followed.events) events.push({ ...event, sessionId: session.id })
    touched.add(session)
    counted.push({ report: each, id: session.id })
  }

  const raced = await writeSessions(trx, [...touched])
  const ours = events.filter(({ sessionId }) => !raced.has(sessionId))
  if (ours.length > 0) await store.insertEvents(trx, ours)
  return {
    counted: counted.filter(({ id }) => !raced.has(id)),
    raced: counted.filter(({ id }) => raced.has(id)).map(({ report }) => report),
    gone: reports.filter((each) => !isHeld(each)),
  }
}

/** The ids of those that somebody else has begun meanwhile. */
async function writeSessions(trx: Transaction<Tables>, sessions: Session[]): Promise<Set<string>> {
  const raced = new Set<string>()
  const byDay = Map.groupBy(sessions, ({ day }) => day)
  for (const [day, list] of [...byDay].sort(([a], [b]) => a - b)) {
    const old = list.filter(({ origin }) => !origin)
    if (old.length > 0) await store.updateSessions(trx, day, old)
  }
  for (const [day, list] of [...byDay].sort(([a], [b]) => a - b)) {
    const begun = list.flatMap((session) => (session.origin ? [{ ...session, origin: session.origin }] : []))
    if (begun.length === 0) continue
    const inserted = await store.insertSessions(trx, day, begun)
    for (const { id } of begun) if (!inserted.has(id)) raced.add(id)
  }
  return raced
}

/** A session goes on for a day or two; an older one, like one that was never given out, is begun anew. */
function givenId({ report, receivedAt }: Waiting): string | undefined {
  const day = dayOfSession(report.sessionId ?? '')
  return day !== undefined && Math.abs(day - dayOf(receivedAt)) <= 1 ? report.sessionId : undefined
}

const idOn = (day: number, { report }: Waiting, secret: Buffer) =>
  sessionIdOf(secret, day, [report.mediaId, report.viewing])

/** A session of yesterday may go on today. */
function derivedIds(each: Waiting, secret: Buffer): string[] {
  const today = dayOf(each.receivedAt)
  return [idOn(today, each, secret), idOn(today - 1, each, secret)]
}

function startSession(each: Waiting, secret: Buffer): Session {
  const { report, media, receivedAt } = each
  const viewing = startViewing(report, receivedAt)
  const day = dayOf(viewing.loadedAt)
  const agent = readAgent(report.userAgent)
  return {
    ...{ id: idOn(day, each, secret), day, mediaId: report.mediaId, metadata: {}, viewing },
    origin: {
      environment: media.environment,
      media_type: media.type,
      referrer: report.referrer,
      ...placeOf(report.country),
      device_type: agent.deviceType,
      device_vendor: agent.deviceVendor,
      device_model: agent.deviceModel,
      os_name: agent.osName,
      os_version: agent.osVersion,
      browser_name: agent.browserName,
      browser_version: agent.browserVersion,
      viewer: viewerOf(secret, day, report.userAgent ?? '', report.address),
    },
  }
}
