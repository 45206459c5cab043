import type { Client } from 'pg'
import { fillSessions } from '../sessions.ts'
import { fillVideos } from '../videos.ts'
import { fillEncodings } from './fill-encodings.ts'
import { fillWebhooks } from './fill-webhooks.ts'
import type { Sizes } from './sizes.ts'

/** Sessions keep their events for as long as themselves. Two days of them are enough for what reads and writes them. */
const events = { eventsEach: 4, eventDays: 2 }

export async function fill(client: Client, sizes: Sizes): Promise<void> {
  const { sessions, days, videos } = sizes
  const parts: [string, () => Promise<void>][] = [
    ['videos', () => fillVideos(client, 0, videos)],
    ['encodings', () => fillEncodings(client, sizes)],
    ['webhooks', () => fillWebhooks(client, sizes)],
    ['sessions', () => fillSessions(client, { sessions, days, videos, ...events })],
  ]
  for (const [name, insert] of parts) {
    const start = performance.now()
    await insert()
    const seconds = (performance.now() - start) / 1_000
    if (seconds > 10) console.log(`  ${name}: ${seconds.toFixed(0)} s`)
  }
}
