import { ref } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'

export const trackListParams = Type.Object({ videoId: Type.String({ description: 'Id of the video.' }) })

export const trackParams = Type.Object({
  videoId: Type.String({ description: 'Id of the video.' }),
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
    default: Type.Boolean({ description: 'Whether players show these captions by default.' }),
  },
  { $id: 'Caption' },
)
export type Caption = Static<typeof Caption>

export const CaptionList = Type.Object(
  { data: Type.Array(ref(Caption)), pagination: ref(Pagination) },
  { $id: 'CaptionList' },
)

export const CaptionUpdate = Type.Object({
  default: Type.Optional(
    Type.Boolean({
      description: 'Whether players show these captions by default. Captions in other languages then do not.',
    }),
  ),
})

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
  { $id: 'Chapter' },
)
export type Chapter = Static<typeof Chapter>

export const ChapterList = Type.Object(
  { data: Type.Array(ref(Chapter)), pagination: ref(Pagination) },
  { $id: 'ChapterList' },
)
