import { countAllViewers } from '../analytics/live-viewers.ts'
import { findLastBackup } from '../backups/store.ts'
import { certificateStatus } from '../certificates/status.ts'
import type { Context } from '../context.ts'
import { countLeasedChunks, findChunkBacklog } from '../encoding/chunks/encode-chunk-store.ts'
import { countSlots } from '../encoding/slots.ts'
import type { Backlog } from '../lib/backlog.ts'
import { CachedQuery } from '../lib/cached-query.ts'
import type { Sample } from '../lib/metrics.ts'
import { countBroadcasts } from '../live/state/store.ts'
import { findStored, storedKinds } from '../storage/store.ts'
import { findTranscriptBacklog } from '../transcripts/store.ts'
import { findSummaryBacklog } from '../transcripts/summaries/store.ts'
import { findDeliveryBacklog } from '../webhooks/delivery-store.ts'
import { findJobBacklogs } from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'metrics'>

/** Usual scrape intervals are 15 s and more. */
const stateMs = 10_000
const storageMs = 60_000

/**
 * What is known in the database, and therefore the same in all processes. Every process with the role `api` exports it, so
 * that it is there as long as one of them is: dashboards and alerts use the maximum, not the sum.
 */
export function exportInstallation(deps: Deps): void {
  exportQueues(deps)
  exportUse(deps)
  exportStorage(deps)
}

function exportQueues({ db, metrics }: Deps): void {
  const queues = new CachedQuery(async () => {
    const backlogs = new Map<string, Backlog>([
      ['encode-chunks', await findChunkBacklog(db)],
      ['webhook-deliveries', await findDeliveryBacklog(db)],
      ['transcripts', await findTranscriptBacklog(db)],
      ['summaries', await findSummaryBacklog(db)],
    ])
    for (const [queue, backlog] of await findJobBacklogs(db)) backlogs.set(queue, backlog)
    return [...backlogs]
  }, stateMs)
  metrics.gauge(
    {
      name: 'kinora_queue_jobs',
      help: 'Jobs that wait for a worker, and jobs that are delayed because they have failed before. Of the installation',
      labels: ['queue', 'state'],
    },
    async () =>
      ((await queues.read()) ?? []).flatMap(([queue, { waiting, delayed }]) => [
        { value: waiting, labels: { queue, state: 'waiting' } },
        { value: delayed, labels: { queue, state: 'delayed' } },
      ]),
  )
  metrics.gauge(
    {
      name: 'kinora_queue_oldest_seconds',
      help: 'How long the first waiting job has been due. Of the installation',
      labels: ['queue'],
    },
    async () =>
      ((await queues.read()) ?? []).map(([queue, { oldestSeconds }]) => ({
        value: oldestSeconds,
        labels: { queue },
      })),
  )
}

/** Who uses the service now, and what works for them. */
function exportUse({ config, db, metrics }: Deps): void {
  const use = new CachedQuery(
    async () => ({
      slots: await countSlots(db),
      busySlots: await countLeasedChunks(db),
      viewers: await countAllViewers(db),
      broadcasts: await countBroadcasts(db),
      certificate: await certificateStatus({ config, db }),
      lastBackup: await findLastBackup(db),
    }),
    stateMs,
  )
  type Use = Awaited<ReturnType<typeof use.read>> & object
  const gauge = (name: string, help: string, labels: string[], read: (use: Use) => Sample[]) =>
    metrics.gauge({ name, help: `${help}. Of the installation`, labels }, async () => {
      const found = await use.read()
      return found ? read(found) : []
    })
  gauge('kinora_encode_slots', 'Encode slots of all workers', [], ({ slots }) => [{ value: slots }])
  gauge('kinora_encode_slots_busy', 'Encode slots that encode a chunk', [], ({ busySlots }) => [
    { value: busySlots },
  ])
  gauge('kinora_viewers', 'Viewers at this moment', ['media'], ({ viewers }) =>
    Object.entries(viewers).map(([media, value]) => ({ value, labels: { media } })),
  )
  gauge(
    'kinora_live_broadcasts',
    'Broadcasts that have not ended. away: the encoder is disconnected. abandoned: its process is gone',
    ['state'],
    ({ broadcasts }) => Object.entries(broadcasts).map(([state, value]) => ({ value, labels: { state } })),
  )
  gauge(
    'kinora_certificate_expiry_timestamp_seconds',
    'When the certificate of the service expires',
    [],
    ({ certificate }) => timestampOf(certificate.notAfter),
  )
  gauge('kinora_certificate_lifetime_seconds', 'From its beginning to its end', [], ({ certificate }) => {
    const { notBefore, notAfter } = certificate
    return notBefore && notAfter ? [{ value: (notAfter.getTime() - notBefore.getTime()) / 1_000 }] : []
  })
  gauge(
    'kinora_backup_last_success_timestamp_seconds',
    'When the last successful backup began',
    [],
    ({ lastBackup }) => timestampOf(lastBackup?.started_at),
  )
}

const timestampOf = (date: Date | null | undefined): Sample[] =>
  date ? [{ value: date.getTime() / 1_000 }] : []

function exportStorage({ db, metrics }: Deps): void {
  const stored = new CachedQuery(() => findStored(db), storageMs)
  const gauge = (name: string, help: string, field: 'bytes' | 'files') =>
    metrics.gauge({ name, help: `${help}. Of the installation`, labels: ['kind'] }, async () => {
      const rows = await stored.read()
      if (!rows) return []
      return storedKinds.map((kind) => ({
        value: rows.reduce((sum, row) => sum + (row.kind === kind ? row[field] : 0), 0),
        labels: { kind },
      }))
    })
  gauge('kinora_stored_bytes', 'What the files of a kind take, according to the database', 'bytes')
  gauge('kinora_stored_files', 'Number of files of a kind, according to the database', 'files')
}
