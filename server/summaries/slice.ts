import type { Slice } from '../slice.ts'
import { summaryRoutes } from './routes.ts'
import { Summary, SummaryList, SummarySource } from './schemas.ts'

export const summaries: Slice = {
  schemas: [Summary, SummaryList, SummarySource],
  routes: summaryRoutes,
}
