import { idField, timeField, timeInput } from '../lib/fields.ts'
import { nullable, oneOf, ref, text } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { limits, MetadataInput } from '../videos/input-schemas.ts'
import { defaultParts, itemStates, objectKinds, type Part, parts, runStates, serviceNames } from './kinds.ts'

const maxListed = 20_000

const ListedUrl = Type.Object({
  url: text(2_048, {
    description: 'The http or https URL of the file.',
    examples: ['https://example.com/film.mp4'],
  }),
  title: Type.Optional(
    text(limits.title, { description: 'By default, the name of the file.', examples: ['My first video'] }),
  ),
  description: Type.Optional(
    text(limits.description, { description: 'Text about the video.', examples: ['How to bake bread.'] }),
  ),
  tags: Type.Optional(
    Type.Array(text(limits.tag, { minLength: 1 }), {
      maxItems: limits.tags,
      description: 'Tags of the video.',
      examples: [['tutorial']],
    }),
  ),
  metadata: Type.Optional(MetadataInput),
  public: Type.Optional(Type.Boolean({ description: 'By default, true.', examples: [true] })),
  language: Type.Optional(text(20, { description: 'Spoken language, as a BCP 47 tag.', examples: ['en'] })),
})
export type ListedUrl = Static<typeof ListedUrl>

const partsField = (description: string) =>
  Type.Array(oneOf(parts), { maxItems: parts.length, description, examples: [defaultParts] })

const choices = {
  keepIds: Type.Optional(
    Type.Boolean({
      description:
        'Whether objects keep their ids, so that embeds work after a change of the DNS. By default, with api.video, Kinora, and what `kinora export` has written.',
      examples: [true],
    }),
  ),
  include: Type.Optional(
    partsField(
      'What to carry over besides the videos. By default, everything but `webhooks`. `views`: a note with the number of plays.',
    ),
  ),
  since: Type.Optional(timeInput('Only videos that were created after this time.')),
  tags: Type.Optional(
    Type.Array(text(limits.tag, { minLength: 1 }), {
      maxItems: limits.tags,
      description: 'Only videos with all of these tags.',
      examples: [['tutorial']],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000_000,
      description: 'At most this many videos.',
      examples: [10],
    }),
  ),
}

export const maxConcurrency = 16

export const ImportRequest = Type.Object(
  {
    service: oneOf(serviceNames, { description: 'Where the videos come from.', examples: ['kinora'] }),
    url: Type.Optional(
      text(2_048, {
        description:
          'The base URL of the service. Required for `kinora`; of `s3`, the endpoint of the store, by default that of Amazon.',
        examples: ['https://video.example.com'],
      }),
    ),
    location: Type.Optional(
      text(1_000, {
        description:
          'Of `s3`: the bucket and the folder in it. Of `cloudflare`: the id of the account. Of `folder`: a name of the folder.',
        examples: ['s3://films/2026'],
      }),
    ),
    region: Type.Optional(
      text(100, { description: 'Of `s3`: the region. By default, us-east-1.', examples: ['eu-central-1'] }),
    ),
    key: Type.Optional(
      text(1_000, {
        description:
          'The API key of the service; of `mux`, the id of the access token; of `cloudflare`, the API token; of `s3`, the access key. Stored encrypted, and deleted when the import ends.',
        examples: ['4blUQJFrYWbaG44NChkH27'],
      }),
    ),
    secret: Type.Optional(
      text(1_000, {
        description: 'Of `s3`: the secret key. Of `mux`: the secret of the access token.',
        examples: ['4blUQJFrYWbaG44NChkH27'],
      }),
    ),
    signingKeyId: Type.Optional(
      text(200, {
        description: 'Of `mux`: the id of a signing key, for captions and MP4s of signed videos.',
        examples: ['44c819de-4add-4c9f-b2e9-384a0a71bede'],
      }),
    ),
    signingKey: Type.Optional(
      text(5_000, {
        description: 'Of `mux`: the private key of the signing key, as Mux shows it.',
        examples: ['LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo='],
      }),
    ),
    list: Type.Optional(
      Type.Array(ListedUrl, {
        maxItems: maxListed,
        description: 'Of `urls`: the files and their attributes.',
        examples: [[{ url: 'https://example.com/film.mp4', title: 'My first video' }]],
      }),
    ),
    dryRun: Type.Optional(
      Type.Boolean({
        description: 'Only list what would be imported. `POST /imports/{importId}/resume` then imports it.',
        examples: [true],
      }),
    ),
    ...choices,
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxConcurrency,
        description: 'How many files are fetched at the same time. By default, 3.',
        examples: [3],
      }),
    ),
    bandwidth: Type.Optional(
      Type.Integer({
        minimum: 1_000,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Bytes per second, all files together. By default, there is no limit.',
        examples: [10_000_000],
      }),
    ),
  },
  { examples: [{ service: 'kinora', url: 'https://video.example.com', key: '4blUQJFrYWbaG44NChkH27' }] },
)
export type ImportRequest = Static<typeof ImportRequest>

