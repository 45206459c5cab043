import type { Slice } from '../slice.ts'
import { summaryRoutes } from './summaries/routes.ts'
import { Summary, SummaryList, SummarySource } from './summaries/schemas.ts'

export const summaries: Slice = {
  schemas: [Summary, SummaryList, SummarySource],
  routes: summaryRoutes,
}
