import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Files } from '../../server/lib/files/files.ts'
import type { Client } from '../client.ts'
import type { Ledger, Outage } from '../ledger.ts'
import { frameMs, hashFrames, type Show, type Source } from '../load/broadcasts.ts'
import type { SentFrames } from '../load/publisher.ts'

/** The segment that was not complete, and what was on its way, when the service ended a connection. */
const lostMs = 6_000

export type RecordedFrames = { sent: number; recorded: number; excused: number }

type RecordingsContext = { client: Client; files: Files; folder: string; ledger: Ledger; source: Source }

/**
 * Every frame of every recording outside the documented loss is there. The source repeats, so that a frame can be sent
 * several times. It may be missing as often as it was sent at a time when the loss is excused.
 */
export async function auditRecordings(context: RecordingsContext, shows: Show[]): Promise<RecordedFrames> {
  const { ledger } = context
  const totals = { sent: 0, recorded: 0, excused: 0 }
  for (const { liveStreamId, connections } of shows) {
    const recorded = await readRecordings(context, liveStreamId)
    const sendings = connections.flatMap((connection) =>
      connection.frames.map((frame, i) => ({
        frame,
        connection,
        isExcused: isExcused(ledger.outages, connection, i),
      })),
    )
    const lost: typeof sendings = []
    for (const [frame, each] of Map.groupBy(sendings, (sending) => sending.frame)) {
      const missing = Math.max(0, each.length - (recorded.get(frame) ?? 0))
      const excused = Math.min(missing, each.filter((sending) => sending.isExcused).length)
      totals.sent += each.length
      totals.recorded += each.length - missing
      totals.excused += excused
      if (missing > excused) lost.push(...each.filter((sending) => !sending.isExcused))
    }
    for (const [{ frames, begunAt, endedAt, endedBy }, each] of Map.groupBy(lost, (one) => one.connection))
      ledger.report(
        `${liveStreamId}: ${each.length} of ${frames.length} frames of a connection from ${iso(begunAt)} to ` +
          `${iso(endedAt)}, ended by the ${endedBy}, are not recorded: ${each[0]!.frame} to ${each.at(-1)!.frame}; ` +
          `it began with ${frames[0]}`,
      )
  }
  return totals
}

const iso = (ms: number) => new Date(ms).toISOString()

/**
 * A connection that the service has ended may lose its last seconds. If the store or the database were out of reach
 * before, the process kept the frames in its memory since then.
 */
function isExcused(outages: Outage[], { begunAt, endedAt, endedBy }: SentFrames, index: number): boolean {
  if (endedBy === 'encoder') return false
  const sentAt = begunAt + index * frameMs
  let lossBegins = endedAt - lostMs
  for (const { from, to } of [...outages].sort((one, two) => two.to - one.to))
    if (to >= lossBegins && from <= endedAt) lossBegins = Math.min(lossBegins, from - lostMs)
  return sentAt >= lossBegins
}

/** How often each frame is in the recordings of a live stream. Their sources have the frames as the encoder sent them. */
async function readRecordings(
  { client, files, folder, ledger, source }: RecordingsContext,
  liveStreamId: string,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  for (let page = 1, pages = 1; page <= pages; page++) {
    const query = `?liveStreamId=${liveStreamId}&pageSize=100&currentPage=${page}`
    const { data, pagination } = JSON.parse((await client.send(`/videos${query}`)).text)
    pages = pagination.pagesTotal
    for (const { videoId } of data as { videoId: string }[]) {
      const file = join(folder, `${videoId}.source`)
      await pipeline(await files.read(`videos/${videoId}/source`), createWriteStream(file))
      let unknown = 0
      for (const hash of await hashFrames(file)) {
        const number = source.numbers.get(hash)
        if (number === undefined) unknown++
        else counts.set(number, (counts.get(number) ?? 0) + 1)
      }
      if (unknown > 0) ledger.report(`the recording ${videoId} has ${unknown} frames that were not sent`)
    }
  }
  return counts
}
