import { invalidAttribute } from '../lib/errors.ts'
import { oneOf, text } from '../lib/http.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { Report, ReportedEvent, ReportedType } from './apply-report.ts'

/** What a page sends, whatever its format. */
export type MediaReport = Report & {
  mediaId: string
  /** The field that named it. */
  mediaField: string
  /** As the client knows its session, if it does. */
  sessionId: string | undefined
  /** What tells this viewing from others of the same media by the same viewer. */
  viewing: string
  referrer: string
  metadata: Record<string, string>
  userAgent: string | undefined
  address: string
  country: string | string[] | undefined
  /** Of the body. */
  bytes: number
}

/** Of one report; the published clients send 20 at most. */
const mostEvents = 200
const longestReferrer = 2_048

const time = (description: string) => text(40, { format: 'date-time', description })
const position = (description: string) =>
  Type.Optional(Type.Unsafe<number | null>({ type: ['number', 'null'], description }))

const eventTypes = [
  'ready',
  'play',
  'resume',
  'pause',
  'end',
  'seek.forward',
  'seek.backward',
  'progress',
] as const

const session = {
  session_id: Type.Optional(text(100, { description: 'As the answer to the first report gave it.' })),
  loaded_at: time('When the page was loaded.'),
  referrer: Type.Optional(text(16_384, { description: 'Address of the page that led here.' })),
  metadata: Type.Optional(
    Type.Array(
      Type.Record(Type.String(), Type.String(), { maxProperties: 10, propertyNames: { maxLength: 255 } }),
      {
        maxItems: 100,
        description:
          'Each holds one key and its value. Keys that the video does not declare are ignored, and so are values of more than 2,000 letters.',
      },
    ),
  ),
}

const report = {
  emitted_at: time('When it is sent.'),
  events: Type.Array(
    Type.Object({
      type: oneOf(eventTypes),
      emitted_at: time('When it happened.'),
      at: position('Where the video was, in seconds.'),
      from: position('Of a jump.'),
      to: position('Of a jump.'),
    }),
    { maxItems: mostEvents, description: 'What has happened since the last report.' },
  ),
}

export const VideoReport = Type.Object({
  session: Type.Object({ video_id: text(100, { description: 'Id of the video.' }), ...session }),
  ...report,
})

export const LiveReport = Type.Object({
  session: Type.Object({ live_stream_id: text(100, { description: 'Id of the live stream.' }), ...session }),
  ...report,
})

const clock = (description: string) =>
  Type.Unsafe<number | string>({ type: ['number', 'string'], maxLength: 40, description })

/** The second format: numbers for words, and short names. */
export const WatchReport = Type.Object({
  sat: clock('When it is sent, in milliseconds since 1970.'),
  sid: text(100, { description: 'Of the tab.' }),
  mid: text(100, { description: 'Id of the video or live stream.' }),
  pid: text(100, { description: 'Of this loading of the player.' }),
  ref: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'text',
      maxLength: 16_384,
      description: 'Address of the page that led here.',
    }),
  ),
  eve: Type.Array(
    Type.Object({
      eat: clock('When it happened.'),
      typ: Type.Integer({
        minimum: 1,
        maximum: 8,
        description: '1 loaded, 2 play, 3 pause, 4 progress, 5 error, 6 ended, 7 seeking, 8 source.',
      }),
      vti: position('Where the video is, in seconds.'),
      pau: Type.Optional(
        Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], description: 'Whether it stands still.' }),
      ),
    }),
    { maxItems: mostEvents },
  ),
})

const watchTypes: ReportedType[] = ['ready', 'play', 'pause', 'progress', 'error', 'end', 'seek', 'source']

type Sender = Pick<MediaReport, 'userAgent' | 'address' | 'country' | 'bytes'>

/** A report of the first format, of a video or a live stream. */
export function readReport(
  body: Static<typeof VideoReport> | Static<typeof LiveReport>,
  sender: Sender,
): MediaReport {
  const { session, events } = body
  const loadedAt = readClock(session.loaded_at, 'session[loaded_at]')
  return {
    ...sender,
    ...('video_id' in session
      ? { mediaId: session.video_id, mediaField: 'session[video_id]' }
      : { mediaId: session.live_stream_id, mediaField: 'session[live_stream_id]' }),
    sessionId: session.session_id,
    viewing: `${loadedAt} ${sender.address} ${sender.userAgent ?? ''}`,
    sentAt: readClock(body.emitted_at, 'emitted_at'),
    loadedAt,
    referrer: (session.referrer ?? '').slice(0, longestReferrer).toWellFormed(),
    metadata: Object.assign(Object.create(null), ...(session.metadata ?? [])),
    events: events.map((event, i) => ({
      type: event.type,
      emittedAt: readClock(event.emitted_at, `events[${i}][emitted_at]`),
      at: event.at ?? null,
      from: event.from ?? null,
      to: event.to ?? null,
    })),
  }
}

/** A report of the second format. It carries no metadata, and no session but the client's own. */
export function readWatchReport(body: Static<typeof WatchReport>, sender: Sender): MediaReport {
  return {
    ...sender,
    mediaId: body.mid,
    mediaField: 'mid',
    sessionId: undefined,
    viewing: `${body.sid} ${body.pid}`,
    sentAt: readClock(body.sat, 'sat'),
    loadedAt: null,
    referrer: (body.ref ?? '').slice(0, longestReferrer).toWellFormed(),
    metadata: {},
    events: body.eve.map(
      ({ eat, typ, vti, pau }, i): ReportedEvent => ({
        type: watchTypes[typ - 1]!,
        emittedAt: readClock(eat, `eve[${i}][eat]`),
        at: vti ?? null,
        from: null,
        to: null,
        ...(typeof pau === 'boolean' && { isPaused: pau }),
      }),
    ),
  }
}

/** In milliseconds, of any year that dates can have. */
function readClock(value: number | string, name: string): number {
  const time = typeof value === 'number' ? value : Date.parse(value)
  if (Math.abs(time) <= 8.64e15) return Math.round(time)
  throw invalidAttribute(name, `"${name}" must be a time such as 2026-01-02T03:04:05.678Z.`)
}
