import { invalidAttribute } from '../lib/errors.ts'
import { exampleId, sessionIdField } from '../lib/fields.ts'
import { oneOf, text } from '../lib/http.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { Report, ReportedEvent, ReportedType } from './apply-report.ts'

/** A report of either format. */
export type MediaReport = Report & {
  mediaId: string
  /** The name of the request field that contains `mediaId`, for error messages. */
  mediaField: string
  /** The session id that the client received, if any. */
  sessionId: string | undefined
  /** Distinguishes this viewing from others of the same media by the same viewer. */
  viewing: string
  referrer: string
  metadata: Record<string, string>
  userAgent: string | undefined
  ipAddress: string
  country: string | string[] | undefined
  /** Size of the body. */
  bytes: number
}

/** Per report. The published clients send at most 20. */
const maxEvents = 200
const maxReferrerLength = 2_048

const time = (description: string) =>
  text(40, { format: 'date-time', description, examples: ['2026-11-16T09:30:00.000Z'] })
const position = (description: string, example: number | null) =>
  Type.Optional(Type.Unsafe<number | null>({ type: ['number', 'null'], description, examples: [example] }))

const eventTypes = [
  'ready',
  'play',
  'resume',
  'pause',
  'end',
  'seek.forward',
  'seek.backward',
  'progress',
  'error',
] as const

const session = {
  session_id: Type.Optional(
    sessionIdField('Session id from the response to the first report.', { maxLength: 100, format: 'text' }),
  ),
  loaded_at: time('When the page was loaded.'),
  referrer: Type.Optional(
    text(16_384, {
      description: 'URL of the page that embeds or links to the player.',
      examples: ['https://school.example/'],
    }),
  ),
  metadata: Type.Optional(
    Type.Array(
      Type.Record(Type.String(), Type.String(), { maxProperties: 10, propertyNames: { maxLength: 255 } }),
      {
        maxItems: 100,
        description:
          'Objects with one key and its value. Keys that the video does not declare are ignored, and so are values longer than 2,000 characters.',
        examples: [[{ viewer: 'user-17' }]],
      },
    ),
  ),
}

const report = {
  emitted_at: time('When the report is sent.'),
  events: Type.Array(
    Type.Object({
      type: oneOf(eventTypes, { description: 'What happened.', examples: ['play'] }),
      emitted_at: time('When the event happened.'),
      at: position('Position in the video, in seconds.', 0),
      from: position('Start of a seek, in seconds.', null),
      to: position('Target of a seek, in seconds.', null),
    }),
    { maxItems: maxEvents, description: 'Events since the last report.' },
  ),
}

export const VideoReport = Type.Object({
  session: Type.Object(
    { video_id: text(100, { description: 'Id of the video.', examples: [exampleId('vi')] }), ...session },
    { description: 'The viewing that is reported.' },
  ),
  ...report,
})

export const LiveReport = Type.Object({
  session: Type.Object(
    {
      live_stream_id: text(100, { description: 'Id of the live stream.', examples: [exampleId('li')] }),
      ...session,
    },
    { description: 'The viewing that is reported.' },
  ),
  ...report,
})

const clock = (description: string) =>
  Type.Unsafe<number | string>({
    type: ['number', 'string'],
    maxLength: 40,
    description,
    examples: [1_794_821_400_000],
  })

/** The short format: abbreviated names, and numbers instead of words. */
export const WatchReport = Type.Object({
  sat: clock('When the report is sent, in milliseconds since 1970.'),
  sid: text(100, { description: 'Id of the browser tab.', examples: ['tab-5e1f'] }),
  mid: text(100, { description: 'Id of the video or live stream.', examples: [exampleId('vi')] }),
  pid: text(100, { description: 'Id of this load of the player.', examples: ['load-93ac'] }),
  ref: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'text',
      maxLength: 16_384,
      description: 'URL of the page that embeds or links to the player.',
      examples: ['https://school.example/'],
    }),
  ),
  eve: Type.Array(
    Type.Object({
      eat: clock('When the event happened.'),
      typ: Type.Integer({
        minimum: 1,
        maximum: 8,
        description: '1 loaded, 2 play, 3 pause, 4 progress, 5 error, 6 ended, 7 seeking, 8 source.',
        examples: [2],
      }),
      vti: position('Position in the video, in seconds.', 0),
      pau: Type.Optional(
        Type.Unsafe<boolean | null>({
          type: ['boolean', 'null'],
          description: 'Whether the video is paused.',
          examples: [false],
        }),
      ),
    }),
    { maxItems: maxEvents, description: 'Events since the last report.' },
  ),
})

const watchTypes: ReportedType[] = ['ready', 'play', 'pause', 'progress', 'error', 'end', 'seek', 'source']

type Sender = Pick<MediaReport, 'userAgent' | 'ipAddress' | 'country' | 'bytes'>

/** Reads the long format, for a video or a live stream. */
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
    viewing: `${loadedAt} ${sender.ipAddress} ${sender.userAgent ?? ''}`,
    sentAt: readClock(body.emitted_at, 'emitted_at'),
    loadedAt,
    referrer: (session.referrer ?? '').slice(0, maxReferrerLength).toWellFormed(),
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

/** Reads the short format, which has no metadata and no session id of ours. */
export function readWatchReport(body: Static<typeof WatchReport>, sender: Sender): MediaReport {
  return {
    ...sender,
    mediaId: body.mid,
    mediaField: 'mid',
    sessionId: undefined,
    viewing: `${body.sid} ${body.pid}`,
    sentAt: readClock(body.sat, 'sat'),
    loadedAt: null,
    referrer: (body.ref ?? '').slice(0, maxReferrerLength).toWellFormed(),
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

/** Returns milliseconds since 1970. Accepts the entire range of JavaScript dates. */
function readClock(value: number | string, name: string): number {
  const time = typeof value === 'number' ? value : Date.parse(value)
  if (Math.abs(time) <= 8.64e15) return Math.round(time)
  throw invalidAttribute(name, `"${name}" must be a time such as 2026-01-02T03:04:05.678Z.`)
}
