import { seriesQuery } from '../../api/analytics.ts'
import type { Environment } from '../../api/client.ts'
import { metrics, selectionsOf } from './metrics.ts'

/** The views of each of the last seven days. */
export const recentViewsQuery = (environment: Environment) =>
  seriesQuery(environment, metrics.views, selectionsOf({}).current)
