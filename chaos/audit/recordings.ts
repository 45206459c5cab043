import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '../client.ts'
import type { Ledger, Outage } from '../ledger.ts'
import { frameMs, hashFrames, type Show, type Source } from '../load/broadcasts.ts'
import type { SentFrames } from '../load/publisher.ts'

/** The segment that was not complete, and what was on its way, when the service ended a connection. */
const lostMs = 6_000

export type RecordedFrames = { sent: number; recorded: number; excused: number }

/** Every frame of every recording outside the documented loss is there. */
export async function auditRecordings(
  client: Client,
  folder: string,
  ledger: Ledger,
  shows: Show[],
  source: Source,
): Promise<RecordedFrames> {
  const totals = { sent: 0, recorded: 0, excused: 0 }
  for (const { liveStreamId, connections } of shows) {
    const recorded = await readRecordings(client, folder, ledger, liveStreamId, source)
    for (const connection of connections) {
      const lost: number[] = []
      for (const [i, frame] of connection.frames.entries()) {
        totals.sent++
        const left = recorded.get(frame) ?? 0
        recorded.set(frame, left - 1)
        if (left > 0) totals.recorded++
        else if (isExcused(ledger.outages, connection, i)) totals.excused++
        else lost.push(frame)
      }
      if (lost.length > 0)
        ledger.report(
          `${liveStreamId}: ${lost.length} of ${connection.frames.length} frames of a connection from ` +
            `${iso(connection.begunAt)} to ${iso(connection.endedAt)}, ended by the ${connection.endedBy}, ` +
            `are not recorded: ${lost[0]} to ${lost.at(-1)}; it began with ${connection.frames[0]}`,
        )
    }
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

type Video = { videoId: string; assets: { mp4: string } }

/** How often each frame is in the recordings of a live stream. */
async function readRecordings(
  client: Client,
  folder: string,
  ledger: Ledger,
  liveStreamId: string,
  { numbers }: Source,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  for (let page = 1, pages = 1; page <= pages; page++) {
    const query = `?liveStreamId=${liveStreamId}&pageSize=100&currentPage=${page}`
    const { data, pagination } = JSON.parse((await client.send(`/videos${query}`)).text)
    pages = pagination.pagesTotal
    for (const { videoId, assets } of data as Video[]) {
      const file = join(folder, `${videoId}.mp4`)
      const mp4 = await client.send(new URL(assets.mp4).pathname, { key: '' })
      if (mp4.status !== 200) {
        ledger.report(`the recording ${videoId} has no MP4: ${mp4.status}`)
        continue
      }
      await writeFile(file, mp4.bytes)
      for (const hash of await hashFrames(file)) {
        const number = numbers.get(hash)
        if (number === undefined) ledger.report(`the recording ${videoId} has a frame that was not sent`)
        else counts.set(number, (counts.get(number) ?? 0) + 1)
      }
    }
  }
  return counts
}
