import type { Part, ServiceName } from '../../../api/imports.ts'
import { importMessages } from '../../../messages/imports.ts'

/** Services that need no files of this computer. */
export type RemoteService = Exclude<ServiceName, 'folder'>

type FieldName = 'url' | 'location' | 'region' | 'key' | 'secret' | 'signingKeyId' | 'signingKey'

type ServiceField = {
  name: FieldName
  label: string
  type?: 'url' | 'password'
  placeholder?: string
  hint?: string
  isOptional?: true
}

export type Service = {
  name: RemoteService
  fields: ServiceField[]
  /** What it has besides videos. */
  parts: Part[]
  hasTags: boolean
  keepsIds: boolean
}

const t = importMessages.fields
const secret = { type: 'password', hint: importMessages.new.secretHint } as const
const allParts: Part[] = [
  'captions',
  'chapters',
  'thumbnails',
  'summaries',
  'players',
  'liveStreams',
  'webhooks',
  'views',
]

/** In the order of the form. */
export const services: Service[] = [
  {
    name: 'kinora',
    fields: [
      { name: 'url', label: t.url, type: 'url', placeholder: 'https://video.example.com' },
      { name: 'key', label: t.apiKey, ...secret },
    ],
    parts: allParts,
    hasTags: true,
    keepsIds: true,
  },
  {
    name: 'api.video',
    fields: [
      { name: 'key', label: t.apiKey, ...secret },
      {
        name: 'url',
        label: t.apiUrl,
        type: 'url',
        placeholder: 'https://ws.api.video',
        hint: t.apiUrlHint,
        isOptional: true,
      },
    ],
    parts: allParts,
    hasTags: true,
    keepsIds: true,
  },
  {
    name: 'mux',
    fields: [
      { name: 'key', label: t.tokenId },
      { name: 'secret', label: t.tokenSecret, ...secret },
      { name: 'signingKeyId', label: t.signingKeyId, hint: t.signingKeyHint, isOptional: true },
      { name: 'signingKey', label: t.signingKey, ...secret, isOptional: true },
    ],
    parts: ['captions'],
    hasTags: false,
    keepsIds: false,
  },
  {
    name: 'cloudflare',
    fields: [
      { name: 'location', label: t.account },
      { name: 'key', label: t.apiToken, ...secret },
    ],
    parts: ['captions', 'thumbnails'],
    hasTags: false,
    keepsIds: false,
  },
  {
    name: 's3',
    fields: [
      { name: 'location', label: t.bucket, placeholder: 's3://films/2026' },
      { name: 'url', label: t.endpoint, type: 'url', hint: t.endpointHint, isOptional: true },
      { name: 'region', label: t.region, placeholder: 'us-east-1', isOptional: true },
      { name: 'key', label: t.accessKey },
      { name: 'secret', label: t.secretKey, ...secret },
    ],
    parts: ['captions', 'chapters', 'thumbnails', 'summaries', 'players', 'liveStreams'],
    hasTags: true,
    keepsIds: true,
  },
  { name: 'urls', fields: [], parts: [], hasTags: false, keepsIds: false },
]

export const findService = (name: RemoteService): Service => services.find((each) => each.name === name)!
