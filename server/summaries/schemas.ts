import { oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import type { Summary as StoredSummary } from './store.ts'
import { summaryAttributes, summaryOrigins, summaryStates } from './tables.ts'

const limits = { abstract: 10_000, takeaways: 3, takeaway: 1_000 }

export const SummaryCreation = Type.Object({
  videoId: text(100, { description: 'Id of the video.' }),
  origin: Type.Optional(
    oneOf(['auto'], {
      description: 'Generate the summary from the transcript. Without it, you write the summary yourself.',
    }),
  ),
  attributes: Type.Optional(
    Type.Array(oneOf(summaryAttributes), {
      maxItems: 10,
      description: 'What is generated. Without it, everything.',
    }),
  ),
})

export const SummaryUpdate = Type.Object({
  abstract: Type.Optional(text(limits.abstract, { minLength: 1 })),
  takeaways: Type.Optional(
    Type.Array(text(limits.takeaway, { minLength: 1 }), { maxItems: limits.takeaways }),
  ),
})

const time = () => Type.String({ format: 'date-time' })

export const Summary = Type.Object(
  {
    summaryId: Type.String(),
    videoId: Type.String(),
    origin: oneOf(summaryOrigins, { description: '`auto`: generated. `api`: written by hand.' }),
    sourceStatus: oneOf(summaryStates, {
      description:
        '`missing`: the text has to be written. `waiting`: it is being generated. `failed`: it could not be generated. `completed`: it exists. `unprocessable`: the video has too little speech.',
    }),
    failure: Type.Optional(
      Type.String({ description: 'Why `sourceStatus` is `failed` or `unprocessable`.' }),
    ),
    createdAt: time(),
    updatedAt: time(),
  },
  { $id: 'Summary' },
)

export const SummarySource = Type.Object(
  {
    abstract: Type.Optional(Type.String({ description: 'Outline of the video.' })),
    takeaways: Type.Optional(
      Type.Array(Type.String(), { description: 'Key points of the video, in their order.' }),
    ),
  },
  { $id: 'SummarySource' },
)

export const SummaryList = Type.Object(
  { data: Type.Array(ref(Summary)), pagination: ref(Pagination) },
  { $id: 'SummaryList' },
)

export const viewSummary = (row: StoredSummary): Static<typeof Summary> => ({
  summaryId: row.id,
  videoId: row.video_id,
  origin: row.origin,
  sourceStatus: row.state,
  ...(row.failure !== null && { failure: row.failure }),
  createdAt: atom(row.created_at),
  updatedAt: atom(row.updated_at),
})

export const viewSource = ({ abstract, takeaways }: StoredSummary): Static<typeof SummarySource> => ({
  ...(abstract !== null && { abstract }),
  ...(takeaways !== null && { takeaways }),
})
