import { sql } from 'kysely'
import { type Backlog, backlogOf } from '../lib/backlog.ts'
import { type Db, prepare } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { NextState } from './retry.ts'
import type { Attempt } from './tables.ts'

export type ClaimedDelivery = {
  id: number
  leaseOwner: string
  tries: number
  attempts: Attempt[]
  createdAt: Date
  webhookId: string
  url: string
  secret: string
  previousSecret: string | null
  eventId: string
  payload: string
}

export type ClaimLimits = {
  /** The number of running attempts of this process, by webhook. */
  running: Map<string, number>
  maxPerWebhook: number
  maxTotal: number
}

const lostAttempt = 'The worker stopped before the outcome was known.'

/**
 * Selects the due deliveries of each webhook by index, up to the free slots of that webhook, so that deliveries of a
 * webhook at its limit are not even read. Webhooks with fewer running attempts come first. `pending` goes from one webhook
 * with pending deliveries to the next in the index, so that others cost nothing. The limit makes Postgres look up each of
 * them instead of reading all webhooks.
 *
 * A delivery waits until each earlier delivery for the same video or live stream had its first attempt, so that a
 * receiver gets events in order. It does not wait for retries. This is a scalar subquery because Postgres may plan
 * "not exists" as a join with all pending deliveries.
 *
 * While there is a `lease_owner`, `next_at` is the end of the lease, so that the deliveries of a crashed
 * worker become due by themselves. The lost attempt is logged but does not count as one of the three, because it may
 * not have reached the receiver.
 */
const claim = prepare<ClaimedDelivery>(
  'claim deliveries',
  `with recursive pending as (
     (select webhook_id from deliveries where state = 'pending' order by webhook_id limit 1)
     union all
     select (
       select d.webhook_id from deliveries d where d.state = 'pending' and d.webhook_id > pending.webhook_id
       order by d.webhook_id limit 1)
     from pending where webhook_id is not null
   ), capacity as materialized (
     select w.id, $3 - coalesce(busy.deliveries, 0) as deliveries, coalesce(busy.deliveries, 0) as running
     from pending cross join lateral (select id from webhooks where id = pending.webhook_id limit 1) w
       left join unnest($1::text[], $2::int[]) as busy (id, deliveries) on busy.id = w.id
     where coalesce(busy.deliveries, 0) < $3
     order by running, random()
   ), due as materialized (
     select found.* from capacity cross join lateral (
       select d.id, d.lease_owner, d.next_at from deliveries d
       where d.webhook_id = capacity.id and d.state = 'pending' and d.next_at <= now()
         and (
           select earlier.id from deliveries earlier
           where earlier.webhook_id = d.webhook_id and earlier.subject = d.subject and earlier.id < d.id
             and earlier.state = 'pending' and earlier.tries = 0
           order by earlier.id limit 1) is null
       order by d.next_at, d.id
       limit capacity.deliveries
       for update skip locked
     ) as found
     limit $4
   )
   update deliveries d set lease_owner = $5, next_at = now() + $6 * interval '1 millisecond',
     attempts = case when due.lease_owner is null then d.attempts else d.attempts || jsonb_build_object(
       'at', to_char((due.next_at - $6 * interval '1 millisecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       'durationMs', 0, 'status', null, 'answer', null, 'error', '${lostAttempt}') end
   from due, webhooks w, events e
   where d.id = any(array(select id from due)) and d.id = due.id and w.id = d.webhook_id and e.id = d.event_id
   returning d.id, d.lease_owner as "leaseOwner", d.tries, d.attempts, d.created_at as "createdAt",
     w.id as "webhookId", w.url, w.secret,
     case when w.previous_until > now() then w.previous_secret end as "previousSecret",
     e.id as "eventId", e.payload::text as payload`,
)

/** Oldest first. */
export async function claimDeliveries(
  db: Db<Tables>,
  { running, maxPerWebhook, maxTotal }: ClaimLimits,
  lease: { owner: string; durationMs: number },
): Promise<ClaimedDelivery[]> {
  const busy = [[...running.keys()], [...running.values()]]
  const claimed = await claim(db, [...busy, maxPerWebhook, maxTotal, lease.owner, lease.durationMs])
  return claimed.sort((a, b) => a.id - b.id)
}

export type DeliveryOutcome = Pick<ClaimedDelivery, 'id' | 'leaseOwner' | 'attempts'> & NextState

/**
 * Skips deliveries whose lease has passed to another worker. Rows are locked in the order of their ids, as in the clean-up,
 * so that the two do not wait for each other.
 */
export async function saveOutcomes(db: Db<Tables>, outcomes: DeliveryOutcome[]): Promise<void> {
  const ids = outcomes.map(({ id }) => id)
  await sql`
    with locked as materialized (
      select id from deliveries where id = any(${ids}::bigint[]) order by id for update
    )
    update deliveries d
    set state = s.state, tries = s.tries, attempts = s.attempts, lease_owner = null,
      next_at = now() + coalesce(s."afterMs", 0) * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb)
      as s (id bigint, "leaseOwner" text, state text, tries integer, attempts jsonb, "afterMs" integer)
    where d.id = s.id and d.lease_owner = s."leaseOwner" and d.id in (select id from locked)`.execute(db)
}

/** For the metrics. The deliveries of a deleted webhook stay until their events expire. */
export async function findDeliveryBacklog(db: Db<Tables>): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    select ${backlogOf('next_at')} from deliveries
    where state = 'pending' and lease_owner is null and webhook_id in (select id from webhooks)`.execute(db)
  return rows[0]!
}
