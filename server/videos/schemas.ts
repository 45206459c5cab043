import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { TranscriptStatus } from '../transcripts/status.ts'

/** The languages that the API accepts. */
export const languages = [
  'ar',
  'ca',
  'cs',
  'da',
  'de',
  'el',
  'en',
  'es',
  'fa',
  'fi',
  'fr',
  'he',
  'hi',
  'hr',
  'hu',
  'it',
  'ja',
  'ko',
  'ml',
  'nl',
  'nn',
  'no',
  'pl',
  'pt',
  'ru',
  'sk',
  'sl',
  'te',
  'tr',
  'uk',
  'ur',
  'vi',
  'zh',
] as const

const limits = {
  title: 1_000,
  description: 20_000,
  tags: 100,
  tag: 255,
  metadata: 100,
  key: 255,
  value: 2_000,
}

const dateTime = (options: object = {}) => Type.String({ format: 'date-time', ...options })

const Tags = Type.Array(text(limits.tag, { minLength: 1 }), {
  maxItems: limits.tags,
  description: 'Tags to find the video by.',
})

// The two forms of an item are not alternatives in the schema, because an error in one would be reported for both.
const MetadataInput = Type.Array(
  Type.Object(
    { key: Type.Optional(text(limits.key)), value: Type.Optional(text(limits.value)) },
    { additionalProperties: text(limits.value) },
  ),
  {
    maxItems: limits.metadata,
    description:
      'Pairs, as `{"key": "author", "value": "Ada"}` or `{"author": "Ada"}`. A value such as `__viewer__` makes the pair dynamic: each viewing session has its own value.',
  },
)

const metadataKeyMax = limits.key

const timecode = () =>
  Type.String({
    pattern: '^(?:\\d{2,3}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3}|:\\d{1,2})?|\\d{1,7})$',
    description: '`HH:MM:SS`, `HH:MM:SS.mmm`, `HH:MM:SS:frame` or seconds.',
  })

const length = (description: string) => Type.Optional(Type.String({ maxLength: 20, description }))
const distance = (edge: string) =>
  length(`Distance from the ${edge} edge of the video, such as \`10px\` or \`5%\`.`)
const side = (name: string) =>
  length(`Such as \`200px\`, \`15%\` of the ${name} of the video, or \`initial\`: the ${name} of the image.`)

// Not patterns: lib/validation.ts could not explain what is wrong.
const WatermarkInput = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 100, description: 'Id of an uploaded watermark. Required.' })),
    top: distance('top'),
    left: distance('left'),
    bottom: distance('bottom'),
    right: distance('right'),
    width: side('width'),
    height: side('height'),
    opacity: length('From `0%` (invisible) to `100%` (default).'),
  },
  {
    description:
      'An image that is burnt into every quality and the MP4. Pixels are those of the source. By default, the image has its own size and is in the top left corner. It is scaled down and moved if it does not fit into the frame.',
    examples: [
      { id: 'watermark_4blUQJFrYWbaG44NChkH27', right: '2%', bottom: '2%', width: '15%', opacity: '80%' },
    ],
  },
)

const editable = {
  title: Type.Optional(text(limits.title)),
  description: Type.Optional(text(limits.description)),
  public: Type.Optional(Type.Boolean({ description: 'Whether anyone may watch the video.' })),
  panoramic: Type.Optional(Type.Boolean({ description: 'Whether the video is a 360° video.' })),
  mp4Support: Type.Optional(Type.Boolean({ description: 'Whether an MP4 file is created.' })),
  tags: Type.Optional(Tags),
  metadata: Type.Optional(MetadataInput),
  language: Type.Optional(
    Type.Unsafe<(typeof languages)[number] | null>({
      enum: [...languages, null],
      description: 'Spoken language. If it is null, a transcript detects it.',
    }),
  ),
  playerId: Type.Optional(
    nullable(Type.String({ maxLength: 100, description: 'Player theme; null for the default one.' })),
  ),
  transcript: Type.Optional(
    Type.Boolean({
      description:
        'true: recognizes the speech and adds it as a caption. If an earlier transcript failed, it is retried.',
    }),
  ),
  transcriptSummary: Type.Optional(
    Type.Boolean({ description: 'true: also generates a summary from the transcript.' }),
  ),
  transcriptSummaryAttributes: Type.Optional(
    Type.Array(oneOf(['abstract', 'takeaways']), {
      maxItems: 10,
      description: 'What the summary consists of. Without it, everything.',
    }),
  ),
}

