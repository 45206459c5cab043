import { type VideoFilters, type VideoState, videoStates } from '../../../api/videos.ts'

export const sorts = ['newest', 'oldest', 'updated', 'title', 'titleReversed'] as const
export type Sort = (typeof sorts)[number]

/** What is after the `?` in the URL of the list. Anybody can write such a URL, so every part is checked. */
export type VideoSearch = {
  q?: string
  visibility?: 'public' | 'private'
  state?: VideoState
  tags?: string[]
  metadata?: Record<string, string>
  sort?: Sort
  /** Shows the deleted videos. */
  deleted?: true
}

/** The router reads `?q=12` as a number. */
const readText = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''

const readOne = <T extends string>(value: unknown, choices: readonly T[]) =>
  choices.find((each) => each === value)

export function readVideoSearch(raw: Record<string, unknown>): VideoSearch {
  const q = readText(raw.q).slice(0, 200)
  const visibility = readOne(raw.visibility, ['public', 'private'] as const)
  const state = readOne(raw.state, videoStates)
  const sort = readOne(raw.sort, sorts)
  const tags = Array.isArray(raw.tags) ? raw.tags.map(readText).filter(Boolean).slice(0, 20) : []
  const metadata = readPairs(raw.metadata)
  return {
    ...(q && { q }),
    ...(visibility && { visibility }),
    ...(state && { state }),
    ...(tags.length > 0 && { tags }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(sort && sort !== 'newest' && { sort }),
    ...(raw.deleted === true && { deleted: true as const }),
  }
}

function readPairs(raw: unknown): Record<string, string> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return {}
  return Object.fromEntries(
    Object.entries(raw)
      .slice(0, 20)
      .map(([key, value]) => [key, readText(value)]),
  )
}

const orders: Record<Sort, Pick<VideoFilters, 'sortBy' | 'sortOrder'>> = {
  newest: { sortBy: 'createdAt', sortOrder: 'desc' },
  oldest: { sortBy: 'createdAt', sortOrder: 'asc' },
  updated: { sortBy: 'updatedAt', sortOrder: 'desc' },
  title: { sortBy: 'title', sortOrder: 'asc' },
  titleReversed: { sortBy: 'title', sortOrder: 'desc' },
}

/** The filters of the API. Without undefined values, so that equal searches have equal query keys. */
export function filtersOf({
  q,
  visibility,
  state,
  tags,
  metadata,
  sort = 'newest',
}: VideoSearch): VideoFilters {
  return {
    ...(q?.trim() && { search: q.trim() }),
    ...(visibility && { public: visibility === 'public' }),
    ...(state && { status: state }),
    ...(tags && { tags }),
    ...(metadata && { metadata }),
    ...orders[sort],
  }
}

export const isFiltered = ({ q, visibility, state, tags, metadata }: VideoSearch) =>
  Boolean(q?.trim() || visibility || state || tags || metadata)
