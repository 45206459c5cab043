import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { notFound } from '../lib/errors.ts'
import { exampleId, idField, sortByField, timeField } from '../lib/fields.ts'
import { type App, nullable, ref, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listOf, listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { findVideo } from '../videos/store.ts'
import { readPeriod, viewPeriod } from './data-query.ts'
import { periodQuery, sortOrder } from './data-schemas.ts'
import * as store from './metadata-store.ts'
import { retentionCurve } from './retention.ts'

const maxKeyLength = 255
const maxValueLength = 2_000

const sessionQuery = {
  ...periodQuery,
  metadata: Type.Optional(
    Type.Record(Type.String(), text(maxValueLength), {
      maxProperties: 100,
      propertyNames: { minLength: 1, maxLength: maxKeyLength, format: 'text' },
      description: 'Key-value pairs that the sessions must all have, as `metadata[key]=value`.',
      examples: [{ group: 'b' }],
    }),
  ),
}

const videoQuery = Type.Optional(
  text(100, { description: 'Only sessions of this video or live stream.', examples: [exampleId('vi')] }),
)

const valueField = Type.String({ description: 'Value of the key.', examples: ['user-17'] })

export const MetadataValues = listOf(
  Type.Object({
    value: valueField,
    sessions: Type.Integer({ description: 'Number of sessions with this value.', examples: [3] }),
    plays: Type.Integer({ description: 'Number of plays in these sessions.', examples: [3] }),
    watchTime: Type.Number({
      description: 'Total seconds watched, including repeats.',
      examples: [45.5],
    }),
    averageWatchTime: Type.Number({
      description: 'Average seconds watched, of the sessions with a play.',
      examples: [22.75],
    }),
    completion: nullable(
      Type.Number({
        description:
          'Average fraction of the video that was watched, from 0 to 1, of the sessions with a play. Null if there are none.',
        examples: [0.5],
      }),
    ),
    lastSeenAt: timeField('When the last report with this value was received.'),
  }),
  'MetadataValues',
)

const MetadataKey = Type.Object({
  key: Type.String({ description: 'A key that videos declare as dynamic.', examples: ['viewer'] }),
  sessions: Type.Integer({ description: 'Number of sessions with this key.', examples: [120] }),
  values: Type.Integer({ description: 'Number of distinct values.', examples: [37] }),
})

const keySessions = store.maxKeySessions.toLocaleString('en')

export const MetadataKeys = Type.Object(
  {
    ...listOf(MetadataKey, '').properties,
    countedFrom: nullable(
      timeField(
        `When the oldest of the newest ${keySessions} sessions began. Earlier sessions are not counted. Null if all sessions of the period are.`,
      ),
    ),
  },
  { $id: 'MetadataKeys', description: 'One page of a list.' },
)

const curve = Type.Array(
  Type.Object({
    from: Type.Number({ description: 'Start in seconds.', examples: [0] }),
    to: Type.Number({ description: 'End in seconds.', examples: [0.6] }),
    share: Type.Number({
      description: 'Fraction of the sessions with a play, from 0 to 1.',
      examples: [0.9],
    }),
    viewers: Type.Integer({
      description: 'Number of sessions that watched some of this part.',
      examples: [108],
    }),
  }),
  { description: 'One point for each hundredth of the video; empty until its duration is known.' },
)
const sessions = Type.Integer({ description: 'Number of sessions with a play.', examples: [120] })

export const Retention = Type.Object(
  {
    videoId: idField('vi', 'Id of the video.'),
    timeframe: Type.Object(
      {
        from: timeField('Start of the period.', '2026-10-17T09:30:00+00:00'),
        to: timeField('End of the period, not included.'),
      },
      { description: 'The period in which the sessions were loaded.' },
    ),
    sessions,
    curve,
    values: Type.Optional(
      Type.Array(Type.Object({ value: valueField, sessions, curve }), {
        description: 'With `by`: the ten most frequent values.',
      }),
    ),
  },
  { $id: 'Retention', description: 'How many sessions watched each part of a video.' },
)

type SessionQuery = { from?: string; to?: string; metadata?: Record<string, string>; videoId?: string }

const round = (value: number) => Math.round(value * 1000) / 1000

const viewValue = (row: store.ValueRow): Static<typeof MetadataValues>['data'][number] => ({
  value: row.value,
  sessions: Number(row.sessions),
  plays: Number(row.plays),
  watchTime: round(row.watch_time),
  averageWatchTime: round(row.average_watch_time ?? 0),
  completion: row.completion === null ? null : Math.round(row.completion * 10_000) / 10_000,
  lastSeenAt: formatTime(row.last_seen_at),
})

type Deps = {
  selectSessions(environment: Environment, query: SessionQuery): store.TaggedSessions
}

/** Analytics by dynamic metadata: who watched how much, by any key that a video declares. */
export function metadataRoutes(app: App, { db, config, now }: Context): void {
  const deps: Deps = {
    selectSessions: (environment, { videoId, metadata, ...query }) => ({
      environment,
      period: readPeriod(query, now(), { defaultDays: 30, keptDays: config.analyticsDays }),
      ...(videoId !== undefined && { videoId }),
      ...(metadata && { metadata }),
    }),
  }
  keysRoute(app, deps)
  valuesRoute(app, deps)
  retentionRoute(app, db, deps)
}

function keysRoute(app: App, { selectSessions }: Deps): void {
  app.get(
    '/analytics/metadata',
    {
      schema: {
        operationId: 'LIST-analytics-metadata-keys',
        tags: ['Analytics'],
        summary: 'List the metadata keys of sessions',
        description:
          'Returns the keys of the sessions in the period, with the number of sessions and distinct values.',
        querystring: Type.Object({ videoId: videoQuery, ...sessionQuery, ...pageQuery }),
        response: { 200: ref(MetadataKeys) },
      },
    },
    async ({ query, read, scope }) => {
      const page = readPage(query)
      const sessions = selectSessions(scope.environment, query)
      const { keys, total, countedFrom } = await read((db) => store.listKeys(db, sessions, page))
      return {
        ...listResponse('/analytics/metadata', query, page, keys, total),
        countedFrom: countedFrom && formatTime(countedFrom),
      }
    },
  )
}

function valuesRoute(app: App, { selectSessions }: Deps): void {
  app.get(
    '/analytics/metadata/:key',
    {
      schema: {
        operationId: 'LIST-analytics-metadata-values',
        tags: ['Analytics'],
        summary: 'Compare viewers by the values of a metadata key',
        description: 'The list is empty if no session has the key.',
        params: Type.Object({
          key: text(maxKeyLength, {
            description: 'A key that videos declare as dynamic.',
            examples: ['viewer'],
          }),
        }),
        querystring: Type.Object({
          videoId: videoQuery,
          value: Type.Optional(
            text(maxValueLength, { description: 'Only this value.', examples: ['user-17'] }),
          ),
          ...sessionQuery,
          sortBy: sortByField(store.valueOrders, 'plays'),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetadataValues) },
      },
    },
    async ({ params: { key }, query, read, scope }) => {
      const page = readPage(query)
      const sessions = selectSessions(scope.environment, query)
      const order = { by: query.sortBy ?? 'plays', order: query.sortOrder ?? 'desc' } as const
      const { values, total } = await read((db) =>
        store.listValues(db, sessions, { key, value: query.value, order, page }),
      )
      const path = `/analytics/metadata/${encodeURIComponent(key)}`
      return listResponse(path, query, page, values.map(viewValue), total)
    },
  )
}

function retentionRoute(app: App, db: Context['db'], { selectSessions }: Deps): void {
  app.get(
    '/analytics/videos/:videoId/retention',
    {
      schema: {
        operationId: 'GET-analytics-video-retention',
        tags: ['Analytics'],
        summary: 'Show which parts of a video are watched',
        description:
          'The curve has a point for each hundredth of the video. With `by`, the most frequent values of a metadata key have a curve of their own.',
        params: Type.Object({ videoId: idField('vi', 'Id of the video.') }),
        querystring: Type.Object({
          ...sessionQuery,
          by: Type.Optional(
            text(maxKeyLength, {
              minLength: 1,
              description: 'A metadata key. Adds a curve for each of its most frequent values.',
              examples: ['viewer'],
            }),
          ),
        }),
        response: { 200: ref(Retention) },
      },
    },
    async ({ params: { videoId }, query: { by, ...query }, read, scope: { environment } }) => {
      const video = isId('vi', videoId) ? await findVideo(db, environment, videoId) : undefined
      if (!video) throw notFound('videoId')
      const sessions = selectSessions(environment, { ...query, videoId })
      const { duration, all, byValue } = await read(async (db) => ({
        duration: await store.findDuration(db, videoId),
        all: (await store.readRetention(db, sessions, undefined))[0],
        byValue: by === undefined ? undefined : await store.readRetention(db, sessions, by),
      }))
      const view = (group: store.RetentionGroup) => ({
        sessions: Number(group.sessions),
        curve: duration === undefined ? [] : retentionCurve(group, duration),
      })
      return {
        videoId,
        timeframe: viewPeriod(sessions.period),
        ...view(all ?? { value: '', sessions: 0, edges: null }),
        ...(byValue && { values: byValue.map((group) => ({ value: group.value, ...view(group) })) }),
      }
    },
  )
}
