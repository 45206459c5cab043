import type { Pool } from 'pg'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = {
  observeRequest(route: string, method: string, status: number, seconds: number): void
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
  return {
    observeRequest(route, method, status, seconds) {
      requests.observe({ route, method, status }, seconds)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
