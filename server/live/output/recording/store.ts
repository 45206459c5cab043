import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../../../environments.ts'
import type { Db } from '../../../lib/db.ts'
import type { Tables } from '../../../tables.ts'
import { sourceQuality } from '../../state/qualities.ts'
import type { LiveSegmentRow, RecordedStream, RecordingRow } from '../../tables.ts'

export type RecordingKey = Pick<RecordingRow, 'broadcast_id' | 'part'>

/** Consecutive segments of one epoch that begin in the same period. */
export type Run = { epoch: number; period: number; from: number; to: number }

/** The segments of the source that belong to no recording yet. */
export async function listUnplanned(
  db: Db<Tables>,
  broadcastId: string,
  { periodMs, limitMs }: { periodMs: number; limitMs: number | undefined },
): Promise<Run[]> {
  const { rows } = await sql<Run>`
    select epoch, (start_ms / ${periodMs})::integer as period, min(sequence) as "from", max(sequence) as "to"
    from live_segments
    where broadcast_id = ${broadcastId} and quality = ${sourceQuality}
      and sequence > coalesce((select max(to_sequence) from recordings where broadcast_id = ${broadcastId}), -1)
      and start_ms < ${limitMs ?? Number.MAX_SAFE_INTEGER}
    group by 1, 2 order by 3`.execute(db)
  return rows
}

/** Broadcasts in progress with a period that is complete and belongs to no recording yet. */
export async function listLong(db: Db<Tables>, periodMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select b.id from broadcasts b,
    lateral (
      select start_ms / ${periodMs} as period from live_segments
      where broadcast_id = b.id and quality = ${sourceQuality}
        and sequence > coalesce((select max(to_sequence) from recordings where broadcast_id = b.id), -1)
      order by sequence limit 1
    ) oldest,
    lateral (
      select start_ms / ${periodMs} as period from live_segments
      where broadcast_id = b.id and quality = ${sourceQuality} order by sequence desc limit 1
    ) newest
    where b.state <> 'ended' and b.record and b.environment = 'production' and newest.period > oldest.period`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}

/** Undefined if the broadcast has ended. */
export function lockRunning(trx: Transaction<Tables>, broadcastId: string) {
  return trx
    .selectFrom('broadcasts')
    .selectAll()
    .where('id', '=', broadcastId)
    .where('state', '<>', 'ended')
    .forUpdate()
    .executeTakeFirst()
}

export async function listInits(
  db: Db<Tables>,
  broadcastId: string,
  epochs: number[],
): Promise<Map<number, Buffer>> {
  const rows = await db
    .selectFrom('live_inits')
    .select(['epoch', 'data'])
    .where('broadcast_id', '=', broadcastId)
    .where('quality', '=', sourceQuality)
    .where('epoch', '=', sql<number>`any(${epochs})`)
    .execute()
  return new Map(rows.map(({ epoch, data }) => [epoch, data]))
}

export async function countRecordings(db: Db<Tables>, broadcastId: string): Promise<number> {
  const { count } = await db
    .selectFrom('recordings')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('broadcast_id', '=', broadcastId)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertRecordings(trx: Transaction<Tables>, rows: RecordingRow[]): Promise<void> {
  if (rows.length > 0) await trx.insertInto('recordings').values(rows).execute()
}

/** A recording with what it takes from its live stream, as it is now or was when it was deleted. */
export type StoredRecording = Selectable<RecordingRow> & {
  environment: Environment
  liveStreamId: string
  stream: RecordedStream
}

/** Locked until the end of the transaction. */
export async function lockRecording(
  trx: Transaction<Tables>,
  key: RecordingKey,
): Promise<StoredRecording | undefined> {
  const { rows } = await sql<StoredRecording>`
    select r.*, b.environment, b.live_stream_id as "liveStreamId",
      jsonb_build_object(
        'name', coalesce(s.name, b.deleted_stream ->> 'name'),
        'public', coalesce(s.public, (b.deleted_stream ->> 'public')::boolean),
        'playerId', p.id) as stream
    from recordings r
    join broadcasts b on b.id = r.broadcast_id
    left join live_streams s on s.id = b.live_stream_id
    left join players p on p.environment = b.environment
      and p.id = case when s.id is null then b.deleted_stream ->> 'playerId' else s.player_id end
    where r.broadcast_id = ${key.broadcast_id} and r.part = ${key.part}
    for update of r`.execute(trx)
  return rows[0]
}

export function findByKey(db: Db<Tables>, key: RecordingKey): Promise<Selectable<RecordingRow> | undefined> {
  return db
    .selectFrom('recordings')
    .selectAll()
    .where('broadcast_id', '=', key.broadcast_id)
    .where('part', '=', key.part)
    .executeTakeFirst()
}

/** Changes nothing if another run of the job has ended the recording in the meantime. */
export async function updateRecording(
  db: Db<Tables>,
  key: RecordingKey,
  change: Partial<Pick<RecordingRow, 'state' | 'reason'>> & { updated_at: Date },
): Promise<void> {
  await db
    .updateTable('recordings')
    .set(change)
    .where('broadcast_id', '=', key.broadcast_id)
    .where('part', '=', key.part)
    .where('state', '=', 'waiting')
    .execute()
}

export type StoredSegment = Pick<LiveSegmentRow, 'quality' | 'sequence' | 'epoch' | 'bytes' | 'fence'>

export function listSegments(
  db: Db<Tables>,
  { broadcast_id, from_sequence, to_sequence }: RecordingRow,
): Promise<StoredSegment[]> {
  return db
    .selectFrom('live_segments')
    .select(['quality', 'sequence', 'epoch', 'bytes', 'fence'])
    .where('broadcast_id', '=', broadcast_id)
    .where('quality', '=', sourceQuality)
    .where('sequence', '>=', from_sequence)
    .where('sequence', '<=', to_sequence)
    .orderBy('sequence')
    .execute()
}

// --- for the API

export type RecordingView = Pick<RecordingRow, 'broadcast_id' | 'state' | 'reason'> & {
  /** Null until the video exists. */
  videoId: string | null
}

/** The recordings of these broadcasts, in the order of their content. */
export async function listRecordings(db: Db<Tables>, broadcastIds: string[]): Promise<RecordingView[]> {
  const rows = await db
    .selectFrom('recordings')
    .select(['broadcast_id', 'state', 'reason', 'video_id'])
    .where('broadcast_id', '=', sql<string>`any(${broadcastIds})`)
    .orderBy('broadcast_id')
    .orderBy('part')
    .execute()
  return rows.map(({ video_id, ...row }) => ({
    ...row,
    videoId: row.state === 'recorded' ? video_id : null,
  }))
}

/** Returns the parts that have failed and wait again. */
export async function resetFailed(
  trx: Transaction<Tables>,
  broadcastId: string,
  now: Date,
): Promise<number[]> {
  const rows = await trx
    .updateTable('recordings')
    .set({ state: 'waiting', reason: null, updated_at: now })
    .where('broadcast_id', '=', broadcastId)
    .where('state', '=', 'failed')
    .returning('part')
    .execute()
  return rows.map(({ part }) => part)
}
