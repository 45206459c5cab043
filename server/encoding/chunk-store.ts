import { type Selectable, sql, type Transaction } from 'kysely'
import { environments } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import type { ChunkRow, EncodingRow } from './tables.ts'

/** A chunk that a worker holds a lease on. */
export type ClaimedChunk = Selectable<ChunkRow> & { lease_owner: string }
export type NewChunk = Pick<ChunkRow, 'track' | 'qualities' | 'first_segment' | 'segments' | 'priority'>

/** Notified when there may be a chunk to encode. */
export const chunksChannel = 'kinora_chunks'

export async function announceChunks(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${chunksChannel}, '')`.execute(db)
}

export async function insertChunks(
  trx: Transaction<Tables>,
  { video_id, environment }: Pick<EncodingRow, 'video_id' | 'environment'>,
  chunks: (NewChunk & { failures?: number; is_paused?: boolean })[],
): Promise<void> {
  const rows = chunks.map((chunk) => ({ ...chunk, video_id, environment, not_before: sql<Date>`now()` }))
  // A statement has at most 65,535 values.
  for (let at = 0; at < rows.length; at += 1_000)
    await trx
      .insertInto('chunks')
      .values(rows.slice(at, at + 1_000))
      .execute()
}

/** Whether there may be a chunk to claim. An idle worker asks this often, so it is one cheap query. */
export async function hasClaimableChunk(db: Db<Tables>): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    select exists (select from chunks where lease_owner is null and not is_paused and not_before <= now())
      or exists (select from chunks where lease_owner is not null and lease_until < now()) as exists`.execute(
    db,
  )
  return rows[0]!.exists
}

/** A worker that does not renew its lease is gone. */
export async function releaseExpiredLeases(db: Db<Tables>): Promise<void> {
  await sql`
    update chunks set lease_owner = null, lease_until = null, losses = losses + 1
    where id in (select id from chunks where lease_owner is not null and lease_until < now() for update skip locked)
  `.execute(db)
}

/**
 * Takes a lease on the chunk to encode next. The environment with fewer chunks in progress comes first. Within it, the
 * chunk nearest to the start of its video comes first, so that a short video does not wait for the end of a long one.
 */
export async function claimChunk(
  db: Db<Tables>,
  leaseOwner: string,
  leaseMs: number,
): Promise<ClaimedChunk | undefined> {
  const busy = await db
    .selectFrom('chunks')
    .select(['environment', (eb) => eb.fn.countAll<number>().as('chunks')])
    .where('lease_owner', 'is not', null)
    .groupBy('environment')
    .execute()
  const load = (name: string) => busy.find(({ environment }) => environment === name)?.chunks ?? 0
  // Ties are broken at random. With a fixed order, a single slot would only ever serve one environment.
  const order = [...environments].sort((a, b) => load(a) - load(b) || Math.random() - 0.5)
  for (const environment of order) {
    const { rows } = await sql<ClaimedChunk>`
      update chunks set lease_owner = ${leaseOwner}, lease_until = now() + ${leaseMs} * interval '1 millisecond'
      where id = (
        select id from chunks
        where environment = ${environment} and lease_owner is null and not is_paused and not_before <= now()
        order by priority, id limit 1 for update skip locked)
      returning *`.execute(db)
    if (rows[0]) return rows[0]
  }
  return undefined
}

/** Returns false if the lease was lost: the video was deleted or discarded, or another worker has the chunk. */
export async function renewLease(db: Db<Tables>, chunk: ClaimedChunk, leaseMs: number): Promise<boolean> {
  const { rows } = await sql`
    update chunks set lease_until = now() + ${leaseMs} * interval '1 millisecond'
    where id = ${chunk.id} and lease_owner = ${chunk.lease_owner} returning id`.execute(db)
  return rows.length > 0
}

/** Pausing ends all leases: a worker that is encoding a chunk stops, and its result does not count. */
export async function setPaused(trx: Transaction<Tables>, videoId: string, isPaused: boolean): Promise<void> {
  await trx
    .updateTable('chunks')
    .set({ is_paused: isPaused, lease_owner: null, lease_until: null })
    .where('video_id', '=', videoId)
    .where('is_paused', '<>', isPaused)
    .execute()
}

/** Ends the lease. The chunk can be claimed again after `afterMs`. */
export async function releaseChunk(
  db: Db<Tables>,
  chunk: ClaimedChunk,
  {
    afterMs,
    failures = chunk.failures,
    losses = chunk.losses,
  }: { afterMs: number; failures?: number; losses?: number },
): Promise<void> {
  await sql`
    update chunks set lease_owner = null, lease_until = null, failures = ${failures}, losses = ${losses},
      not_before = now() + ${afterMs} * interval '1 millisecond'
    where id = ${chunk.id} and lease_owner = ${chunk.lease_owner}`.execute(db)
}

/**
 * Locks a chunk and returns the qualities that still need it: other chunks of a quality may have failed since it was
 * claimed. Undefined if the lease was lost.
 */
export async function lockChunk(
  trx: Transaction<Tables>,
  chunk: ClaimedChunk,
): Promise<{ qualities: string[] } | undefined> {
  return trx
    .selectFrom('chunks')
    .select('qualities')
    .where('id', '=', chunk.id)
    .where('lease_owner', '=', chunk.lease_owner)
    .forUpdate()
    .executeTakeFirst()
}

export async function deleteChunk(trx: Transaction<Tables>, { id }: ClaimedChunk): Promise<void> {
  await trx.deleteFrom('chunks').where('id', '=', id).execute()
}

/** Removes a quality from all remaining chunks of a video. */
export async function removeQuality(
  trx: Transaction<Tables>,
  videoId: string,
  quality: string,
): Promise<void> {
  await sql`update chunks set qualities = array_remove(qualities, ${quality})
            where video_id = ${videoId} and track = 'picture'`.execute(trx)
  await trx
    .deleteFrom('chunks')
    .where('video_id', '=', videoId)
    .where('track', '=', 'picture')
    .where('qualities', '=', sql<string[]>`'{}'`)
    .execute()
}

export async function deleteAudioChunks(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx.deleteFrom('chunks').where('video_id', '=', videoId).where('track', '=', 'sound').execute()
}
