import type { Context } from '../contracts/context.ts'
import type { Environment } from '../contracts/tables.ts'
import { notFound } from '../lib/errors.ts'
import { type App, nullable, oneOf, ref, text } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listResponse, Pagination, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { findVideo } from '../videos/store.ts'
import { readPeriod, viewPeriod } from './data-query.ts'
import { sortOrder, time } from './data-schemas.ts'
import * as store from './metadata-store.ts'
import type { Read } from './query-limits.ts'
import { retentionCurve } from './retention.ts'

const keyMax = 255
const valueMax = 2_000

const tagged = {
  from: time('Sessions that were loaded at this time or later; by default 30 days before `to`.'),
  to: time('Sessions that were loaded before this time; by default now.'),
  metadata: Type.Optional(
    Type.Record(Type.String(), text(valueMax), {
      maxProperties: 100,
      propertyNames: { minLength: 1, maxLength: keyMax, format: 'text' },
      description: 'Pairs that the sessions must all carry, as `metadata[key]=value`.',
    }),
  ),
}

const ofVideo = Type.Optional(text(100, { description: 'Sessions of this video.' }))

export const MetadataValues = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        value: Type.String(),
        sessions: Type.Integer({ description: 'How many carry this value.' }),
        plays: Type.Integer(),
        watchTime: Type.Number({ description: 'Seconds watched in all, repeats included.' }),
        averageWatchTime: Type.Number({ description: 'Seconds, of the sessions that were played.' }),
        completion: nullable(
          Type.Number({
            description:
              'Share of the video that was seen, from 0 to 1, on average of the sessions that were played. Null if none was.',
          }),
        ),
        lastSeenAt: Type.String({ format: 'date-time' }),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetadataValues' },
)

export const MetadataKeys = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        key: Type.String(),
        sessions: Type.Integer({ description: 'How many carry it.' }),
        values: Type.Integer({ description: 'How many values it has.' }),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetadataKeys' },
)

const curve = Type.Array(
  Type.Object({
    from: Type.Number({ description: 'Seconds.' }),
    to: Type.Number({ description: 'Seconds.' }),
    share: Type.Number({ description: 'Of the sessions that were played, from 0 to 1.' }),
    viewers: Type.Integer({ description: 'How many sessions saw some of this part.' }),
  }),
  { description: 'Each hundredth of the video; empty until its length is known.' },
)
const sessions = Type.Integer({ description: 'How many were played.' })

export const Retention = Type.Object(
  {
    videoId: Type.String(),
    timeframe: Type.Object({
      from: Type.String({ format: 'date-time' }),
      to: Type.String({ format: 'date-time' }),
    }),
    sessions,
    curve,
    values: Type.Optional(
      Type.Array(Type.Object({ value: Type.String(), sessions, curve }), {
        description: 'With `by`: the ten values that most sessions have.',
      }),
    ),
  },
  { $id: 'Retention' },
)

type Asked = { from?: string; to?: string; metadata?: Record<string, string>; videoId?: string }

const round = (value: number) => Math.round(value * 1000) / 1000

const viewValue = (row: store.ValueRow): Static<typeof MetadataValues>['data'][number] => ({
  value: row.value,
  sessions: Number(row.sessions),
  plays: Number(row.plays),
  watchTime: round(row.watch_time),
  averageWatchTime: round(row.average_watch_time ?? 0),
  completion: row.completion === null ? null : Math.round(row.completion * 10_000) / 10_000,
  lastSeenAt: atom(row.last_seen_at),
})

/** What viewers' own metadata tell: who watched how much, by any key that a video declares. */
export function metadataRoutes(app: App, { db, config, now }: Context, read: Read): void {
  const choose = (environment: Environment, { videoId, metadata, ...query }: Asked) => ({
    environment,
    period: readPeriod(query, now(), { days: 30, keptDays: config.analyticsDays }),
    ...(videoId !== undefined && { videoId }),
    ...(metadata && { metadata }),
  })

  app.get(
    '/analytics/metadata',
    {
      schema: {
        operationId: 'LIST-analytics-metadata-keys',
        tags: ['Analytics'],
        summary: 'List the metadata keys of sessions',
        querystring: Type.Object({ videoId: ofVideo, ...tagged, ...pageQuery }),
        response: { 200: ref(MetadataKeys) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const asked = choose(scope.environment, query)
      const { keys, total } = await read((trx) => store.listKeys(trx, asked, page))
      return listResponse('/analytics/metadata', query, page, keys, total)
    },
  )

  app.get(
    '/analytics/metadata/:key',
    {
      schema: {
        operationId: 'LIST-analytics-metadata-values',
        tags: ['Analytics'],
        summary: 'Compare viewers by the values of a metadata key',
        description: 'A key that no session carries gives an empty list.',
        params: Type.Object({ key: text(keyMax, { description: 'A key that videos declare as dynamic.' }) }),
        querystring: Type.Object({
          videoId: ofVideo,
          value: Type.Optional(text(valueMax, { description: 'This value alone.' })),
          ...tagged,
          sortBy: Type.Optional(oneOf(store.valueOrders, { default: 'plays' })),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetadataValues) },
      },
    },
    async ({ params: { key }, query, scope }) => {
      const page = readPage(query)
      const asked = choose(scope.environment, query)
      const order = { by: query.sortBy ?? 'plays', order: query.sortOrder ?? 'desc' } as const
      const { values, total } = await read((trx) =>
        store.listValues(trx, asked, key, query.value, order, page),
      )
      const path = `/analytics/metadata/${encodeURIComponent(key)}`
      return listResponse(path, query, page, values.map(viewValue), total)
    },
  )

  app.get(
    '/analytics/videos/:videoId/retention',
    {
      schema: {
        operationId: 'GET-analytics-video-retention',
        tags: ['Analytics'],
        summary: 'Show which parts of a video are watched',
        params: Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) }),
        querystring: Type.Object({
          ...tagged,
          by: Type.Optional(
            text(keyMax, {
              minLength: 1,
              description: 'A metadata key: a curve for each of its top values, too.',
            }),
          ),
        }),
        response: { 200: ref(Retention) },
      },
    },
    async ({ params: { videoId }, query, scope }) => {
      const { environment } = scope
      const { by, ...rest } = query
      const video = isId('vi', videoId) ? await findVideo(db, environment, videoId) : undefined
      if (!video) throw notFound('videoId')
      const asked = choose(environment, { ...rest, videoId })
      const found = await read(async (trx) => ({
        duration: await store.findDuration(trx, videoId),
        all: (await store.readCrowds(trx, asked, undefined))[0],
        byValue: by === undefined ? undefined : await store.readCrowds(trx, asked, by),
      }))
      const view = (crowd: store.Crowd) => ({
        sessions: Number(crowd.sessions),
        curve: found.duration === undefined ? [] : retentionCurve(crowd, found.duration),
      })
      return {
        videoId,
        timeframe: viewPeriod(asked.period),
        ...view(found.all ?? { value: '', sessions: 0, edges: null }),
        ...(found.byValue && {
          values: found.byValue.map((crowd) => ({ value: crowd.value, ...view(crowd) })),
        }),
      }
    },
  )
}