export const VideoCreation = Type.Object({
  ...editable,
  source: Type.Optional(
    text(2_048, {
      description:
        'URL (http or https) of a video to fetch, or the id of a video in this environment to copy. Without it, the video waits for an upload.',
    }),
  ),
  clip: Type.Optional(
    Type.Object(
      { startTimecode: Type.Optional(timecode()), endTimecode: Type.Optional(timecode()) },
      { description: 'The part of the source to keep.' },
    ),
  ),
  watermark: Type.Optional(WatermarkInput),
})
export type VideoCreation = Static<typeof VideoCreation>

export const VideoUpdate = Type.Object(editable)
export type VideoUpdate = Static<typeof VideoUpdate>

export const Video = Type.Object(
  {
    id: Type.String(),
    videoId: Type.String({ description: 'The same as `id`.' }),
    title: Type.String(),
    description: Type.String(),
    public: Type.Boolean(),
    panoramic: Type.Boolean(),
    mp4Support: Type.Boolean(),
    playerId: nullable(Type.String()),
    tags: Type.Array(Type.String()),
    metadata: Type.Array(Type.Object({ key: Type.String(), value: Type.String() })),
    language: nullable(Type.String()),
    languageOrigin: nullable(
      Type.String({ description: '`api`: set by a request. `auto`: detected by a transcript.' }),
    ),
    source: Type.Object({
      type: Type.String({ description: '`upload`, `url`, `clone` or `liveStream`.' }),
      uri: Type.String(),
      liveStream: Type.Optional(
        Type.Object({
          liveStreamId: Type.String(),
          links: Type.Array(Type.Object({ rel: Type.String(), uri: Type.String() })),
        }),
      ),
    }),
    assets: nullable(
      Type.Object(
        {
          hls: Type.String({ format: 'uri' }),
          iframe: Type.String({
            description:
              'HTML that embeds the player in a page, as wide as possible and in the shape of the video.',
          }),
          player: Type.String({ format: 'uri' }),
          thumbnail: Type.String({ format: 'uri' }),
          mp4: Type.Optional(
            Type.String({ format: 'uri', description: 'Absent when `mp4Support` is false.' }),
          ),
        },
        { description: 'Null while the video is discarded.' },
      ),
    ),
    createdAt: dateTime(),
    updatedAt: dateTime(),
    publishedAt: dateTime(),
    discarded: Type.Boolean({ description: 'Whether the video was deleted and can still be restored.' }),
    discardedAt: nullable(dateTime({ examples: ['2026-11-16T09:30:00+00:00'] })),
    deletesAt: nullable(
      dateTime({
        description: 'Until then a discarded video can be restored. Then it is deleted for good.',
        examples: ['2026-12-16T09:30:00+00:00'],
      }),
    ),
  },
  { $id: 'Video' },
)
export type Video = Static<typeof Video>

export const VideoList = Type.Object(
  { data: Type.Array(ref(Video)), pagination: ref(Pagination) },
  { $id: 'VideoList' },
)

export const sortKeys = ['title', 'createdAt', 'publishedAt', 'updatedAt'] as const
export const sortOrders = ['asc', 'desc'] as const

