import type { ImportOptions } from '../schemas.ts'
import { ServiceError } from './errors.ts'
import { array, number, object, string } from './json.ts'
import { included, type PublishedApi } from './published-api.ts'
import type { ListedObject } from './service.ts'

const pageSize = 100
/** More than any library has. */
const maxPages = 20_000

/** What is listed, in this order. `part` is asked for by the owner. */
const lists = [
  { kind: 'player', path: '/players', part: 'players', id: 'playerId', title: 'name' },
  { kind: 'video', path: '/videos', part: undefined, id: 'videoId', title: 'title' },
  { kind: 'liveStream', path: '/live-streams', part: 'liveStreams', id: 'liveStreamId', title: 'name' },
  { kind: 'webhook', path: '/webhooks', part: 'webhooks', id: 'webhookId', title: 'url' },
] as const

type List = (typeof lists)[number]
type Listing = { api: PublishedApi; options: ImportOptions }

const wantedLists = ({ include }: ImportOptions): List[] =>
  lists.filter(({ part }) => part === undefined || include.includes(part))

/** The cursor of what is listed after the videos. */
export function cursorAfterVideos(options: ImportOptions): string | null {
  const wanted = wantedLists(options)
  const next = wanted[wanted.findIndex(({ kind }) => kind === 'video') + 1]
  return next ? `${next.kind} 1` : null
}

/** The cursor is a kind and the number of a page. */
export async function listPage(
  { api, options }: Listing,
  cursor: string | null,
): Promise<{ items: ListedObject[]; next: string | null }> {
  const wanted = wantedLists(options)
  const [kind, pageText = '1'] = (cursor ?? '').split(' ')
  const at = Math.max(
    0,
    wanted.findIndex((each) => each.kind === kind),
  )
  const list = wanted[at]!
  const page = Number(pageText)
  if (page > maxPages) throw new ServiceError('The list of the service does not end.')
  const { data, pagination } = object(await api.get(`${list.path}?${queryOf({ api, options }, list, page)}`))
  const found = array(data).map(object)
  const listed = found.map((each) => listObject(list, each, api.isKinora))
  const items = list.kind === 'video' ? await withMore({ api, options }, listed) : listed
  const isLast = found.length < pageSize || page >= (number(object(pagination).pagesTotal) ?? page)
  if (!isLast) return { items, next: `${list.kind} ${page + 1}` }
  const following = wanted[at + 1]
  return { items, next: following ? `${following.kind} 1` : null }
}

function queryOf({ api, options }: Listing, { kind }: List, page: number): URLSearchParams {
  const query = new URLSearchParams({ currentPage: String(page), pageSize: String(pageSize) })
  if (kind !== 'webhook') {
    query.set('sortBy', 'createdAt')
    query.set('sortOrder', 'asc')
  }
  if (kind !== 'video') return query
  for (const tag of options.tags ?? []) query.append('tags[]', tag)
  if (api.isKinora) for (const part of included) query.append('include[]', part)
  return query
}

function listObject(
  { kind, id: idName, title }: List,
  found: Record<string, unknown>,
  isComplete: boolean,
): ListedObject {
  const id = string(found[idName]) || string(found.id)
  const isVideo = kind === 'video'
  return {
    kind,
    id,
    title: string(found[title]),
    version: [string(found.updatedAt) || string(found.createdAt), ...versionsOf(found)].join(' '),
    contentVersion: '',
    bytes: null,
    seconds: isVideo ? number(object(found.status).duration) : null,
    details: isVideo ? detailsOf(found, isComplete) : found,
  }
}

/** Kinora tells the versions of what may change without the video. */
const versionsOf = ({ texts, status }: Record<string, unknown>): string[] =>
  [string(object(texts).version), string(object(status).thumbnailVersion)].filter((each) => each !== '')

/** Without the URLs of a private video, which contain tokens. */
function detailsOf(video: Record<string, unknown>, isComplete: boolean): Record<string, unknown> {
  if (!isComplete) return { createdAt: video.createdAt, tags: video.tags }
  const { assets, ...rest } = video
  return video.public === true ? { ...rest, assets } : rest
}

/** One request for the page instead of one for each video. */
async function withMore({ api, options }: Listing, items: ListedObject[]): Promise<ListedObject[]> {
  if (items.length === 0) return items
  if (!api.isKinora)
    return (await hasWatermarks(api))
      ? items.map((item) => withDetails(item, { mayHaveWatermark: true }))
      : items
  if (!options.include.includes('views')) return items
  const plays = await readPlays(api, items)
  return plays ? items.map((item) => withDetails(item, { plays: plays.get(item.id) ?? 0 })) : items
}

const withDetails = (item: ListedObject, more: object): ListedObject => ({
  ...item,
  details: { ...item.details, ...more },
})

/** Kinora tells it with the source. At api.video, only the account shows whether there are watermarks at all. */
async function hasWatermarks(api: PublishedApi): Promise<boolean> {
  const { data } = object(await api.getIfAny('/watermarks?pageSize=1'))
  return array(data).length > 0
}

/** By video. Undefined without analytics. */
async function readPlays(api: PublishedApi, items: ListedObject[]): Promise<Map<string, number> | undefined> {
  const query = new URLSearchParams({ pageSize: String(pageSize) })
  for (const { id } of items) query.append('filterBy[mediaId][]', id)
  const found = await api.getIfAny(`/data/buckets/play-total/media-id?${query}`)
  if (found === undefined) return undefined
  const buckets = array(object(found).data).map(object)
  return new Map(
    buckets.map(({ dimensionValue, metricValue }) => [string(dimensionValue), number(metricValue) ?? 0]),
  )
}
