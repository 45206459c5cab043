import { nullable, ref } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { lengthOf, parseRanges } from './ranges.ts'
import type { StoredEvent, StoredSession } from './session-query-store.ts'

const time = (description: string) => Type.String({ format: 'date-time', description })
const nullableText = (description?: string) => nullable(Type.String(description ? { description } : {}))

export const ViewingSession = Type.Object(
  {
    session: Type.Object({
      sessionId: Type.String(),
      loadedAt: time('When the player was loaded.'),
      endedAt: time('When the last report was received.'),
      metadata: Type.Array(Type.Object({ key: Type.String(), value: Type.String() }), {
        description: 'Values of the dynamic metadata that the video declares.',
      }),
    }),
    location: Type.Object({
      country: nullableText('Two-letter code; requires `KINORA_COUNTRY_HEADER`.'),
      city: nullableText('Always null.'),
    }),
    referrer: Type.Object({
      url: nullableText('URL of the page that embeds or links to the player.'),
      medium: Type.String({ description: '`referral` or `none`.' }),
      source: nullableText('Host of the URL.'),
      searchTerm: nullableText('Always null.'),
    }),
    device: Type.Object({ type: nullableText(), vendor: nullableText(), model: nullableText() }),
    os: Type.Object({ name: nullableText(), shortname: nullableText(), version: nullableText() }),
    client: Type.Object({ type: nullableText(), name: nullableText(), version: nullableText() }),
    watch: Type.Object({
      plays: Type.Integer({
        description: 'Number of plays. Replaying after the end does not count as another play.',
      }),
      seconds: Type.Number({ description: 'Seconds watched, including repeats.' }),
      ranges: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer() }), {
        description: 'Ranges of the video that were watched at least once, in seconds.',
      }),
      completion: nullable(
        Type.Number({
          description: 'Share of the video that was watched, from 0 to 1. Null if the duration is not known.',
        }),
      ),
    }),
  },
  { $id: 'ViewingSession' },
)

export const ViewingSessionList = Type.Object(
  { data: Type.Array(ref(ViewingSession)), pagination: ref(Pagination) },
  { $id: 'ViewingSessionList' },
)

export const ViewingEventList = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        type: Type.String({
          description:
            '`ready`, `play`, `resume`, `progress`, `pause`, `seek.forward`, `seek.backward`, `end` or `error`.',
        }),
        emittedAt: time('When the event happened.'),
        at: Type.Optional(Type.Integer({ description: 'Position in the video, in seconds.' })),
        from: Type.Optional(Type.Integer({ description: 'Start of a seek, in seconds.' })),
        to: Type.Optional(Type.Integer({ description: 'Target of a seek, in seconds.' })),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'ViewingEventList' },
)

export function viewSession(row: StoredSession, isDurationKnown: boolean) {
  const url = URL.parse(row.referrer)
  return {
    session: {
      sessionId: row.id,
      loadedAt: atom(row.loaded_at),
      endedAt: atom(row.seen_at),
      metadata: Object.entries(row.metadata).map(([key, value]) => ({ key, value })),
    },
    location: { country: row.country, city: null },
    referrer: {
      url: row.referrer || null,
      medium: row.referrer ? 'referral' : 'none',
      source: url?.host || null,
      searchTerm: null,
    },
    device: { type: row.device_type, vendor: row.device_vendor, model: row.device_model },
    os: { name: row.os_name, shortname: null, version: row.os_version },
    client: {
      type: row.browser_name === null ? null : 'browser',
      name: row.browser_name,
      version: row.browser_version,
    },
    watch: {
      plays: row.plays,
      seconds: Math.round(row.watch_seconds * 1_000) / 1_000,
      ranges: parseRanges(row.watched).map(([from, to]) => ({ from, to })),
      completion: isDurationKnown ? lengthOf(parseRanges(row.parts)) / 100 : null,
    },
  }
}

export const viewEvent = (event: StoredEvent) => ({
  type: event.type,
  emittedAt: event.emitted_at.toISOString(),
  ...(event.at !== null && { at: Math.round(event.at) }),
  ...(event.from_at !== null && { from: Math.round(event.from_at) }),
  ...(event.to_at !== null && { to: Math.round(event.to_at) }),
})
