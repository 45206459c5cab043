import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { countRows, type Db, listPage } from '../lib/db.ts'
import { type Page, totalOf } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import { deliveriesChannel } from './event-store.ts'
import type { EventType } from './events.ts'
import type { DeliveryRow, DeliveryState, EventRow } from './tables.ts'

export type Event = Selectable<EventRow>
export type Delivery = Selectable<DeliveryRow> & { type: string }

export type EventFilters = {
  type?: string
  videoId?: string
  liveStreamId?: string
  from?: Date
  to?: Date
}

/** Newest first. */
export async function listEvents(
  db: Db<Tables>,
  environment: Environment,
  { type, videoId, liveStreamId, from, to }: EventFilters,
  page: Page,
): Promise<{ events: Event[]; total: number }> {
  const found = db
    .selectFrom('events')
    .where('environment', '=', environment)
    .where((eb) => eb.not(eb.ref('is_test')))
    .$if(type !== undefined, (q) => q.where('type', '=', type!))
    .$if(videoId !== undefined, (q) => q.where('video_id', '=', videoId!))
    .$if(liveStreamId !== undefined, (q) =>
      q.where(sql<boolean>`payload ->> 'liveStreamId' = ${liveStreamId}`),
    )
    .$if(from !== undefined, (q) => q.where('emitted_at', '>=', from!))
    .$if(to !== undefined, (q) => q.where('emitted_at', '<=', to!))
  const { rows: events, total } = await listPage(
    db,
    found,
    (q) => q.selectAll().orderBy('emitted_at', 'desc').orderBy('position', 'desc'),
    page,
  )
  return { events, total }
}

const withType = (db: Db<Tables>) =>
  db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'event_id')
    .selectAll('deliveries')
    .select('type')

/** Newest first. */
export async function listDeliveries(
  db: Db<Tables>,
  webhookId: string,
  state: DeliveryState | undefined,
  page: Page,
): Promise<{ deliveries: Delivery[]; total: number }> {
  const found = db
    .selectFrom('deliveries')
    .where('webhook_id', '=', webhookId)
    .$if(state !== undefined, (q) => q.where('state', '=', state!))
  const listed = await found
    .innerJoin('events', 'events.id', 'event_id')
    .selectAll('deliveries')
    .select('type')
    .orderBy('deliveries.id', 'desc')
    .limit(page.pageSize + 1)
    .offset(page.offset)
    .execute()
  const total = totalOf(await countRows(db, found), page, listed.length)
  return { deliveries: listed.slice(0, page.pageSize), total }
}

export function findDelivery(db: Db<Tables>, webhookId: string, id: number): Promise<Delivery | undefined> {
  return withType(db).where('deliveries.id', '=', id).where('webhook_id', '=', webhookId).executeTakeFirst()
}

/** The body that is sent for an event, byte by byte. */
export async function findBody(db: Db<Tables>, eventId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('events')
    .select(sql<string>`payload::text`.as('body'))
    .where('id', '=', eventId)
    .executeTakeFirst()
  return row?.body
}

async function notifyDispatchers(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${deliveriesChannel}, '')`.execute(db)
}

/** A pending delivery does not change. */
export async function redeliver(trx: Transaction<Tables>, webhookId: string, id: number): Promise<void> {
  await sql`
    update deliveries set state = 'pending', tries = 0, next_at = now()
    where id = ${id} and webhook_id = ${webhookId} and state <> 'pending'`.execute(trx)
  await notifyDispatchers(trx)
}

/** Returns the number of deliveries. */
export async function redeliverFailed(
  trx: Transaction<Tables>,
  webhookId: string,
  since: Date,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update deliveries set state = 'pending', tries = 0, next_at = now()
    where webhook_id = ${webhookId} and state = 'failed' and created_at >= ${since}`.execute(trx)
  await notifyDispatchers(trx)
  return Number(numAffectedRows)
}

/**
 * Sends an event again to every webhook that subscribes to it now. Webhooks that did not receive it before get a new
 * delivery. Returns the number of webhooks, or undefined if the event does not exist.
 */
export async function replay(
  trx: Transaction<Tables>,
  environment: Environment,
  eventId: string,
  now: Date,
): Promise<number | undefined> {
  const event = await trx
    .selectFrom('events')
    .select(['type', 'video_id'])
    .where('id', '=', eventId)
    .where('environment', '=', environment)
    .where('is_test', '=', false)
    .executeTakeFirst()
  if (!event) return undefined
  const { rows } = await sql`
    with subscribed as (
      select id from webhooks where environment = ${environment} and events @> array[${event.type}::text]
    ), again as (
      update deliveries set state = 'pending', tries = 0, next_at = now()
      where event_id = ${eventId} and webhook_id in (select id from subscribed) and state <> 'pending'
    ), made as (
      insert into deliveries (webhook_id, event_id, subject, created_at)
      select id, ${eventId}, ${event.video_id}, ${now} from subscribed
      where not exists (select from deliveries d where d.event_id = ${eventId} and d.webhook_id = subscribed.id)
    )
    select id from subscribed`.execute(trx)
  await notifyDispatchers(trx)
  return rows.length
}

/** Inserts a test event and its delivery to one webhook, regardless of the webhook's subscriptions. */
export async function insertTest(
  trx: Transaction<Tables>,
  webhook: { id: string; environment: Environment },
  event: { id: string; type: EventType; payload: string; now: Date },
): Promise<number> {
  const { id: event_id, now, type, payload } = event
  await trx
    .insertInto('events')
    .values({
      id: event_id,
      environment: webhook.environment,
      type,
      payload,
      video_id: null,
      emitted_at: now,
      is_test: true,
    })
    .execute()
  const { id } = await trx
    .insertInto('deliveries')
    .values({ webhook_id: webhook.id, event_id, created_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  await notifyDispatchers(trx)
  return id
}

/**
 * Deletes up to `limit` rows older than `before`, and returns whether there may be more. Both tables grow in order of
 * time, so only their first rows are checked. Deliveries are locked in the order of their ids, as in `saveOutcomes`.
 */
export async function deleteOld(
  db: Db<Tables>,
  table: 'events' | 'deliveries',
  before: Date,
  limit: number,
): Promise<boolean> {
  const { numAffectedRows = 0n } =
    table === 'events'
      ? await sql`
          delete from events where position in (
            select position from (select position, emitted_at from events order by position limit ${limit}) as first
            where emitted_at < ${before})`.execute(db)
      : await sql`
          with locked as materialized (
            select id from deliveries where id in (
              select id from (select id, created_at from deliveries order by id limit ${limit}) as first
              where created_at < ${before})
            order by id for update
          )
          delete from deliveries where id in (select id from locked)`.execute(db)
  return Number(numAffectedRows) === limit
}
