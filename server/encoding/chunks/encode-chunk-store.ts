import { type Selectable, sql, type Transaction } from 'kysely'
import { environments } from '../../environments.ts'
import { type Backlog, backlogOf } from '../../lib/backlog.ts'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import { type Encoding, lockEncoding } from '../renditions/encoding-store.ts'
import type { ChunkRow, EncodingPlan, EncodingRow } from '../tables.ts'
import { type Choice, type NewChunk, partialPriority, priorityOf } from './schedule.ts'

/** A chunk that a worker holds a lease on. */
export type ClaimedChunk = Selectable<ChunkRow> & { lease_owner: string }

/** Notified when there may be a chunk to encode. */
export const encodeChunksChannel = 'kinora_chunks'

export async function announceChunks(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${encodeChunksChannel}, '')`.execute(db)
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

/** Adds segments that follow those of the chunks of a video. Chunks that wait become longer, as long as they are single. */
export async function extendChunks(
  trx: Transaction<Tables>,
  encoding: Pick<EncodingRow, 'video_id' | 'environment'>,
  chunks: (NewChunk & { is_paused: boolean })[],
): Promise<void> {
  const { video_id } = encoding
  for (const chunk of chunks) {
    const { track, qualities, first_segment, segments } = chunk
    const { rows } = await sql`
      update chunks set segments = segments + ${segments}
      where video_id = ${video_id} and track = ${track} and qualities = ${qualities} and lease_owner is null
        and first_segment + segments = ${first_segment} and failures + losses = 0
      returning id`.execute(trx)
    if (rows.length === 0) await insertChunks(trx, encoding, [chunk])
  }
}

/** The source of a video is complete: its chunks do not wait for those of other videos any more. */
export async function raisePriority(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await sql`
    update chunks set priority = priority - ${partialPriority}
    where video_id = ${videoId} and priority >= ${partialPriority}`.execute(trx)
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

/** The situation of a video whose next chunk is chosen. */
export type VideoWork = {
  encoding: Encoding & { plan: EncodingPlan }
  waiting: Selectable<ChunkRow>[]
  elapsedSeconds: number
  /** Whether a worker encodes the first segment of the lowest quality. */
  isStarting: boolean
}

export type Claim = {
  leaseOwner: string
  leaseMs: number
  /** Undefined if the video has to wait. */
  choose(work: VideoWork): Choice | undefined
}

/**
 * Takes a lease on the chunk to encode next. The environment with fewer chunks in progress comes first. Within it, the
 * video with the lowest priority comes first. `choose` decides which part of the video's work becomes the chunk.
 */
export async function claimEncodeChunk(
  db: Db<Tables>,
  claim: Claim,
): Promise<(ClaimedChunk & Pick<Choice, 'decoding'>) | undefined> {
  const busy = await db
    .selectFrom('chunks')
    .select(['environment', (eb) => eb.fn.countAll<number>().as('chunks')])
    .where('lease_owner', 'is not', null)
    .groupBy('environment')
    .execute()
  const load = (name: string) => busy.find(({ environment }) => environment === name)?.chunks ?? 0
  // Ties are broken at random. With a fixed order, a single slot would only ever serve one environment.
  const order = [...environments].sort((a, b) => load(a) - load(b) || Math.random() - 0.5)
  for (const isPartial of [false, true])
    for (const environment of order) {
      const claimed = await claimIn(db, { environment, isPartial }, claim)
      if (claimed) return claimed
    }
  return undefined
}

async function claimIn(db: Db<Tables>, queue: WaitingVideos, claim: Claim) {
  const waiting: string[] = []
  // Another worker may take the last chunk of a video between the two statements.
  for (let attempts = 0; attempts < maxClaimAttempts; attempts++) {
    const videoId = await findNextVideo(db, queue, waiting)
    if (videoId === undefined) break
    const claimed = await db.transaction().execute((trx) => claimOf(trx, videoId, claim))
    if (claimed) return claimed
    waiting.push(videoId)
  }
  return undefined
}

/** Videos whose source is complete, or those whose source still arrives. */
type WaitingVideos = { environment: string; isPartial: boolean }

const maxClaimAttempts = 3

const isWaiting = sql<boolean>`lease_owner is null and not is_paused and not_before <= now()`

async function findNextVideo(
  db: Db<Tables>,
  { environment, isPartial }: WaitingVideos,
  except: string[],
): Promise<string | undefined> {
  const { rows } = await sql<{ video_id: string }>`
    select video_id from chunks
    where environment = ${environment} and ${isWaiting} and video_id <> all(${except})
      and ${isPartial ? sql`priority >=` : sql`priority <`} ${partialPriority}
    order by priority, id limit 1`.execute(db)
  return rows[0]?.video_id
}

async function claimOf(trx: Transaction<Tables>, videoId: string, { leaseOwner, leaseMs, choose }: Claim) {
  // Whoever changes several chunks of a video locks its encoding first.
  const encoding = await lockEncoding(trx, videoId)
  const waiting = await trx
    .selectFrom('chunks')
    .selectAll()
    .where('video_id', '=', videoId)
    .where(isWaiting)
    .orderBy('id')
    .forUpdate()
    .execute()
  if (!encoding?.plan || waiting.length === 0) return undefined
  const { plan } = encoding
  // The upload limits how far viewers get, more than the encoding does.
  const elapsed = plan.partial
    ? sql`0`
    : sql`greatest(0, extract(epoch from now() - ${encoding.created_at}::timestamptz))`
  const { rows } = await sql<{ elapsedSeconds: number; isStarting: boolean }>`
    select ${elapsed}::float8 as "elapsedSeconds",
      exists (
        select from chunks where video_id = ${videoId} and lease_owner is not null and track = 'picture'
          and first_segment = 0 and ${plan.rungs[0]!.quality} = any(qualities)
      ) as "isStarting"`.execute(trx)
  const choice = choose({ encoding: { ...encoding, plan }, waiting, ...rows[0]! })
  if (!choice) return undefined
  const { from, firstSegment, segments, decoding } = choice
  const isChosen = ({ id }: { id: number }) => from.some((chunk) => chunk.id === id)
  const chunk = await separate(trx, plan, { from: waiting.filter(isChosen), firstSegment, segments })
  const leased = await sql<ClaimedChunk>`
    update chunks set lease_owner = ${leaseOwner}, lease_until = now() + ${leaseMs} * interval '1 millisecond'
    where id = ${chunk.id} returning *`.execute(trx)
  return { ...leased.rows[0]!, decoding }
}

/** Makes a chunk of its own of some segments of waiting chunks. */
async function separate(
  trx: Transaction<Tables>,
  plan: EncodingPlan,
  { from, firstSegment, segments }: { from: Selectable<ChunkRow>[]; firstSegment: number; segments: number },
): Promise<{ id: number }> {
  const [first] = from as [Selectable<ChunkRow>]
  if (from.length === 1 && first.segments === segments) return first
  const part = (chunk: Selectable<ChunkRow>, from: number, to: number) => {
    const { video_id, environment, track, qualities } = chunk
    const range = { first_segment: from, segments: to - from }
    const priority = priorityOf(plan, { track, qualities, ...range })
    return { video_id, environment, track, qualities, ...range, priority, not_before: sql<Date>`now()` }
  }
  const end = firstSegment + segments
  const rest = from.flatMap((chunk) => [
    part(chunk, chunk.first_segment, firstSegment),
    part(chunk, end, chunk.first_segment + chunk.segments),
  ])
  const qualities = from.flatMap((chunk) => chunk.qualities)
  const separated = part({ ...first, qualities }, firstSegment, end)
  for (const chunk of from) await deleteChunk(trx, chunk)
  const remaining = rest.filter((chunk) => chunk.segments > 0)
  if (remaining.length > 0) await trx.insertInto('chunks').values(remaining).execute()
  return trx.insertInto('chunks').values(separated).returning('id').executeTakeFirstOrThrow()
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
 * Locks a chunk and returns what remains of it: some of its segments may have been recorded, and other chunks of a
 * quality may have failed since it was claimed. Undefined if the lease was lost.
 */
export async function lockChunk(
  trx: Transaction<Tables>,
  chunk: ClaimedChunk,
): Promise<Pick<ChunkRow, 'qualities' | 'first_segment' | 'segments'> | undefined> {
  return trx
    .selectFrom('chunks')
    .select(['qualities', 'first_segment', 'segments'])
    .where('id', '=', chunk.id)
    .where('lease_owner', '=', chunk.lease_owner)
    .forUpdate()
    .executeTakeFirst()
}

/** Removes segments from the start of a chunk. */
export async function advanceChunk(
  trx: Transaction<Tables>,
  { id }: ClaimedChunk,
  segments: number,
): Promise<void> {
  await sql`
    update chunks set first_segment = first_segment + ${segments}, segments = segments - ${segments}
    where id = ${id}`.execute(trx)
}

export async function deleteChunk(trx: Transaction<Tables>, { id }: { id: number }): Promise<void> {
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

/** The chunks that no worker has, for the metrics. */
export async function findChunkBacklog(db: Db<Tables>): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    select ${backlogOf('not_before')} from chunks where lease_owner is null and not is_paused`.execute(db)
  return rows[0]!
}

/** The chunks that are being encoded. */
export async function countLeasedChunks(db: Db<Tables>): Promise<number> {
  const { rows } = await sql<{ chunks: number }>`
    select count(*) as chunks from chunks where lease_owner is not null and lease_until > now()`.execute(db)
  return rows[0]!.chunks
}