export const videoFilters = {
  title: Type.Optional(text(limits.title, { description: 'Part of the title; case does not matter.' })),
  description: Type.Optional(
    text(limits.description, { description: 'Part of the description; case does not matter.' }),
  ),
  tags: Type.Optional(
    Type.Array(text(limits.tag), {
      maxItems: limits.tags,
      description: 'The video must have all of these tags; as `tags[]`.',
    }),
  ),
  metadata: Type.Optional(
    Type.Record(Type.String(), text(limits.value), {
      maxProperties: limits.metadata,
      propertyNames: { minLength: 1, maxLength: metadataKeyMax, format: 'text' },
      description: 'The video must have all of these pairs; as `metadata[key]=value`.',
    }),
  ),
  liveStreamId: Type.Optional(text(100, { description: 'Recordings of this live stream.' })),
  sortBy: Type.Optional(oneOf(sortKeys, { default: 'createdAt' })),
  sortOrder: Type.Optional(oneOf(sortOrders, { default: 'desc' })),
}

const measured = (options: { description?: string } = {}) => nullable(Type.Integer(options))

export const VideoStatus = Type.Object(
  {
    ingest: Type.Unsafe<{
      status: 'uploading' | 'uploaded' | 'ingesting' | 'ingested'
      filesize: number | null
      receivedBytes: { from: number; to: number; total: number | null }[]
      receivedParts: { parts: number[]; total: number | null }
      failure?: string
    } | null>({
      type: ['object', 'null'],
      description: 'Null until the first bytes arrive.',
      properties: {
        status: { type: 'string', enum: ['uploading', 'uploaded', 'ingesting', 'ingested'] },
        failure: { type: 'string', description: 'Why the content could not be fetched.' },
        filesize: { type: ['integer', 'null'] },
        receivedBytes: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              from: { type: 'integer' },
              to: { type: 'integer' },
              total: { type: ['integer', 'null'] },
            },
          },
        },
        receivedParts: {
          type: 'object',
          properties: {
            parts: { type: 'array', items: { type: 'integer' } },
            total: { type: ['integer', 'null'] },
          },
        },
      },
    }),
    encoding: Type.Object({
      playable: Type.Boolean({ description: 'Whether the HLS manifest is served.' }),
      qualities: Type.Array(
        Type.Object({
          type: Type.String({ description: 'hls or mp4.' }),
          quality: Type.String({ description: '240p, 360p, 480p, 720p, 1080p or 2160p.' }),
          status: Type.String({ description: 'waiting, encoding, encoded or failed.' }),
          progress: Type.Optional(Type.Integer({ description: 'Percent.' })),
          failure: Type.Optional(Type.String({ description: 'Why it failed.' })),
        }),
      ),
      metadata: Type.Object({
        width: measured(),
        height: measured(),
        bitrate: nullable(Type.Number({ description: 'kb/s' })),
        duration: measured({ description: 'Seconds.' }),
        framerate: measured(),
        samplerate: measured(),
        videoCodec: nullable(Type.String()),
        audioCodec: nullable(Type.String()),
        aspectRatio: nullable(Type.String()),
      }),
    }),
    transcript: Type.Unsafe<TranscriptStatus | null>({
      type: ['object', 'null'],
      description: 'Null if no transcript was requested.',
      properties: {
        status: {
          type: 'string',
          enum: ['waiting', 'running', 'completed', 'failed', 'unprocessable'],
          description: '`unprocessable`: the video has no audio, no speech or no supported language.',
        },
        language: { type: ['string', 'null'], description: 'Language of the caption, when it is known.' },
        progress: { type: 'integer', description: 'Percent.' },
        failure: { type: 'string', description: 'Why it is `failed` or `unprocessable`.' },
      },
    }),
  },
  { $id: 'VideoStatus' },
)
export type VideoStatus = Static<typeof VideoStatus>

export const TagList = Type.Object(
  {
    data: Type.Array(Type.Object({ value: Type.String(), videoCount: Type.Integer() })),
    pagination: ref(Pagination),
  },
  { $id: 'TagList' },
)

export const tagFilters = {
  value: Type.Optional(text(limits.tag, { description: 'Part of the tag; case and accents do not matter.' })),
  sortBy: Type.Optional(oneOf(['value', 'videoCount'], { default: 'value' })),
  sortOrder: Type.Optional(oneOf(sortOrders, { default: 'asc' })),
}
