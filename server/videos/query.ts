import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { isId } from '../lib/ids.ts'
import { pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { videoFilters } from './filters.ts'

export const videoParams = Type.Object({ videoId: idField('vi', 'Id of the video.') })

/** Strings that are not ids never reach the database. */
export function checkId(videoId: string): string {
  if (!isId('vi', videoId)) throw notFound('videoId')
  return videoId
}

export const searchQuery = Type.Object({ ...videoFilters, ...pageQuery })

export function readSearch(query: Static<typeof searchQuery>) {
  const { search, title, description, tags, metadata, liveStreamId, sortBy, sortOrder } = query
  return {
    filter: { search: search?.trim(), title, description, tags, metadata, liveStreamId },
    order: { by: sortBy ?? 'createdAt', order: sortOrder ?? 'desc' },
    page: readPage(query),
  } as const
}
