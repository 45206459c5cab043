import { exampleId, idField, metadataPair, sortByField, sortOrderField, timeField } from '../lib/fields.ts'
import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
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

const Tags = Type.Array(text(limits.tag, { minLength: 1 }), {
  maxItems: limits.tags,
  description: 'Tags to find the video by.',
  examples: [['tutorial', 'beginner']],
})

// The two forms of an item are not alternatives in the schema, because an error in one would be reported for both.
const MetadataInput = Type.Array(
  Type.Object(
    {
      key: Type.Optional(text(limits.key, { description: 'Name of the pair.', examples: ['author'] })),
      value: Type.Optional(text(limits.value, { description: 'Value of the pair.', examples: ['Ada'] })),
    },
    { additionalProperties: text(limits.value) },
  ),
  {
    maxItems: limits.metadata,
    description:
      'Pairs, as `{"key": "author", "value": "Ada"}` or `{"author": "Ada"}`. A value such as `__viewer__` makes the pair dynamic: each viewing session has its own value.',
    examples: [[{ key: 'author', value: 'Ada' }]],
  },
)

const metadataKeyMax = limits.key

const timecode = (meaning: string, example: string) =>
  Type.String({
    pattern: '^(?:\\d{2,3}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3}|:\\d{1,2})?|\\d{1,7})$',
    description: `${meaning} \`HH:MM:SS\`, \`HH:MM:SS.mmm\`, \`HH:MM:SS:frame\` or seconds.`,
    examples: [example],
  })

const length = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 20, description, examples: [example] }))
const distance = (edge: string) =>
  length(`Distance from the ${edge} edge of the video, such as \`10px\` or \`5%\`.`, '2%')
const side = (name: string) =>
  length(
    `Such as \`200px\`, \`15%\` of the ${name} of the video, or \`initial\`: the ${name} of the image.`,
    '15%',
  )

// Not patterns: lib/validation.ts could not explain what is wrong.
const WatermarkInput = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Id of an uploaded watermark. Required.',
        examples: [exampleId('watermark_')],
      }),
    ),
    top: distance('top'),
    left: distance('left'),
    bottom: distance('bottom'),
    right: distance('right'),
    width: side('width'),
    height: side('height'),
    opacity: length('From `0%` (invisible) to `100%` (default).', '80%'),
  },
  {
    description:
      'An image that is burnt into every quality and the MP4. Pixels are those of the source. By default, the image has its own size and is in the top left corner. It is scaled down and moved if it does not fit into the frame.',
    examples: [{ id: exampleId('watermark_'), right: '2%', bottom: '2%', width: '15%', opacity: '80%' }],
  },
)

const titleDescription = 'Title of the video. Searchable.'
const descriptionDescription = 'Text about the video. Searchable.'

const editable = {
  title: Type.Optional(text(limits.title, { description: titleDescription, examples: ['My first video'] })),
  description: Type.Optional(
    text(limits.description, { description: descriptionDescription, examples: ['How to bake bread.'] }),
  ),
  public: Type.Optional(
    Type.Boolean({
      description: 'Whether anyone may watch the video. New videos are public.',
      examples: [true],
    }),
  ),
  panoramic: Type.Optional(
    Type.Boolean({ description: 'Whether the video is a 360° video.', examples: [false] }),
  ),
  mp4Support: Type.Optional(
    Type.Boolean({ description: 'Whether an MP4 file is created.', examples: [true] }),
  ),
  tags: Type.Optional(Tags),
  metadata: Type.Optional(MetadataInput),
  language: Type.Optional(
    Type.Unsafe<(typeof languages)[number] | null>({
      enum: [...languages, null],
      description: 'Spoken language. If it is null, a transcript detects it.',
      examples: ['en'],
    }),
  ),
  playerId: Type.Optional(
    nullable(
      Type.String({
        maxLength: 100,
        description: 'Player theme; null for the default one.',
        examples: [exampleId('pl')],
      }),
    ),
  ),
  transcript: Type.Optional(
    Type.Boolean({
      description:
        'true: recognizes the speech and adds it as a caption. If an earlier transcript failed, it is retried.',
      examples: [true],
    }),
  ),
  transcriptSummary: Type.Optional(
    Type.Boolean({
      description: 'true: also generates a summary from the transcript.',
      examples: [true],
    }),
  ),
  transcriptSummaryAttributes: Type.Optional(
    Type.Array(oneOf(['abstract', 'takeaways']), {
      maxItems: 10,
      description: 'What the summary consists of. Without it, everything.',
      examples: [['abstract', 'takeaways']],
    }),
  ),
}

