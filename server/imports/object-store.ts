import { sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { ObjectKind } from './kinds.ts'

// Which object of a service became which object here, in all runs.

export type Known = {
  kind: ObjectKind
  sourceId: string
  objectId: string
  version: string | null
  contentVersion: string
  isComplete: boolean
  exists: boolean
}

type Origin = { environment: Environment; service: string; account: string }

/** What is known about these objects from earlier runs. */
export async function findKnown(
  db: Db<Tables>,
  { environment, service, account }: Origin,
  kind: ObjectKind,
  sourceIds: string[],
): Promise<Map<string, Known>> {
  const { rows } = await sql<Known>`
    select kind, source_id as "sourceId", object_id as "objectId", version, content_version as "contentVersion",
      is_complete as "isComplete",
      case kind
        when 'video' then exists (select from all_videos v where v.id = object_id)
        when 'player' then exists (select from players p where p.id = object_id)
        when 'liveStream' then exists (select from live_streams l where l.id = object_id)
        else exists (select from webhooks w where w.id = object_id)
      end as exists
    from imported_objects
    where environment = ${environment} and service = ${service} and account = ${account} and kind = ${kind}
      and source_id = any(${sourceIds})`.execute(db)
  return new Map(rows.map((row) => [row.sourceId, row]))
}

/** Which of these ids exist here, in any environment. */
export async function findTaken(db: Db<Tables>, kind: ObjectKind, ids: string[]): Promise<Set<string>> {
  const table = { video: 'all_videos', player: 'players', liveStream: 'live_streams', webhook: 'webhooks' }[
    kind
  ]
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where id = any(${ids})`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

type NewObject = Origin & {
  kind: ObjectKind
  sourceId: string
  objectId: string
  version: string | null
  contentVersion: string
}

/** Together with the object, so that a retry finds it. */
export async function recordObject(trx: Transaction<Tables>, object: NewObject): Promise<void> {
  const { environment, service, account, kind, sourceId, objectId, version, contentVersion } = object
  await trx
    .insertInto('imported_objects')
    .values({
      environment,
      service: service as never,
      account,
      kind,
      source_id: sourceId,
      object_id: objectId,
      version,
      content_version: contentVersion,
    })
    .onConflict((conflict) =>
      conflict.columns(['environment', 'service', 'account', 'kind', 'source_id']).doUpdateSet({
        object_id: objectId,
        version,
        content_version: contentVersion,
        is_complete: false,
        updated_at: sql<Date>`now()`,
      }),
    )
    .execute()
}

export async function updateObject(
  db: Db<Tables>,
  { environment, service, account }: Origin,
  { kind, sourceId }: { kind: ObjectKind; sourceId: string },
  change: { version?: string | null; is_complete?: boolean },
): Promise<void> {
  await db
    .updateTable('imported_objects')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('environment', '=', environment)
    .where('service', '=', service as never)
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('source_id', '=', sourceId)
    .execute()
}
