import type { Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

/** Notified when there may be deliveries to send. */
export const deliveriesChannel = 'kinora_deliveries'

const insert = prepare(
  'insert event',
  `with event as (
     insert into events (id, environment, type, video_id, payload, emitted_at)
     values ($1, $2, $3, $4, $5, $6)
   ), made as (
     insert into deliveries (webhook_id, event_id, subject, created_at)
     select id, $1, $7, $6 from webhooks where environment = $2 and events @> array[$3::text]
     returning id
   )
   select pg_notify('${deliveriesChannel}', '') from made limit 1`,
)

export type NewEvent = {
  id: string
  environment: Environment
  type: string
  videoId: string | undefined
  /** The video or live stream. Deliveries of one subject are sent in order. */
  subject: string | undefined
  body: string
  emittedAt: Date
}

/** Inserts an event, and a delivery for each webhook that subscribes to it now. */
export async function insertEvent(trx: Transaction<Tables>, event: NewEvent): Promise<void> {
  const { id, environment, type, videoId, subject, body, emittedAt } = event
  await insert(trx, [id, environment, type, videoId ?? null, body, emittedAt, subject])
}
