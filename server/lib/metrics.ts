import type { Pool } from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Disk, DiskSpace } from './disk-space.ts'

/** All values that each label can have. They are fixed, so that no request can create a time series. */
type Labels = Readonly<Record<string, readonly string[]>>
type Values<L extends Labels> = { [N in keyof L]: L[N][number] }

/** A number that only grows. A slice defines its counters and histograms once, and lists them in its `slice.ts`. */
export type CounterDefinition<L extends Labels = Labels> = { name: string; help: string; labels: L }
export type HistogramDefinition<L extends Labels = Labels> = CounterDefinition<L> & { buckets: number[] }

export const defineCounter = <const L extends Labels>(definition: CounterDefinition<L>) => definition
export const defineHistogram = <const L extends Labels>(definition: HistogramDefinition<L>) => definition

/** A value of a gauge with its labels. */
export type Sample = { value: number; labels?: Record<string, string> }

type GaugeDefinition = { name: string; help: string; labels?: string[] }

/** What this process exports for Prometheus. */
export type Metrics = {
  count<L extends Labels>(counter: CounterDefinition<L>, labels: Values<L>, amount?: number): void
  observe<L extends Labels>(histogram: HistogramDefinition<L>, labels: Values<L>, value: number): void
  /** Exports what `read` returns at each scrape. Without samples, the gauge is not exported. It must not throw. */
  gauge(definition: GaugeDefinition, read: () => Sample[] | Promise<Sample[]>): void
  observeRequest(route: string, method: string, status: number, seconds: number): void
  text(): Promise<string>
  contentType: string
}

/** All series of these counters and histograms are exported from the start, because `increase()` needs their first 0. */
export function createMetrics(definitions: readonly (CounterDefinition | HistogramDefinition)[]): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'kinora_http_request_seconds',
    help: 'Time from the request to the end of the response',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [registry],
  })
  const counters = new Map<string, Counter>()
  const histograms = new Map<string, Histogram>()
  for (const definition of definitions) {
    const { name, help, labels } = definition
    const options = { name, help, labelNames: Object.keys(labels), registers: [registry] }
    if ('buckets' in definition) {
      const histogram = new Histogram({ ...options, buckets: definition.buckets })
      for (const values of combine(labels)) histogram.zero(values)
      histograms.set(name, histogram)
    } else {
      const counter = new Counter(options)
      for (const values of combine(labels)) counter.inc(values, 0)
      counters.set(name, counter)
    }
  }
  return {
    count: ({ name }, labels, amount = 1) => counters.get(name)?.inc(labels, amount),
    observe: ({ name }, labels, value) => histograms.get(name)?.observe(labels, value),
    gauge({ name, help, labels: labelNames = [] }, read) {
      const gauge = new Gauge({
        name,
        help,
        labelNames,
        registers: [registry],
        async collect() {
          const samples = await read()
          gauge.reset()
          // Without labels, a reset gauge has the value 0.
          if (labelNames.length === 0) gauge.remove({})
          for (const { value, labels = {} } of samples) gauge.set(labels, value)
        },
      })
    },
    observeRequest(route, method, status, seconds) {
      requests.observe({ route, method, status }, seconds)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

/** All combinations of label values. */
function combine(labels: Labels): Record<string, string>[] {
  let all: Record<string, string>[] = [{}]
  for (const [name, values] of Object.entries(labels))
    all = all.flatMap((each) => values.map((value) => ({ ...each, [name]: value })))
  return all
}

type PoolCounts = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>

export function exportPools({ gauge }: Metrics, pools: PoolCounts[]): void {
  const sum = (read: (pool: PoolCounts) => number) => pools.reduce((total, pool) => total + read(pool), 0)
  const states = {
    busy: (pool: PoolCounts) => pool.totalCount - pool.idleCount,
    idle: (pool: PoolCounts) => pool.idleCount,
    waiting: (pool: PoolCounts) => pool.waitingCount,
  }
  gauge(
    {
      name: 'kinora_database_connections',
      help: 'Database connections by state, and queries that wait for one',
      labels: ['state'],
    },
    () => Object.entries(states).map(([state, read]) => ({ value: sum(read), labels: { state } })),
  )
  gauge(
    { name: 'kinora_database_connections_max', help: 'Database connections that the process opens at most' },
    () => [{ value: sum(({ options }) => options.max) }],
  )
}

export function exportDisks({ gauge }: Metrics, space: Pick<DiskSpace, 'disks' | 'isLow'>): void {
  const diskGauge = (name: string, help: string, read: (disk: Disk) => number) =>
    gauge({ name, help, labels: ['folder'] }, () =>
      space.disks.map((disk) => ({ value: read(disk), labels: { folder: disk.folder } })),
    )
  diskGauge('kinora_disk_total_bytes', 'Size of the disk', ({ totalBytes }) => totalBytes)
  diskGauge('kinora_disk_free_bytes', 'Free space on the disk', ({ freeBytes }) => freeBytes)
  diskGauge('kinora_disk_reserve_bytes', 'Space that stays free', ({ reserveBytes }) => reserveBytes)
  gauge(
    {
      name: 'kinora_disk_low',
      help: '1 while uploads, recordings and encodings pause because the disk is almost full',
    },
    () => [{ value: space.isLow ? 1 : 0 }],
  )
}
