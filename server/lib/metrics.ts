import type { Pool } from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

type SweepCounts = {
  files?: number
  bytes?: number
  uploads?: number
  multipartUploads?: number
  missing: number
}

export type Metrics = {
  observeRequest(route: string, method: string, status: number, seconds: number): void
  countSweep(counts: SweepCounts): void
  text(): Promise<string>
  contentType: string
}

export function createMetrics(pool: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'kinora_http_request_seconds',
    help: 'Time from the request to the end of the answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [registry],
  })
  new Gauge({
    name: 'kinora_database_connections',
    help: 'Connections of the pool, by state, and requests that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
  const count = (name: string, help: string) => new Counter({ name, help, registers: [registry] })
  const swept = {
    files: count('kinora_sweep_files_total', 'Orphaned files that the sweep removed'),
    bytes: count('kinora_sweep_bytes_total', 'Bytes of the files that the sweep removed'),
    uploads: count(
      'kinora_sweep_uploads_total',
      'Unfinished uploads without an owner that the sweep removed',
    ),
    multipartUploads: count(
      'kinora_sweep_multipart_uploads_total',
      'Multipart uploads that the sweep aborted',
    ),
    missing: count(
      'kinora_sweep_missing_files_total',
      'Files that a row refers to and that the sweep did not find, counted in each pass',
    ),
  }
  return {
    countSweep(counts) {
      for (const name of Object.keys(swept) as (keyof typeof swept)[]) swept[name].inc(counts[name] ?? 0)
    },
    observeRequest(route, method, status, seconds) {
      requests.observe({ route, method, status }, seconds)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
