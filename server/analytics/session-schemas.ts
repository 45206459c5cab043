import { nullable, ref } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { lengthOf, parseRanges } from './ranges.ts'
import type { StoredSession } from './session-reads.ts'

const time = (description: string) => Type.String({ format: 'date-time', description })
const maybe = (description?: string) => nullable(Type.String(description ? { description } : {}))

export const ViewingSession = Type.Object(
  {
    session: Type.Object({
      sessionId: Type.String(),
      loadedAt: time('When the player was loaded.'),
      endedAt: time('When it was last heard of.'),
      metadata: Type.Array(Type.Object({ key: Type.String(), value: Type.String() }), {
        description: 'Values of the dynamic metadata that the video declares.',
      }),
    }),
    location: Type.Object({
      country: maybe('Two letters; where `KINORA_COUNTRY_HEADER` is set.'),
      city: maybe('Not known.'),
    }),
    referrer: Type.Object({
      url: maybe('Address of the page that led to the player.'),
      medium: Type.String({ description: '`referral`, or `none`.' }),
      source: maybe('Its host.'),
      searchTerm: maybe('Not known.'),
    }),
    device: Type.Object({ type: maybe(), vendor: maybe(), model: maybe() }),
    os: Type.Object({ name: maybe(), shortname: maybe(), version: maybe() }),
    client: Type.Object({ type: maybe(), name: maybe(), version: maybe() }),
    watch: Type.Object({
      plays: Type.Integer({
        description: 'How often it was started. Playing again after the end is no other.',
      }),
      seconds: Type.Number({ description: 'All that was watched, repeats included.' }),
      ranges: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer() }), {
        description: 'Seconds of the video that were seen at least once.',
      }),
      completion: nullable(
        Type.Number({
          description: 'Share of the video that was seen, from 0 to 1. Null: its length is not known.',
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
        emittedAt: time('When it happened.'),
        at: Type.Optional(Type.Integer({ description: 'Where the video was, in seconds.' })),
        from: Type.Optional(Type.Integer({ description: 'Of a jump.' })),
        to: Type.Optional(Type.Integer({ description: 'Of a jump.' })),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'ViewingEventList' },
)

export function viewSession(row: StoredSession, isLengthKnown: boolean) {
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
      completion: isLengthKnown ? lengthOf(parseRanges(row.parts)) / 100 : null,
    },
  }
}
