import type { Slice } from '../slice.ts'
import { summariesErrors } from './errors.ts'
import { transcriptFailures } from './metrics.ts'
import { startTranscription } from './service.ts'
import { transcriptionChannel } from './store.ts'
import { summaryRoutes } from './summaries/routes.ts'
import { Summary, SummaryList, SummarySource } from './summaries/schemas.ts'

export const transcripts: Slice = {
  errors: summariesErrors,
  metrics: [transcriptFailures],
  schemas: [Summary, SummaryList, SummarySource],
  routes: summaryRoutes,
  services: [
    (context) => {
      const { wake, close } = startTranscription(context)
      return { channels: { [transcriptionChannel]: wake }, close }
    },
  ],
}
