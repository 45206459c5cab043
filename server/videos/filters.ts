import { exampleId, sortByField, sortOrderField } from '../lib/fields.ts'
import { text } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { limits } from './input-schemas.ts'

/** A search by text lists and counts at most so many videos. */
export const maxFound = 5_000

export const sortKeys = ['title', 'createdAt', 'publishedAt', 'updatedAt'] as const
export const sortOrders = ['asc', 'desc'] as const

export const videoFilters = {
  search: Type.Optional(
    text(200, {
      description: `Words that must all occur, in any order, in the title, the description, the tags or the metadata; or the id of a video. Case and accents do not matter. Lists at most ${maxFound.toLocaleString('en')} videos.`,
      examples: ['bread beginner'],
    }),
  ),
  title: Type.Optional(
    text(limits.title, { description: 'Part of the title; case does not matter.', examples: ['first'] }),
  ),
  description: Type.Optional(
    text(limits.description, {
      description: 'Part of the description; case does not matter.',
      examples: ['bread'],
    }),
  ),
  tags: Type.Optional(
    Type.Array(text(limits.tag), {
      maxItems: limits.tags,
      description: 'The video must have all of these tags; as `tags[]`.',
      examples: [['tutorial']],
    }),
  ),
  metadata: Type.Optional(
    Type.Record(Type.String(), text(limits.value), {
      maxProperties: limits.metadata,
      propertyNames: { minLength: 1, maxLength: limits.key, format: 'text' },
      description: 'The video must have all of these pairs; as `metadata[key]=value`.',
      examples: [{ author: 'Ada' }],
    }),
  ),
  liveStreamId: Type.Optional(
    text(100, { description: 'Recordings of this live stream.', examples: [exampleId('li')] }),
  ),
  sortBy: sortByField(sortKeys, 'createdAt'),
  sortOrder: sortOrderField('desc'),
}

export const tagFilters = {
  value: Type.Optional(
    text(limits.tag, {
      description: 'Part of the tag; case and accents do not matter.',
      examples: ['tutor'],
    }),
  ),
  sortBy: sortByField(['value', 'videoCount'], 'value'),
  sortOrder: sortOrderField('asc'),
}
