import { sql } from 'kysely'
import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { Settled } from './retry.ts'
import type { Attempt } from './tables.ts'

export type ClaimedDelivery = {
  id: number
  holder: string
  tries: number
  attempts: Attempt[]
  webhookId: string
  url: string
  secret: string
  previousSecret: string | null
  eventId: string
  payload: string
}

export type ClaimLimits = {
  /** By webhook: how many this process has under way. */
  underWay: Map<string, number>
  mostPerWebhook: number
  mostInAll: number
}

const lostAttempt = 'The worker ended before it knew the outcome.'

/**
 * Each webhook is asked for its own deliveries, by an index, and for no more than it has room for: those of one that
 * is at its limit are not even looked at. Webhooks with fewer under way come first.
 *
 * A delivery waits while an earlier one about the same video or live stream has not been tried once, so that a
 * receiver hears of things in their order; it does not wait for the retries of that one.
 *
 * Not by "not exists", which may be planned as a join with all that is pending.
 *
 * While a delivery is held, `next_at` is the end of the claim: a worker that is gone has nothing to give back. Its
 * attempt is put into the log, but is none of the three, because it may not have reached the receiver.
 */
const claim = prepare<ClaimedDelivery>(
  'claim deliveries',
  `with room as materialized (
     select w.id, $3 - coalesce(busy.deliveries, 0) as deliveries, coalesce(busy.deliveries, 0) as under_way
     from webhooks w left join unnest($1::text[], $2::int[]) as busy (id, deliveries) on busy.id = w.id
     where coalesce(busy.deliveries, 0) < $3
     order by under_way, random()
   ), due as materialized (
     select found.* from room cross join lateral (
       select d.id, d.holder, d.next_at from deliveries d
       where d.webhook_id = room.id and d.state = 'pending' and d.next_at <= now()
         and (
           select earlier.id from deliveries earlier
           where earlier.webhook_id = d.webhook_id and earlier.subject = d.subject and earlier.id < d.id
             and earlier.state = 'pending' and earlier.tries = 0
           order by earlier.id limit 1) is null
       order by d.next_at, d.id
       limit room.deliveries
       for update skip locked
     ) as found
     limit $4
   )
   update deliveries d set holder = $5, next_at = now() + $6 * interval '1 millisecond',
     attempts = case when due.holder is null then d.attempts else d.attempts || jsonb_build_object(
       'at', to_char((due.next_at - $6 * interval '1 millisecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       'durationMs', 0, 'status', null, 'answer', null, 'error', '${lostAttempt}') end
   from due, webhooks w, events e
   where d.id = any(array(select id from due)) and d.id = due.id and w.id = d.webhook_id and e.id = d.event_id
   returning d.id, d.holder, d.tries, d.attempts, w.id as "webhookId", w.url, w.secret,
     case when w.previous_until > now() then w.previous_secret end as "previousSecret",
     e.id as "eventId", e.payload::text as payload`,
)

/** The oldest first. */
export async function claimDeliveries(
  db: Db<Tables>,
  { underWay, mostPerWebhook, mostInAll }: ClaimLimits,
  holder: string,
  holdMs: number,
): Promise<ClaimedDelivery[]> {
  const values = [[...underWay.keys()], [...underWay.values()], mostPerWebhook, mostInAll, holder, holdMs]
  const claimed = await claim(db, values)
  return claimed.sort((a, b) => a.id - b.id)
}

export type SettledDelivery = Pick<ClaimedDelivery, 'id' | 'holder' | 'attempts'> & Settled

/** Where a delivery is no longer the holder's, nothing changes. */
export async function settleDeliveries(db: Db<Tables>, settled: SettledDelivery[]): Promise<void> {
  await sql`
    update deliveries d
    set state = s.state, tries = s.tries, attempts = s.attempts, holder = null,
      next_at = now() + coalesce(s."afterMs", 0) * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(settled)}::jsonb)
      as s (id bigint, holder text, state text, tries integer, attempts jsonb, "afterMs" integer)
    where d.id = s.id and d.holder = s.holder`.execute(db)
}
