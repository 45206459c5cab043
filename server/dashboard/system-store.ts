import { sql } from 'kysely'
import { findEncodingSpeed } from '../encoding/renditions/speed-store.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

export type Failure = {
  videoId: string
  environment: Environment
  title: string
  quality: string | null
  reason: string
  failedAt: Date
  /** Whether encoding it again may help. A file that has not arrived cannot be encoded. */
  canRetry: boolean
}

const maxFailures = 50

/** The last failures of uploads, of videos and of single qualities. */
export async function findFailures(db: Db<Tables>): Promise<Failure[]> {
  const { rows } = await sql<Failure>`
    select f.video_id as "videoId", v.environment, v.title, f.quality, f.reason, f.failed_at as "failedAt",
      f.can_retry as "canRetry"
    from (
      select video_id, null as quality, coalesce(failure, '') as reason, updated_at as failed_at, false as can_retry
      from sources where state = 'failed'
      union all
      select video_id, null, coalesce(failure, sound_failure), coalesce(finished_at, created_at), true
      from encodings where failure is not null or sound_failure is not null
      union all
      select r.video_id, r.type || ' ' || r.quality, coalesce(r.failure, ''), coalesce(e.finished_at, e.created_at),
        true
      from renditions r join encodings e using (video_id)
      where r.state = 'failed' and e.failure is null
    ) f
    join videos v on v.id = f.video_id
    order by f.failed_at desc limit ${maxFailures}`.execute(db)
  return rows
}

export type FailingWebhook = {
  webhookId: string
  environment: Environment
  url: string
  failedAt: Date
  /** Of the last attempt: the status code, or why there was no response. */
  status: number | null
  error: string | null
}

const maxFailingWebhooks = 20

/** The webhooks whose last delivery has failed. */
export async function findFailingWebhooks(db: Db<Tables>): Promise<FailingWebhook[]> {
  const { rows } = await sql<FailingWebhook>`
    select w.id as "webhookId", w.environment, w.url, coalesce((last.attempt ->> 'at')::timestamptz, last.created_at) as "failedAt",
      (last.attempt ->> 'status')::int as status, last.attempt ->> 'error' as error
    from webhooks w cross join lateral (
      select id, created_at, attempts -> -1 as attempt from deliveries
      where webhook_id = w.id and state = 'failed' order by id desc limit 1
    ) last
    where not exists (select from deliveries d where d.webhook_id = w.id and d.id > last.id and d.state = 'succeeded')
    order by "failedAt" desc limit ${maxFailingWebhooks}`.execute(db)
  return rows
}

export type Queue = {
  /** Chunks. */
  waiting: number
  running: number
  /** Until all are encoded, at the speed of the last encodings. Null if it is not known. */
  estimatedSeconds: number | null
}

export async function findQueue(db: Db<Tables>, segmentSeconds: number): Promise<Queue> {
  const { rows } = await sql<Omit<Queue, 'estimatedSeconds'> & { seconds: number }>`
    with chunk as (
      select c.lease_owner is not null as is_running,
        case when c.track = 'picture' and jsonb_array_length(e.plan->'rungs') > 0
          then c.segments * cardinality(c.qualities) * ${segmentSeconds}::float8 / jsonb_array_length(e.plan->'rungs')
          else 0 end as seconds
      from chunks c join encodings e using (video_id) where not c.is_paused
    )
    select count(*) filter (where not is_running)::int as waiting, count(*) filter (where is_running)::int as running,
      coalesce(sum(chunk.seconds), 0)::float8 as seconds
    from chunk`.execute(db)
  const { waiting, running, seconds } = rows[0]!
  if (waiting + running === 0) return { waiting, running, estimatedSeconds: 0 }
  const speed = await findEncodingSpeed(db)
  return { waiting, running, estimatedSeconds: speed === null ? null : Math.ceil(seconds / speed) }
}

export async function findPostgresVersion(db: Db<Tables>): Promise<string> {
  const { rows } = await sql<{
    version: string
  }>`select current_setting('server_version') as version`.execute(db)
  return rows[0]!.version
}
