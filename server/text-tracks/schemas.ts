import { idField } from '../lib/fields.ts'
import { ref } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'

export const trackListParams = Type.Object({ videoId: idField('vi', 'Id of the video.') })

export const trackParams = Type.Object({
  videoId: idField('vi', 'Id of the video.'),
  language: Type.String({
    description: 'A BCP 47 language tag, such as `en` or `pt-BR`. Case does not matter.',
    examples: ['en'],
  }),
})

const src = Type.String({
  format: 'uri',
  description: 'URL of the WebVTT file. For a private video, it contains a new token in each response.',
  examples: ['https://video.example.com/vod/vi4blUQJFrYWbaG44NChkH27/captions/en.vtt'],
})

export const Caption = Type.Object(
  {
    uri: Type.String({
      description: 'Path of this object in the API.',
      examples: ['/videos/vi4blUQJFrYWbaG44NChkH27/captions/en'],
    }),
    src,
    srclang: Type.String({ description: 'Language tag.', examples: ['en'] }),
    languageName: Type.String({
      description: 'Name of the language in that language.',
      examples: ['English'],
    }),
    default: Type.Boolean({
      description: 'Whether players show these captions by default.',
      examples: [false],
    }),
  },
  { $id: 'Caption', description: 'The captions of a video in one language.' },
)
export type Caption = Static<typeof Caption>

export const CaptionList = listOf(ref(Caption), 'CaptionList')

export const CaptionUpdate = Type.Object(
  {
    default: Type.Optional(
      Type.Boolean({
        description:
          'Whether players show these captions by default. Captions in other languages then do not.',
        examples: [true],
      }),
    ),
  },
  { examples: [{ default: true }] },
)

export const Chapter = Type.Object(
  {
    uri: Type.String({
      description: 'Path of this object in the API.',
      examples: ['/videos/vi4blUQJFrYWbaG44NChkH27/chapters/en'],
    }),
    src: {
      ...src,
      examples: ['https://video.example.com/vod/vi4blUQJFrYWbaG44NChkH27/chapters/en.vtt'],
    } as typeof src,
    language: Type.String({ description: 'Language tag.', examples: ['en'] }),
  },
  { $id: 'Chapter', description: 'The chapters of a video in one language.' },
)
export type Chapter = Static<typeof Chapter>

export const ChapterList = listOf(ref(Chapter), 'ChapterList')
