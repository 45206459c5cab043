import { nullable, oneOf } from '../lib/http.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { Tables } from '../tables.ts'

const measured = (description: string, example: number) =>
  nullable(Type.Integer({ description, examples: [example] }))
const measuredText = (description: string, example: string) =>
  nullable(Type.String({ description, examples: [example] }))

const EncodingStatus = Type.Object(
  {
    playable: Type.Boolean({ description: 'Whether the HLS manifest is served.', examples: [true] }),
    qualities: Type.Array(
      Type.Object({
        type: oneOf(['hls', 'mp4'], { description: '`hls` or `mp4`.', examples: ['hls'] }),
        quality: Type.String({
          description: '`240p`, `360p`, `480p`, `720p`, `1080p` or `2160p`.',
          examples: ['720p'],
        }),
        status: oneOf(['waiting', 'encoding', 'encoded', 'failed'], {
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
        duration: measured('Duration in seconds of what viewers get: of the clip, if there is one.', 60),
        framerate: measured('Frames per second of the source.', 30),
        samplerate: measured('Samples per second of the audio.', 48_000),
        videoCodec: measuredText('Codec of the video stream.', 'h264'),
        audioCodec: measuredText('Codec of the audio stream.', 'aac'),
        aspectRatio: measuredText('Width and height as a fraction.', '16/9'),
      },
      { description: 'What is known about the source. Null until it has been examined.' },
    ),
  },
  { description: 'The progress of the encoding.' },
)

const range = (to: number) => ({
  type: 'object',
  required: ['from', 'to', 'total'],
  properties: {
    from: { type: 'integer', description: 'Position of the first byte.', examples: [0] },
    to: { type: 'integer', description: 'Position of the last byte.', examples: [to] },
    total: {
      type: ['integer', 'null'],
      description: 'Size of the file. Null while it is not known.',
      examples: [20_971_520],
    },
  },
})

export const VideoStatus = Type.Object(
  {
    ingest: Type.Unsafe<{
      status?: 'uploading' | 'uploaded' | 'ingesting' | 'ingested'
      filesize: number | null
      receivedBytes: { from: number; to: number; total: number | null }[]
      arrivingBytes?: { from: number; to: number; total: number | null }
      receivedParts: { parts: number[]; total: number | null }
      failure?: string
      sourceDroppedAt?: string
    } | null>({
      type: ['object', 'null'],
      description: 'Null until the first bytes arrive.',
      required: ['filesize', 'receivedBytes', 'receivedParts'],
      properties: {
        status: {
          type: 'string',
          enum: ['uploading', 'uploaded', 'ingesting', 'ingested'],
          description:
            'For an uploaded file: `uploading`, `uploaded`. For a URL or a copied video: `ingesting`, `ingested`. Absent if the content could not be fetched: `failure` says why.',
          examples: ['uploaded'],
        },
        failure: {
          type: 'string',
          description: 'Why the content could not be fetched. Absent if there is no problem.',
          examples: ['The server responded with status 404.'],
        },
        sourceDroppedAt: {
          type: 'string',
          format: 'date-time',
          description:
            'When the file was removed because everything is encoded (`KINORA_SOURCE_DAYS`). Absent if it is kept.',
          examples: ['2026-05-01T09:30:00.000Z'],
        },
        filesize: {
          type: ['integer', 'null'],
          description: 'Size of the file in bytes. Null while it is not known.',
          examples: [20_971_520],
        },
        receivedBytes: {
          type: 'array',
          description: 'The ranges that have arrived.',
          items: range(20_971_519),
        },
        arrivingBytes: {
          ...range(4_194_303),
          description:
            'What has arrived of the chunk that is being sent. If its request fails, it has to be sent again. Absent if nothing arrives, or if the service does not encode files while they arrive.',
        },
        receivedParts: {
          type: 'object',
          description: 'For an upload in numbered parts: those that have arrived.',
          required: ['parts', 'total'],
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
    transcript: Type.Unsafe<{
      status: Tables['transcripts']['state']
      language: string | null
      progress: number
      failure?: string
    } | null>({
      type: ['object', 'null'],
      description: 'Null if no transcript was requested.',
      required: ['status', 'language', 'progress'],
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
