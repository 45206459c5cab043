import { httpErrors, notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { isId } from '../lib/ids.ts'
import { pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { readTime } from '../lib/time.ts'
import { videoFilters } from './filters.ts'
import { includeQuery } from './include.ts'

export const videoParams = Type.Object({ videoId: idField('vi', 'Id of the video.') })

/** Strings that are not ids never reach the database. */
export function checkId(videoId: string): string {
  if (!isId('vi', videoId)) throw notFound('videoId')
  return videoId
}

export const searchQuery = Type.Object({ ...videoFilters, ...pageQuery })
export const listQuery = Type.Object({ ...videoFilters, ...includeQuery, ...pageQuery })

export function readSearch(query: Static<typeof searchQuery>) {
  const { title, description, tags, metadata, liveStreamId, playerId, status, sortBy, sortOrder } = query
  return {
    filter: {
      title,
      description,
      tags,
      metadata,
      liveStreamId,
      playerId,
      status,
      public: query.public,
      search: query.search?.trim(),
      createdAfter: readBound(query, 'createdAfter'),
      createdBefore: readBound(query, 'createdBefore'),
    },
    order: { by: sortBy ?? 'createdAt', order: sortOrder ?? 'desc' },
    page: readPage(query),
  } as const
}

function readBound(query: Static<typeof searchQuery>, name: 'createdAfter' | 'createdBefore') {
  const value = query[name]
  return value ? readTime(value, name, httpErrors.invalidQueryParameter) : undefined
}
