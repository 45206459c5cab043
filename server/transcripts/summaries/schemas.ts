import { exampleId, idField, timeField } from '../../lib/fields.ts'
import { oneOf, ref, text } from '../../lib/http.ts'
import { listOf } from '../../lib/paging.ts'
import { type Static, Type } from '../../lib/schema.ts'
import { formatTime } from '../../lib/time.ts'
import { summaryAttributes, summaryOrigins, summaryStates } from '../tables.ts'
import { limits } from './limits.ts'
import type { Summary as StoredSummary } from './store.ts'

export const SummaryCreation = Type.Object({
  videoId: text(100, { description: 'Id of the video.', examples: [exampleId('vi')] }),
  origin: Type.Optional(
    oneOf(['auto'], {
      description: 'Generate the summary from the transcript. Without it, you write the summary yourself.',
      examples: ['auto'],
    }),
  ),
  attributes: Type.Optional(
    Type.Array(oneOf(summaryAttributes), {
      maxItems: 10,
      description: 'What is generated. Without it, everything.',
      examples: [['abstract', 'takeaways']],
    }),
  ),
})

const abstract = { description: 'Outline of the video.', examples: ['Ada bakes a loaf of bread.'] }
const takeaways = {
  description: 'Key points of the video, in their order.',
  examples: [['The dough needs an hour of rest.', 'The oven must be hot.']],
}

export const SummaryUpdate = Type.Object(
  {
    abstract: Type.Optional(text(limits.abstract, { minLength: 1, ...abstract })),
    takeaways: Type.Optional(
      Type.Array(text(limits.takeaway, { minLength: 1 }), { maxItems: limits.takeaways, ...takeaways }),
    ),
  },
  { examples: [{ abstract: abstract.examples[0], takeaways: takeaways.examples[0] }] },
)

export const Summary = Type.Object(
  {
    summaryId: idField('summary_', 'Id of the summary.'),
    videoId: idField('vi', 'Id of the video.'),
    origin: oneOf(summaryOrigins, {
      description: '`auto`: generated. `api`: written by hand.',
      examples: ['auto'],
    }),
    sourceStatus: oneOf(summaryStates, {
      description:
        '`missing`: the text has to be written. `waiting`: it is being generated. `failed`: it could not be generated. `completed`: it exists. `unprocessable`: the video has too little speech.',
      examples: ['completed'],
    }),
    failure: Type.Optional(
      Type.String({
        description: 'Why `sourceStatus` is `failed` or `unprocessable`. Absent otherwise.',
        examples: ['The video has too little speech.'],
      }),
    ),
    createdAt: timeField('When the summary was created.'),
    updatedAt: timeField('When the summary was last changed.'),
  },
  { $id: 'Summary', description: 'A summary of a video, and the state of its text.' },
)

export const SummarySource = Type.Object(
  {
    abstract: Type.String(abstract),
    takeaways: Type.Array(Type.String(), takeaways),
  },
  { $id: 'SummarySource', description: 'The text of a summary. Both are empty until it is written.' },
)

export const SummaryList = listOf(ref(Summary), 'SummaryList')

export const viewSummary = (row: StoredSummary): Static<typeof Summary> => ({
  summaryId: row.id,
  videoId: row.video_id,
  origin: row.origin,
  sourceStatus: row.state,
  ...(row.failure !== null && { failure: row.failure }),
  createdAt: formatTime(row.created_at),
  updatedAt: formatTime(row.updated_at),
})

export const viewSource = ({ abstract, takeaways }: StoredSummary): Static<typeof SummarySource> => ({
  // Typed clients accept no null.
  abstract: abstract ?? '',
  takeaways: takeaways ?? [],
})
