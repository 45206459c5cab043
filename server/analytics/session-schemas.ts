import { exampleId, metadataPair, sessionIdField, timeField } from '../lib/fields.ts'
import { nullable, oneOf, ref } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { lengthOf, parseRanges } from './ranges.ts'
import type { StoredEvent, StoredSession, ViewerSession as ViewerSessionRow } from './session-query-store.ts'

const nullableText = (description: string, example: string | null) =>
  nullable(Type.String({ description, examples: [example] }))

export const ViewingSession = Type.Object(
  {
    session: Type.Object(
      {
        sessionId: sessionIdField('Id of the session.'),
        loadedAt: timeField('When the player was loaded.'),
        endedAt: timeField('When the last report was received.', '2026-11-16T09:40:00+00:00'),
        metadata: Type.Array(metadataPair('viewer', 'user-17'), {
          description: 'Values of the dynamic metadata that the video declares.',
        }),
      },
      { description: 'When the viewing took place, and its metadata.' },
    ),
    location: Type.Object(
      {
        country: nullableText('Two-letter code; requires `KINORA_COUNTRY_HEADER`.', 'FR'),
        city: nullableText('Always null.', null),
      },
      { description: 'Where the viewer is.' },
    ),
    referrer: Type.Object(
      {
        url: nullableText('URL of the page that embeds or links to the player.', 'https://school.example/'),
        medium: Type.String({ description: '`referral` or `none`.', examples: ['referral'] }),
        source: nullableText('Host of the URL.', 'school.example'),
        searchTerm: nullableText('Always null.', null),
      },
      { description: 'The page that embeds or links to the player.' },
    ),
    device: Type.Object(
      {
        type: nullableText('Such as `computer`, `phone` or `tablet`.', 'phone'),
        vendor: nullableText('Manufacturer.', 'Apple'),
        model: nullableText('Model.', 'iPhone'),
      },
      { description: 'The device, as its browser describes it. Null where it says nothing.' },
    ),
    os: Type.Object(
      {
        name: nullableText('Name of the operating system.', 'iOS'),
        shortname: nullableText('Always null.', null),
        version: nullableText('Version of the operating system.', '17.5'),
      },
      { description: 'The operating system.' },
    ),
    client: Type.Object(
      {
        type: nullableText('`browser`, or null if it is not known.', 'browser'),
        name: nullableText('Name of the browser.', 'Safari'),
        version: nullableText('Version of the browser.', '17.5'),
      },
      { description: 'The browser.' },
    ),
    watch: Type.Object(
      {
        plays: Type.Integer({
          description: 'Number of plays. Replaying after the end does not count as another play.',
          examples: [1],
        }),
        seconds: Type.Number({ description: 'Seconds watched, including repeats.', examples: [320.5] }),
        ranges: Type.Array(
          Type.Object({
            from: Type.Integer({ description: 'Start in seconds.', examples: [0] }),
            to: Type.Integer({ description: 'End in seconds.', examples: [300] }),
          }),
          { description: 'Ranges of the video that were watched at least once, in seconds.' },
        ),
        completion: nullable(
          Type.Number({
            description:
              'Fraction of the video that was watched, from 0 to 1. Null if the duration is not known.',
            examples: [0.5],
          }),
        ),
      },
      { description: 'What was watched.' },
    ),
  },
  { $id: 'ViewingSession', description: 'One viewing of a video by one viewer.' },
)

export const ViewingSessionList = listOf(ref(ViewingSession), 'ViewingSessionList')

export const ViewerSession = Type.Object(
  {
    ...ViewingSession.properties,
    media: Type.Object(
      {
        id: Type.String({
          description: 'Id of the video or live stream.',
          examples: [exampleId('vi')],
        }),
        type: oneOf(['video', 'live-stream'], { description: 'What it is.', examples: ['video'] }),
        title: Type.String({
          description: 'Title of the video, or name of the live stream.',
          examples: ['My first video'],
        }),
      },
      { description: 'The video or live stream.' },
    ),
  },
  { $id: 'ViewerSession', description: 'One viewing of a video or live stream by one viewer.' },
)

export const ViewerSessionList = listOf(ref(ViewerSession), 'ViewerSessionList')

const position = (description: string, example: number) =>
  Type.Optional(Type.Integer({ description, examples: [example] }))

export const ViewingEventList = listOf(
  Type.Object({
    type: Type.String({
      description:
        '`ready`, `play`, `resume`, `progress`, `pause`, `seek.forward`, `seek.backward`, `end` or `error`.',
      examples: ['seek.forward'],
    }),
    emittedAt: timeField('When the event happened.', '2026-11-16T09:30:00.000Z'),
    at: position('Position in the video, in seconds.', 90),
    from: position('Start of a seek, in seconds.', 30),
    to: position('Target of a seek, in seconds.', 90),
  }),
  'ViewingEventList',
)

export function viewSession(row: StoredSession, isDurationKnown: boolean) {
  const url = URL.parse(row.referrer)
  return {
    session: {
      sessionId: row.id,
      loadedAt: formatTime(row.loaded_at),
      endedAt: formatTime(row.seen_at),
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

export const viewViewerSession = (row: ViewerSessionRow, isDurationKnown: boolean) => ({
  ...viewSession(row, isDurationKnown),
  media: { id: row.media_id, type: row.media_type, title: row.media_title },
})

export const viewEvent = (event: StoredEvent) => ({
  type: event.type,
  emittedAt: event.emitted_at.toISOString(),
  ...(event.at !== null && { at: Math.round(event.at) }),
  ...(event.from_at !== null && { from: Math.round(event.from_at) }),
  ...(event.to_at !== null && { to: Math.round(event.to_at) }),
})
