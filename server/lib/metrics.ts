import type { Pool } from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Disk, DiskSpace } from './disk-space.ts'

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

type PoolCounts = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>

export function createMetrics(pools: PoolCounts[], space: Pick<DiskSpace, 'disks' | 'isLow'>): Metrics {
  const sum = (count: keyof PoolCounts) => pools.reduce((total, pool) => total + pool[count], 0)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'kinora_http_request_seconds',
    help: 'Time from the request to the end of the response',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [registry],
  })
  new Gauge({
    name: 'kinora_database_connections',
    help: 'Database connections by state, and queries that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, sum('totalCount') - sum('idleCount'))
      this.set({ state: 'idle' }, sum('idleCount'))
      this.set({ state: 'waiting' }, sum('waitingCount'))
    },
  })
  const diskGauge = (name: string, help: string, read: (disk: Disk) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['folder'],
      registers: [registry],
      collect() {
        for (const disk of space.disks) this.set({ folder: disk.folder }, read(disk))
      },
    })
  diskGauge('kinora_disk_free_bytes', 'Free space on the disk', ({ freeBytes }) => freeBytes)
  diskGauge('kinora_disk_reserve_bytes', 'Space that stays free', ({ reserveBytes }) => reserveBytes)
  new Gauge({
    name: 'kinora_disk_low',
    help: '1 while uploads, recordings and encodings pause because the disk is almost full',
    registers: [registry],
    collect() {
      this.set(space.isLow ? 1 : 0)
    },
  })
  const count = (name: string, help: string) => new Counter({ name, help, registers: [registry] })
  const swept = {
    files: count('kinora_sweep_files_total', 'Orphaned files removed by the sweep'),
    bytes: count('kinora_sweep_bytes_total', 'Bytes of the files removed by the sweep'),
    uploads: count('kinora_sweep_uploads_total', 'Incomplete uploads without an owner, removed by the sweep'),
    multipartUploads: count('kinora_sweep_multipart_uploads_total', 'Multipart uploads aborted by the sweep'),
    missing: count(
      'kinora_sweep_missing_files_total',
      'Files that the database refers to but the sweep did not find, counted on every run',
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
