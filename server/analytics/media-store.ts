import { sql, type Transaction } from 'kysely'
import type { EncodingPlan } from '../encoding/tables.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import { isId } from '../lib/ids.ts'
import type { Tables } from '../tables.ts'
import type { Metadata } from '../videos/tables.ts'
import type { ViewingSessionRow } from './tables.ts'

/** The facts about a video or live stream that a report needs. */
export type ReportedMedia = {
  type: ViewingSessionRow['media_type']
  environment: Environment
  dynamicKeys: ReadonlySet<string>
  durationSeconds: number | undefined
}

/**
 * Locks the existing media among these until the end of the transaction, and returns their ids. A concurrent deletion
 * waits for the lock, and then also deletes the sessions that this transaction wrote.
 */
export async function lockMedia(trx: Transaction<Tables>, ids: Iterable<string>): Promise<Set<string>> {
  const found = new Set<string>()
  const byTable = Map.groupBy(new Set(ids), (id) => (isId('li', id) ? 'live_streams' : 'videos'))
  for (const [table, idsOfTable] of byTable) {
    const { rows } = await sql<{ id: string }>`
      select id from ${sql.table(table)} where id = any(${idsOfTable}) order by id for key share`.execute(trx)
    for (const { id } of rows) found.add(id)
  }
  return found
}

type MediaFacts = {
  id: string
  type: ReportedMedia['type']
  environment: Environment
  metadata: Metadata[]
  plan: EncodingPlan | null
}

export async function findMedia(db: Db<Tables>, ids: string[]): Promise<Map<string, ReportedMedia>> {
  const { rows } = await sql<MediaFacts>`
    select v.id, 'video' as type, v.environment, v.metadata,
      jsonb_build_object('rate', e.plan->'rate', 'frames', e.plan->'frames') as plan
    from videos v left join encodings e on e.video_id = v.id and e.plan is not null and e.plan -> 'partial' is null
    where v.id = any(${ids})
    union all
    select id, 'live-stream', environment, metadata, null from live_streams where id = any(${ids})`.execute(
    db,
  )
  return new Map(
    rows.map(({ id, type, environment, metadata, plan }) => [
      id,
      { type, environment, dynamicKeys: dynamicKeysOf(metadata), durationSeconds: durationOf(plan) },
    ]),
  )
}

/** A value in double underscores declares a dynamic key. */
const dynamicKeysOf = (metadata: Metadata[]) =>
  new Set(metadata.filter(({ value }) => /^__.+__$/s.test(value)).map(({ key }) => key))

function durationOf(plan: Pick<EncodingPlan, 'rate' | 'frames'> | null): number | undefined {
  if (!plan?.frames) return undefined
  return (plan.frames * plan.rate.den) / plan.rate.num
}
