import { query, type Service } from './harness.ts'
import { createVideo } from './videos.ts'

// Videos for the analytics tests, and the reports that players send.

const metadata = [
  { key: 'viewer', value: '__viewer__' },
  { key: 'course', value: '__any__' },
  { key: 'author', value: 'Ada' },
]

/** Inserts the rows of a video of 100 seconds, without files. */
export async function createViewableVideo(at: Service, key?: string): Promise<string> {
  const base = key ? `${at.url}/sandbox` : at.url
  const videoId = await createVideo({ url: base, ...(key && { key }) }, { metadata })
  const plan = { rate: { num: 30, den: 1 }, frames: 3_000 }
  await query(
    at.database,
    "insert into encodings (video_id, environment, state, plan, created_at) values ($1, $2, 'encoded', $3, now())",
    [videoId, key ? 'sandbox' : 'production', JSON.stringify(plan)],
  )
  return videoId
}

export const iso = (time: number) => new Date(time).toISOString()
// biome-ignore lint/suspicious/noExplicitAny: tests also send malformed reports
export type Loose = any
export type Event = { type: string; emitted_at: string; at?: number | null; from?: number; to?: number }

/** A viewing session that was loaded `agoMs` ago, with functions that create its events and reports. */
export function viewing(videoId: string, agoMs = 30_000, extra: Record<string, unknown> = {}) {
  const loadedAt = Date.now() - agoMs
  return {
    event: (seconds: number, type: string, position: Omit<Event, 'type' | 'emitted_at'> = {}): Event => ({
      type,
      emitted_at: iso(loadedAt + seconds * 1_000),
      ...position,
    }),
    report: (events: Event[], session: Record<string, unknown> = {}) => ({
      emitted_at: iso(Date.now()),
      session: { loaded_at: iso(loadedAt), referrer: '', video_id: videoId, ...extra, ...session },
      events,
    }),
  }
}
