import { exampleId, idField, metadataPair, sortByField, sortOrderField, timeField } from '../lib/fields.ts'
import { nullable, ref, text } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { notBlank } from '../lib/validation.ts'
import { MetadataInput } from '../videos/input-schemas.ts'

const maxRestreams = 5

const example = {
  key: '7hJ2kPqLx0RtVb8sYdNc4M',
  url: `https://video.example.com/live/${exampleId('li')}`,
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
      description: 'Whether anyone may watch. The URLs of a private live stream are for one viewer each.',
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
  srtPassphrase: Type.Optional(
    nullable(
      Type.String({
        minLength: 10,
        maxLength: 79,
        pattern: '^[ -~]*$',
        description:
          'What encoders encrypt SRT with: 10 to 79 ASCII characters. `null`: SRT is not encrypted. Changes apply to the next connection.',
        examples: ['correct horse battery'],
      }),
    ),
  ),
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

export const LiveStream = Type.Object(
  {
    liveStreamId: idField('li', 'Id of the live stream.'),
    name: Type.String({ description: 'The name of the live stream.', examples: ['My show'] }),
    streamKey: Type.String({
      description: 'The secret that the encoder sends. Anyone who has it can broadcast.',
      examples: [example.key],
    }),
    public: Type.Boolean({ description: 'Whether anyone may watch.', examples: [true] }),
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
    srtPassphrase: nullable(
      Type.String({ description: 'What encoders encrypt SRT with.', examples: ['correct horse battery'] }),
    ),
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
    lastRefusal: nullable(
      Type.Object(
        {
          at: timeField('When it was rejected.'),
          reason: Type.String({
            description: 'A sentence for the owner of the live stream.',
            examples: ['Another encoder is sending to this live stream.'],
          }),
        },
        { description: 'The last connection of an encoder that was rejected although its key was valid.' },
      ),
    ),
    createdAt: timeField('When the live stream was created.'),
    updatedAt: timeField('When it was last changed.'),
  },
  { $id: 'LiveStream', description: 'What an encoder broadcasts to, and viewers watch.' },
)
export type LiveStream = Static<typeof LiveStream>

export const LiveStreamList = listOf(ref(LiveStream), 'LiveStreamList')

export const sortKeys = ['name', 'createdAt', 'updatedAt', 'broadcasting'] as const

export const listQuery = {
  name: Type.Optional(text(500, { description: 'A part of the name.', examples: ['show'] })),
  streamKey: Type.Optional(text(100, { description: 'The exact stream key.', examples: [example.key] })),
  sortBy: sortByField(sortKeys, 'createdAt'),
  sortOrder: sortOrderField('desc'),
}