export const VideoCreation = Type.Object(
  {
    ...editable,
    source: Type.Optional(
      text(2_048, {
        description:
          'URL (http or https) of a video to fetch, or the id of a video in this environment to copy. Without it, the video waits for an upload.',
        examples: ['https://example.com/video.mp4'],
      }),
    ),
    clip: Type.Optional(
      Type.Object(
        {
          startTimecode: Type.Optional(
            timecode('Where the part begins, from the start of the source:', '00:00:05'),
          ),
          endTimecode: Type.Optional(timecode('Where the part ends:', '00:01:05')),
        },
        { description: 'The part of the source to keep.' },
      ),
    ),
    watermark: Type.Optional(WatermarkInput),
  },
  {
    examples: [{ title: 'My first video', tags: ['tutorial'], metadata: [{ key: 'author', value: 'Ada' }] }],
  },
)
export type VideoCreation = Static<typeof VideoCreation>

export const VideoUpdate = Type.Object(editable, {
  examples: [{ title: 'A better title', public: false }],
})
export type VideoUpdate = Static<typeof VideoUpdate>

const VideoSource = Type.Object(
  {
    type: Type.String({ description: '`upload`, `url`, `clone` or `liveStream`.', examples: ['upload'] }),
    uri: Type.String({
      description: 'The URL that is fetched, or the path that files are uploaded to.',
      examples: [`/videos/${exampleId('vi')}/source`],
    }),
    liveStream: Type.Optional(
      Type.Object(
        {
          liveStreamId: idField('li', 'Id of the live stream.'),
          links: Type.Array(
            Type.Object({
              rel: Type.String({ description: 'What the link leads to.', examples: ['self'] }),
              uri: Type.String({
                description: 'Path of the live stream.',
                examples: [`/live-streams/${exampleId('li')}`],
              }),
            }),
            { description: 'Links to the live stream.' },
          ),
        },
        { description: 'For a recording: the live stream that was recorded.' },
      ),
    ),
  },
  { description: 'Where the content comes from.' },
)

const playerUrl = `https://video.example.com/vod/${exampleId('vi')}`
const asset = (description: string, example: string) =>
  Type.String({ format: 'uri', description, examples: [example] })

const VideoAssets = Type.Object(
  {
    hls: asset('The HLS manifest, for any player.', `${playerUrl}/hls/manifest.m3u8`),
    iframe: Type.String({
      description: 'An HTML element that embeds the player.',
      examples: [`<iframe src="${playerUrl}"></iframe>`],
    }),
    player: asset('The page with the player.', playerUrl),
    thumbnail: asset('The thumbnail, as a JPEG image.', `${playerUrl}/thumbnail.jpg`),
    mp4: Type.Optional(
      asset('The MP4 file. Absent when `mp4Support` is false.', `${playerUrl}/mp4/source.mp4`),
    ),
  },
  {
    description:
      'URLs of the video. Those of a private video contain a new token in each response. Null while the video is discarded.',
  },
)

export const Video = Type.Object(
  {
    id: idField('vi', 'Id of the video.'),
    videoId: idField('vi', 'The same as `id`.'),
    title: Type.String({ description: titleDescription, examples: ['My first video'] }),
    description: Type.String({ description: descriptionDescription, examples: ['How to bake bread.'] }),
    public: Type.Boolean({ description: 'Whether anyone may watch the video.', examples: [true] }),
    panoramic: Type.Boolean({ description: 'Whether the video is a 360° video.', examples: [false] }),
    mp4Support: Type.Boolean({ description: 'Whether an MP4 file is created.', examples: [true] }),
    playerId: nullable(
      Type.String({ description: 'Player theme. Null: the default one.', examples: [exampleId('pl')] }),
    ),
    tags: Type.Array(Type.String(), {
      description: 'Tags. Searchable.',
      examples: [['tutorial', 'beginner']],
    }),
    metadata: Type.Array(metadataPair(), { description: 'Pairs of a key and a value. Searchable.' }),
    language: nullable(
      Type.String({ description: 'Spoken language. Null if it is not known.', examples: ['en'] }),
    ),
    languageOrigin: nullable(
      Type.String({
        description: '`api`: set by a request. `auto`: detected by a transcript.',
        examples: ['api'],
      }),
    ),
    source: VideoSource,
    assets: nullable(VideoAssets),
    createdAt: timeField('When the video was created.'),
    updatedAt: timeField('When an attribute of the video was last changed.'),
    publishedAt: timeField('The same as `createdAt`. `public` decides who may watch the video.'),
    discarded: Type.Boolean({
      description: 'Whether the video was deleted and can still be restored.',
      examples: [false],
    }),
    discardedAt: nullable(timeField('When the video was discarded. Null if it was not.')),
    deletesAt: nullable(
      timeField(
        'Until then a discarded video can be restored. Then it is deleted for good.',
        '2026-12-16T09:30:00+00:00',
      ),
    ),
  },
  {
    $id: 'Video',
    description: 'A video: its attributes, where its content comes from, and where it is played.',
  },
)
export type Video = Static<typeof Video>

export const VideoList = listOf(ref(Video), 'VideoList')

