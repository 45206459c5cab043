import { query } from '../../test/support/harness.ts'
import type { Ledger } from '../ledger.ts'
import { reliablePath } from '../load/webhooks.ts'

/** Every event is in the log once, every delivery has ended, and the reliable receiver has received each event. */
export async function auditEvents(
  database: string,
  ledger: Ledger,
): Promise<{ events: number; repeated: number }> {
  const repeatedRows = await query(
    database,
    `select type, video_id, payload::jsonb - 'emittedAt' as payload, count(*)::int from events
     where video_id is not null group by 1, 2, 3 having count(*) > 1`,
  )
  for (const row of repeatedRows)
    ledger.report(`an event is in the log more than once: ${JSON.stringify(row)}`)
  const missing = await query(
    database,
    `select v.id, r.quality from renditions r join videos v on v.id = r.video_id
     where r.state = 'encoded' and r.quality <> 'audio' and not exists (
       select from events e where e.video_id = v.id and e.type = 'video.encoding.quality.completed'
         and e.payload->>'quality' = r.quality)`,
  )
  for (const row of missing) ledger.report(`an event is missing: ${JSON.stringify(row)}`)
  const undelivered = await query(
    database,
    `select d.event_id, d.state from deliveries d join webhooks w on w.id = d.webhook_id
     where w.url like $1 and d.state <> 'succeeded'`,
    [`%${reliablePath}`],
  )
  for (const row of undelivered) ledger.report(`an event was not delivered: ${JSON.stringify(row)}`)
  const sent = await query(
    database,
    `select d.event_id from deliveries d join webhooks w on w.id = d.webhook_id where w.url like $1`,
    [`%${reliablePath}`],
  )
  for (const { event_id } of sent)
    if (!ledger.delivered.has(event_id)) ledger.report(`the receiver never got the event ${event_id}`)
  for (const [id, bodies] of ledger.delivered)
    if (bodies.size > 1) ledger.report(`the event ${id} was delivered with different contents`)
  const open = await query(database, `select count(*)::int from deliveries where state = 'pending'`)
  if (open[0]!.count > 0) ledger.report(`${open[0]!.count} deliveries have no end`)
  const [{ count }] = (await query(database, 'select count(*)::int from events')) as [{ count: number }]
  return { events: count, repeated: repeatedRows.length }
}