/** What the work on a run needs of the request, besides the secrets. */
export type ImportOptions = {
  url?: string
  location?: string
  region?: string
  list?: ListedUrl[]
  keepIds: boolean
  include: Part[]
  since?: string
  tags?: string[]
  limit?: number
}

const count = (description: string, example: number) => Type.Integer({ description, examples: [example] })

export const Import = Type.Object(
  {
    importId: idField('import_', 'Id of the import.'),
    service: oneOf(serviceNames, { description: 'Where the videos come from.', examples: ['kinora'] }),
    account: Type.String({
      description: 'The library at the service.',
      examples: ['https://video.example.com'],
    }),
    state: oneOf(runStates, {
      description:
        '`running`: the list is read, or objects are imported. `ready`: a dry run has listed everything. `paused`, `canceled`: on request. `completed`: nothing is left to do, although objects may have failed. `failed`: the list cannot be read.',
      examples: ['running'],
    }),
    failure: Type.Optional(
      Type.String({ description: 'Why the state is `failed`.', examples: ['The key was refused.'] }),
    ),
    dryRun: Type.Boolean({ description: 'Whether nothing is imported yet.', examples: [false] }),
    isListed: Type.Boolean({ description: 'Whether the entire list has been read.', examples: [true] }),
    waitsUntil: nullable(timeField('The service has asked to wait until then.')),
    keepIds: Type.Boolean({ description: 'Whether objects keep their ids.', examples: [true] }),
    include: partsField('What is carried over besides the videos.'),
    concurrency: count('How many files are fetched at the same time.', 3),
    bandwidth: nullable(count('The limit in bytes per second.', 10_000_000)),
    items: Type.Object(
      {
        waiting: count('Not begun yet.', 10),
        fetching: count('Attributes and file are being fetched.', 3),
        encoding: count('The file has arrived.', 2),
        done: count('Imported.', 100),
        failed: count('Another import tries them again.', 1),
        skipped: count('Not imported, for the reason of each.', 4),
      },
      { description: 'The number of objects in each state.' },
    ),
    videos: Type.Object(
      {
        count: count('Number of videos that are imported, those that have failed included.', 116),
        measured: count('The number of them whose duration and size are known.', 100),
        seconds: Type.Number({ description: 'Duration of those.', examples: [3600] }),
        bytes: count('Size of those.', 4_000_000_000),
        receivedBytes: count('What has arrived of all.', 1_000_000_000),
      },
      { description: 'How much the videos are.' },
    ),
    disk: Type.Object(
      {
        needed: count(
          'Estimated bytes for all videos with what is encoded of them: 2.2 times their size. If not all are measured, the others count as the average.',
          9_000_000_000,
        ),
        free: nullable(
          count('Free bytes on the disk of the service. Null if files are in a bucket.', 100_000_000_000),
        ),
      },
      { description: 'Room on disk.' },
    ),
    estimatedSeconds: nullable(
      count(
        'Until everything is imported, as an estimate: the duration of the rest at the speed of the last encodings here, or, if that takes longer, its size at the speed of the last files that were fetched, or at the limit of the bandwidth. A dry run from Kinora or api.video fetches the beginning of one file for it. Null if durations are not known, or if nothing was encoded here yet.',
        3_600,
      ),
    ),
    createdAt: timeField('When the import was created.'),
    updatedAt: timeField('When the state last changed.'),
    endedAt: nullable(timeField('When the import ended.')),
  },
  { $id: 'Import', description: 'Brings the videos of another service to this one.' },
)

