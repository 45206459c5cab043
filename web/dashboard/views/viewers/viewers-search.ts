/** Everything that the page shows is in its URL, so that it can be shared and the browser's back button works. */
export const periods = ['24h', '7d', '30d', '90d', 'custom'] as const
export const metricNames = ['views', 'viewers', 'watchTime', 'averageWatch', 'concurrent', 'loads'] as const
export const tabs = ['overview', 'retention', 'metadata', 'sessions'] as const
/** Filters that are one text each. */
export const textFilters = ['media', 'tag', 'country', 'device', 'os', 'browser', 'referrer'] as const

export type MetricName = (typeof metricNames)[number]
export type TextFilter = (typeof textFilters)[number]

export type ViewersSearch = {
  period?: (typeof periods)[number] | undefined
  /** Days in UTC such as 2026-01-31, for the period "custom". Both are included. */
  from?: string | undefined
  to?: string | undefined
  tab?: (typeof tabs)[number] | undefined
  metric?: MetricName | undefined
  type?: 'video' | 'live-stream' | undefined
  /** The metadata key that viewers are compared by. */
  key?: string | undefined
  /** The metadata pair of one viewer. */
  viewerKey?: string | undefined
  viewer?: string | undefined
} & { [name in TextFilter]?: string | undefined }

const oneOf = <T extends string>(value: unknown, values: readonly T[]): T | undefined =>
  values.find((each) => each === value)

/** The router reads numbers and booleans. */
function readText(value: unknown): string | undefined {
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isText ? String(value).slice(0, 2_048) : undefined
}

const readDay = (value: unknown) => {
  const text = readText(value)
  return text && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}

/** What is not valid is left out. */
export function readViewersSearch(input: Record<string, unknown>): ViewersSearch {
  const search: ViewersSearch = {
    period: oneOf(input.period, periods),
    from: readDay(input.from),
    to: readDay(input.to),
    tab: oneOf(input.tab, tabs),
    metric: oneOf(input.metric, metricNames),
    type: oneOf(input.type, ['video', 'live-stream']),
    key: readText(input.key),
    viewerKey: readText(input.viewerKey),
    viewer: readText(input.viewer),
    ...Object.fromEntries(textFilters.map((name) => [name, readText(input[name])])),
  }
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined))
}
