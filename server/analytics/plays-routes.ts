import type { Context } from '../contracts/context.ts'
import { type App, oneOf, ref, text } from '../lib/http.ts'
import { listResponse, Pagination, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { badQuery, readPeriod } from './data-query.ts'
import { type Breakdown, type FilterBy, time } from './data-schemas.ts'
import * as store from './data-store.ts'
import type { Read } from './query-limits.ts'

export const PlayList = Type.Object(
  {
    data: Type.Array(Type.Object({ value: Type.String(), plays: Type.Integer() })),
    pagination: ref(Pagination),
  },
  { $id: 'PlayList' },
)

const kinds = [
  { path: '/analytics/videos/plays', mediaType: 'video', id: 'videoId', name: 'video' },
  {
    path: '/analytics/live-streams/plays',
    mediaType: 'live-stream',
    id: 'liveStreamId',
    name: 'live stream',
  },
] as const

const breakdownOf: Record<string, Breakdown> = {
  browser: 'browser',
  country: 'country',
  deviceType: 'device-type',
  operatingSystem: 'operating-system',
}

const plays = { of: 'play', by: 'sum' } as const

/** The way in which older clients ask for plays. */
export function playsRoutes(app: App, { config, now }: Context, read: Read): void {
  for (const { path, mediaType, id, name } of kinds) {
    app.get(
      path,
      {
        schema: {
          operationId: `GET_analytics-${mediaType}s-plays`,
          tags: ['Analytics'],
          summary: `Show plays of ${name}s by a dimension`,
          description: 'For older clients; `GET /data/buckets/play/{breakdown}` tells more.',
          querystring: Type.Object({
            from: time('The first day.'),
            to: time('The day after the last one; by default until now.'),
            dimension: oneOf([...Object.keys(breakdownOf), id, 'emittedAt'], {
              description: '`emittedAt`: plays by the hour.',
            }),
            filter: Type.Optional(text(200, { description: `One ${name}, as \`${id}:<id>\`.` })),
            ...pageQuery,
          }),
          response: { 200: ref(PlayList) },
        },
      },
      async ({ query, scope }) => {
        const [key, mediaId, ...more] = query.filter?.split(':') ?? []
        if (query.filter !== undefined && (key !== id || !mediaId || more.length > 0)) {
          throw badQuery('filter', `must be ${id}:<id>`)
        }
        const filterBy: FilterBy = { mediaType, ...(mediaId && { mediaId: [mediaId] }) }
        const period = readPeriod(query, now(), { days: 1, keptDays: config.analyticsDays })
        const sessions = { environment: scope.environment, period, filterBy }
        const page = readPage(query)
        const byTime = { by: 'dimension', order: 'asc' } as const
        const byPlays = { by: 'value', order: 'desc' } as const
        const breakdown = breakdownOf[query.dimension] ?? 'media-id'
        const found = await read<{ groups: { dimension: string | Date; value: number }[]; total: number }>(
          (trx) =>
            query.dimension === 'emittedAt'
              ? store.readSeries(trx, sessions, plays, 'hour', byTime, page)
              : store.readBuckets(trx, sessions, plays, breakdown, byPlays, page),
        )
        const items = found.groups.map(({ dimension, value }) => ({
          value: dimension instanceof Date ? atom(dimension) : dimension,
          plays: value,
        }))
        return listResponse(path, query, page, items, found.total)
      },
    )
  }
}
