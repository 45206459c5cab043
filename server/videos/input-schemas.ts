import { exampleId } from '../lib/fields.ts'
import { nullable, oneOf, text } from '../lib/http.ts'
import { type Static, Type } from '../lib/schema.ts'
import { timecodePattern } from '../media/timecode.ts'
import { languages } from './languages.ts'

export const limits = {
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
export const MetadataInput = Type.Array(
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

const timecode = (meaning: string, example: string) =>
  Type.String({
    pattern: timecodePattern,
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
      'An image that is burnt into every quality and the MP4. Pixels refer to the source. By default, the image has its own size and is in the top left corner. It is scaled down and moved if it does not fit into the frame.',
    examples: [{ id: exampleId('watermark_'), right: '2%', bottom: '2%', width: '15%', opacity: '80%' }],
  },
)

export const titleDescription = 'Title of the video. Searchable.'
export const descriptionDescription = 'Text about the video. Searchable.'
export const playableDuringUploadDescription =
  'Whether viewers may watch what has arrived of the source before it is complete. Null: yes if it is uploaded with an API key or fetched from a URL, no if it is uploaded with an upload token.'

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
  playableDuringUpload: Type.Optional(
    nullable(Type.Boolean({ description: playableDuringUploadDescription, examples: [true] })),
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
        'true: generates a transcript and adds it as a caption. If an earlier transcript failed, it is retried.',
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
