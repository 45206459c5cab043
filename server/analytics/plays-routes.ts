import type { Context } from '../context.ts'
import { exampleId } from '../lib/fields.ts'
import { type App, oneOf, ref, text } from '../lib/http.ts'
import { listOf, listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { invalidQuery, readPeriod } from './data-query.ts'
import { type Breakdown, type FilterBy, time } from './data-schemas.ts'
import * as store from './data-store.ts'

export const PlayList = listOf(
  Type.Object({
    value: Type.String({ description: 'Value of the dimension.', examples: ['FR'] }),
    plays: Type.Integer({ description: 'Number of plays.', examples: [42] }),
  }),
  'PlayList',
)

const mediaKinds = [
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

/** The plays API of older clients. */
export function playsRoutes(app: App, { config, now }: Context): void {
  for (const { path, mediaType, id, name } of mediaKinds) {
    app.get(
      path,
      {
        schema: {
          operationId: `GET_analytics-${mediaType}s-plays`,
          tags: ['Analytics'],
          summary: `Show plays of ${name}s by a dimension`,
          description: 'For older clients. `GET /data/buckets/play/{breakdown}` has more options.',
          querystring: Type.Object({
            from: time('Start of the period.'),
            to: time('End of the period, not included; by default now.'),
            dimension: oneOf([...Object.keys(breakdownOf), id, 'emittedAt'], {
              description: 'How the plays are divided. `emittedAt`: per hour.',
              examples: ['country'],
            }),
            filter: Type.Optional(
              text(200, {
                description: `A single ${name}, as \`${id}:<id>\`.`,
                examples: [`${id}:${exampleId(name === 'video' ? 'vi' : 'li')}`],
              }),
            ),
            ...pageQuery,
          }),
          response: { 200: ref(PlayList) },
        },
      },
      async ({ query, read, scope }) => {
        const [key, mediaId, ...more] = query.filter?.split(':') ?? []
        if (query.filter !== undefined && (key !== id || !mediaId || more.length > 0)) {
          throw invalidQuery('filter', `must be ${id}:<id>`)
        }
        const filterBy: FilterBy = { mediaType, ...(mediaId && { mediaId: [mediaId] }) }
        const period = readPeriod(query, now(), { defaultDays: 1, keptDays: config.analyticsDays })
        const sessions = { environment: scope.environment, period, filterBy }
        const page = readPage(query)
        const byTime = { by: 'dimension', order: 'asc' } as const
        const byPlays = { by: 'value', order: 'desc' } as const
        const breakdown = breakdownOf[query.dimension] ?? 'media-id'
        const found = await read<{ groups: { dimension: string | Date; value: number }[]; total: number }>(
          (db) =>
            query.dimension === 'emittedAt'
              ? store.readSeries(db, sessions, plays, { interval: 'hour', order: byTime, page })
              : store.readBuckets(db, sessions, plays, { breakdown, order: byPlays, page }),
        )
        const items = found.groups.map(({ dimension, value }) => ({
          value: dimension instanceof Date ? formatTime(dimension) : dimension,
          plays: value,
        }))
        return listResponse(path, query, page, items, found.total)
      },
    )
  }
}
