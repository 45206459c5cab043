import { exampleId, sortByField, sortOrderField, timeInput } from '../lib/fields.ts'
import { oneOf, text } from '../lib/http.ts'
import { maxCounted } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { limits } from './input-schemas.ts'
import { videoStates } from './state-store.ts'

/** Lists with filters count at most this many videos, and `search` lists no more. */
export const maxFound = maxCounted

/** A text that no index can look up is looked for in this many videos. */
export const maxScanned = 100_000

const shortTexts = `Without a word of three letters or digits, and without another filter that an index supports, only the first ${maxScanned.toLocaleString('en')} videos of the order are searched.`

export const sortKeys = ['title', 'createdAt', 'publishedAt', 'updatedAt'] as const
export const sortOrders = ['asc', 'desc'] as const

export const videoFilters = {
  search: Type.Optional(
    text(200, {
      description: `Words that must all occur, in any order, in the title, the description, the tags or the metadata; or the id of a video. Case and accents do not matter. Lists at most ${maxFound.toLocaleString('en')} videos. ${shortTexts}`,
      examples: ['bread beginner'],
    }),
  ),
  title: Type.Optional(
    text(limits.title, {
      description: `Part of the title; case does not matter. ${shortTexts}`,
      examples: ['first'],
    }),
  ),
  description: Type.Optional(
    text(limits.description, {
      description: `Part of the description; case does not matter. ${shortTexts}`,
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
  playerId: Type.Optional(
    text(100, { description: 'Videos with this player theme.', examples: [exampleId('pl')] }),
  ),
  public: Type.Optional(
    Type.Boolean({ description: '`true`: public videos. `false`: private videos.', examples: [true] }),
  ),
  status: Type.Optional(
    oneOf(videoStates, {
      description:
        '`missing`: nothing has been uploaded. `processing`: content arrives or is encoded; the video may already be playable. `ready`: the encoding has ended. `failed`: the content could not be fetched or encoded.',
      examples: ['ready'],
    }),
  ),
  createdAfter: Type.Optional(timeInput('Created at this time or later.')),
  createdBefore: Type.Optional(timeInput('Created before this time.')),
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