export const sortKeys = ['title', 'createdAt', 'publishedAt', 'updatedAt'] as const
export const sortOrders = ['asc', 'desc'] as const

export const videoFilters = {
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
      propertyNames: { minLength: 1, maxLength: metadataKeyMax, format: 'text' },
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

const measured = (description: string, example: number) =>
  nullable(Type.Integer({ description, examples: [example] }))
const measuredText = (description: string, example: string) =>
  nullable(Type.String({ description, examples: [example] }))

const EncodingStatus = Type.Object(
  {
    playable: Type.Boolean({ description: 'Whether the HLS manifest is served.', examples: [true] }),
    qualities: Type.Array(
      Type.Object({
        type: Type.String({ description: '`hls` or `mp4`.', examples: ['hls'] }),
        quality: Type.String({
          description: '`240p`, `360p`, `480p`, `720p`, `1080p` or `2160p`.',
          examples: ['720p'],
        }),
        status: Type.String({
          description: '`waiting`, `encoding`, `encoded` or `failed`.',
          examples: ['encoding'],
        }),
        progress: Type.Optional(Type.Integer({ description: 'Percent.', examples: [40] })),
        failure: Type.Optional(
          Type.String({
            description: 'Why it failed. Absent if it did not.',
            examples: ['The file has no video stream.'],
          }),
        ),
      }),
      { description: 'The qualities of the video. Empty until the file has been examined.' },
    ),
    metadata: Type.Object(
      {
        width: measured('Width of the source in pixels.', 1920),
        height: measured('Height of the source in pixels.', 1080),
        bitrate: nullable(Type.Number({ description: 'Bit rate of the source in kb/s.', examples: [4500] })),
        duration: measured('Duration in seconds.', 60),
        framerate: measured('Frames per second of the source.', 30),
        samplerate: measured('Samples per second of the audio.', 48_000),
        videoCodec: measuredText('Codec of the video stream.', 'h264'),
        audioCodec: measuredText('Codec of the audio stream.', 'aac'),
        aspectRatio: measuredText('Width and height as a fraction.', '16/9'),
      },
      { description: 'What is known of the source. Null until it has been examined.' },
    ),
  },
  { description: 'The progress of the encoding.' },
)

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
        status: {
          type: 'string',
          enum: ['uploading', 'uploaded', 'ingesting', 'ingested'],
          description: 'Of a file that is sent: `uploading`, `uploaded`. Of a URL: `ingesting`, `ingested`.',
          examples: ['uploaded'],
        },
        failure: {
          type: 'string',
          description: 'Why the content could not be fetched. Absent if there is no problem.',
          examples: ['The server responded with status 404.'],
        },
        filesize: {
          type: ['integer', 'null'],
          description: 'Size of the file in bytes. Null while it is not known.',
          examples: [20_971_520],
        },
        receivedBytes: {
          type: 'array',
          description: 'The ranges that have arrived.',
          items: {
            type: 'object',
            properties: {
              from: { type: 'integer', description: 'Position of the first byte.', examples: [0] },
              to: { type: 'integer', description: 'Position of the last byte.', examples: [20_971_519] },
              total: {
                type: ['integer', 'null'],
                description: 'Size of the file. Null while it is not known.',
                examples: [20_971_520],
              },
            },
          },
        },
        receivedParts: {
          type: 'object',
          description: 'For an upload in numbered parts: those that have arrived.',
          properties: {
            parts: {
              type: 'array',
              items: { type: 'integer' },
              description: 'Numbers of the parts.',
              examples: [[]],
            },
            total: {
              type: ['integer', 'null'],
              description: 'Number of all parts. Null for other uploads, and while it is not known.',
              examples: [null],
            },
          },
        },
      },
    }),
    encoding: EncodingStatus,
    transcript: Type.Unsafe<TranscriptStatus | null>({
      type: ['object', 'null'],
      description: 'Null if no transcript was requested.',
      properties: {
        status: {
          type: 'string',
          enum: ['waiting', 'running', 'completed', 'failed', 'unprocessable'],
          description: '`unprocessable`: the video has no audio, no speech or no supported language.',
          examples: ['completed'],
        },
        language: {
          type: ['string', 'null'],
          description: 'Language of the caption, when it is known.',
          examples: ['en'],
        },
        progress: { type: 'integer', description: 'Percent.', examples: [100] },
        failure: {
          type: 'string',
          description: 'Why it is `failed` or `unprocessable`. Absent otherwise.',
          examples: ['The video has no audio.'],
        },
      },
    }),
  },
  { $id: 'VideoStatus', description: 'The progress of upload, encoding and transcript.' },
)
export type VideoStatus = Static<typeof VideoStatus>

export const TagList = listOf(
  Type.Object({
    value: Type.String({ description: 'The tag.', examples: ['tutorial'] }),
    videoCount: Type.Integer({ description: 'Number of videos with this tag.', examples: [12] }),
  }),
  'TagList',
)

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
