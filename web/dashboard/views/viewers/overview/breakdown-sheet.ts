import type { QueryClient } from '@tanstack/react-query'
import {
  type Breakdown,
  type Bucket,
  isTooOld,
  type Loaded,
  loadAllBuckets,
  type Selection,
} from '../../../api/analytics.ts'
import type { Environment } from '../../../api/client.ts'
import { messages } from '../../../messages/messages.ts'
import type { Sheet } from '../csv.ts'
import { nameOf } from '../filters/dimension-names.ts'
import { loadTitles } from '../filters/media-names.ts'
import { metrics } from '../metrics.ts'
import type { MetricName, TextFilter } from '../viewers-search.ts'
import { changeCells, readPrevious } from './change.ts'

type Shown = {
  client: QueryClient
  environment: Environment
  metric: MetricName
  selections: Record<'current' | 'previous', Selection>
  breakdown: Breakdown
  filter: TextFilter
}

/** A breakdown with all its values, for a file. */
export async function loadBreakdown(shown: Shown): Promise<Sheet> {
  const { client, environment, metric, selections, breakdown, filter } = shown
  const load = (selection: Selection) => loadAllBuckets(environment, metrics[metric], selection, breakdown)
  const { rows, total } = await load(selections.current)
  const before = await load(selections.previous).catch((error): Loaded<Bucket> | undefined => {
    if (isTooOld(error)) return undefined
    throw error
  })
  const previous =
    before &&
    readPrevious(before.rows, before.total, ({ dimensionValue, metricValue }) => [
      dimensionValue,
      metricValue,
    ])
  const isMedia = breakdown === 'media-id'
  const ids = isMedia ? rows.map(({ dimensionValue }) => dimensionValue) : []
  const titles = await loadTitles(client, environment, ids)
  return {
    header: [
      messages.viewers.breakdowns[breakdown],
      ...(isMedia ? [messages.viewers.media] : []),
      messages.viewers.metrics[metric],
      ...(previous ? [messages.viewers.previous, messages.viewers.change] : []),
    ],
    rows: rows.map(({ dimensionValue, metricValue }) => [
      nameOf(filter, dimensionValue, titles),
      ...(isMedia ? [dimensionValue] : []),
      metricValue,
      ...(previous ? changeCells(previous, dimensionValue, metricValue) : []),
    ]),
    total,
  }
}