export const ImportList = listOf(ref(Import), 'ImportList')

export const ImportItem = Type.Object(
  {
    kind: oneOf(objectKinds, { description: 'What the object is.', examples: ['video'] }),
    sourceId: Type.String({ description: 'Its id at the service.', examples: ['vi4blUQJFrYWbaG44NChkH27'] }),
    title: Type.String({ description: 'Its title or name.', examples: ['My first video'] }),
    state: oneOf(itemStates, { description: 'How far it is.', examples: ['done'] }),
    reason: nullable(
      Type.String({
        description: 'Why it has failed, was skipped, or is tried again.',
        examples: ['It was imported before and has not changed.'],
      }),
    ),
    notes: Type.Array(Type.String(), {
      description: 'What could not be carried over, and what you should know.',
      examples: [['The watermark is part of the picture.']],
    }),
    objectId: nullable(Type.String({ description: 'Its id here.', examples: ['vi4blUQJFrYWbaG44NChkH27'] })),
    bytes: nullable(count('Size of the file, if it is known.', 1_000_000)),
    receivedBytes: count('What has arrived of it.', 500_000),
    seconds: nullable(Type.Number({ description: 'Duration, if it is known.', examples: [60] })),
    updatedAt: timeField('When the state last changed.'),
  },
  { $id: 'ImportItem', description: 'One object of an import.' },
)

export const ImportItemList = listOf(ref(ImportItem), 'ImportItemList')

export const ReceivedObject = Type.Object({
  kind: oneOf(objectKinds, { description: 'What the object is.', examples: ['video'] }),
  sourceId: text(1_500, {
    minLength: 1,
    description: 'Identifies it in the folder: the id that it had, or the path of the file.',
    examples: ['2026/film.mp4'],
  }),
  title: text(1_000, { description: 'Its title or name.', examples: ['My first video'] }),
  version: text(500, {
    description: 'Changes with its attributes. The same version is not imported again.',
    examples: ['1'],
  }),
  contentVersion: text(500, {
    description: 'Changes with the file, such as its size and time.',
    examples: ['1000000 2026-11-16T09:30:00Z'],
  }),
  bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'Size of the file.', examples: [1_000_000] })),
  details: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'The object as the API has shown it, when it was exported.',
      examples: [{ title: 'My first video', public: false }],
    }),
  ),
})

export const ReceivedItem = Type.Object(
  {
    state: oneOf(itemStates, {
      description: '`fetching`: upload the file to the video now. `skipped`: there is nothing to do.',
      examples: ['fetching'],
    }),
    reason: nullable(
      Type.String({
        description: 'Why it was skipped or has failed.',
        examples: ['It was imported before and has not changed.'],
      }),
    ),
    notes: Type.Array(Type.String(), {
      description: 'What could not be carried over.',
      examples: [['The title was cut after 1000 characters.']],
    }),
    objectId: nullable(Type.String({ description: 'Its id here.', examples: ['vi4blUQJFrYWbaG44NChkH27'] })),
  },
  { $id: 'ReceivedItem', description: 'What is to be done about an object of a folder.' },
)
