import { metadataPair } from '../lib/fields.ts'
import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { notBlank } from '../lib/validation.ts'
import { MetadataInput } from '../videos/input-schemas.ts'

const maxRestreams = 5

const example = {
  id: 'li4pqNqGUkhKfWcBGpZVLRY5',
  key: 'dw-dew8-q6w9-k67w-1ws8',
  url: 'https://video.example.com/live/li4pqNqGUkhKfWcBGpZVLRY5',
}

export const Restream = Type.Object({
  name: text(200, {
    minLength: 1,
    pattern: notBlank,
    description: 'For your own use.',
    examples: ['My channel'],
  }),
  serverUrl: text(2_000, {
    minLength: 1,
    description: 'The `rtmp` or `rtmps` URL of the server, without the stream key.',
    examples: ['rtmp://live.example.com/app'],
  }),
  streamKey: text(500, {
    minLength: 1,
    pattern: notBlank,
    description: 'The stream key of that server.',
    examples: ['abcd-efgh'],
  }),
})
export type Restream = Static<typeof Restream>

const name = (options: object = {}) =>
  text(500, {
    minLength: 1,
    pattern: notBlank,
    description: 'The name of the live stream.',
    examples: ['My show'],
    ...options,
  })

const settings = {
  public: Type.Optional(
    Type.Boolean({
      description: 'Whether everyone may watch. The URLs of a private live stream are for one viewer each.',
      default: true,
      examples: [true],
    }),
  ),
  record: Type.Optional(
    Type.Boolean({ description: 'Whether each broadcast becomes a video.', default: true, examples: [true] }),
  ),
  playerId: Type.Optional(
    nullable(
      Type.String({
        description: 'The player theme; `null` for the default.',
        examples: ['pl45KFKdlddgk654dspkze'],
      }),
    ),
  ),
  restreams: Type.Optional(
    Type.Array(Restream, {
      maxItems: maxRestreams,
      description: 'Servers that the stream is also sent to. Changes apply to the next broadcast.',
      examples: [[]],
    }),
  ),
  metadata: Type.Optional(MetadataInput),
  showViewers: Type.Optional(
    Type.Boolean({
      description: 'Whether the player shows the number of viewers.',
      default: false,
      examples: [false],
    }),
  ),
}

export const LiveStreamCreation = Type.Object({ name: name(), ...settings })
export type LiveStreamCreation = Static<typeof LiveStreamCreation>

export const LiveStreamUpdate = Type.Object({ name: Type.Optional(name()), ...settings })
export type LiveStreamUpdate = Static<typeof LiveStreamUpdate>

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T10:18:47+00:00'] })

export const LiveStream = Type.Object(
  {
    liveStreamId: Type.String({ description: 'The id of the live stream.', examples: [example.id] }),
    name: Type.String({ description: 'The name of the live stream.', examples: ['My show'] }),
    streamKey: Type.String({
      description: 'The secret that the encoder sends. Whoever has it can broadcast.',
      examples: [example.key],
    }),
    public: Type.Boolean({ description: 'Whether everyone may watch.', examples: [true] }),
    record: Type.Boolean({ description: 'Whether each broadcast becomes a video.', examples: [true] }),
    broadcasting: Type.Boolean({ description: 'Whether viewers can watch it now.', examples: [false] }),
    playerId: nullable(
      Type.String({ description: 'The player theme.', examples: ['pl45KFKdlddgk654dspkze'] }),
    ),
    restreams: Type.Array(Restream, { description: 'Servers that the stream is also sent to.' }),
    metadata: Type.Array(metadataPair(), { description: 'Pairs of a key and a value.' }),
    showViewers: Type.Boolean({
      description: 'Whether the player shows the number of viewers.',
      examples: [false],
    }),
    assets: Type.Object(
      {
        hls: Type.String({
          format: 'uri',
          description: 'For HLS players.',
          examples: [`${example.url}.m3u8`],
        }),
        iframe: Type.String({
          description: 'The HTML that embeds the player page.',
          examples: [`<iframe src="${example.url}" width="100%"></iframe>`],
        }),
        player: Type.String({ format: 'uri', description: 'The player page.', examples: [example.url] }),
        thumbnail: Type.String({
          format: 'uri',
          description: 'An image of the live stream.',
          examples: [`${example.url}/thumbnail.jpg`],
        }),
      },
      { description: 'The URLs for viewers.' },
    ),
    createdAt: time('When the live stream was created.'),
    updatedAt: time('When it was last changed.'),
  },
  { $id: 'LiveStream' },
)
export type LiveStream = Static<typeof LiveStream>

export const LiveStreamList = Type.Object(
  { data: Type.Array(ref(LiveStream)), pagination: ref(Pagination) },
  { $id: 'LiveStreamList' },
)

export const sortKeys = ['name', 'createdAt', 'updatedAt'] as const

export const listQuery = {
  name: Type.Optional(text(500, { description: 'A part of the name.', examples: ['show'] })),
  streamKey: Type.Optional(text(100, { description: 'The exact stream key.', examples: [example.key] })),
  sortBy: Type.Optional(oneOf(sortKeys, { default: 'createdAt', description: 'The field to sort by.' })),
  sortOrder: Type.Optional(oneOf(['asc', 'desc'], { default: 'desc', description: 'The direction.' })),
}
