import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../environments.ts'
import { type Backlog, backlogOf } from '../lib/backlog.ts'
import type { Db } from '../lib/db.ts'
import { createLeases, type Lease } from '../lib/leases.ts'
import type { Tables } from '../tables.ts'
import type { Phrase, TranscriptPieceRow, TranscriptRow, TranscriptState } from './tables.ts'

export type Transcript = Selectable<TranscriptRow>
export type TranscriptPiece = Selectable<TranscriptPieceRow>

export function findTranscript(db: Db<Tables>, videoId: string): Promise<Transcript | undefined> {
  return db.selectFrom('transcripts').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

/** Notified when there may be a transcript or a summary to work on. */
export const transcriptionChannel = 'kinora_transcription'

export async function announceWork(db: Db<Tables>): Promise<void> {
  await sql`select pg_notify(${transcriptionChannel}, '')`.execute(db)
}

// --- requests

/** Locks the transcript until the end of the transaction. */
export function lockTranscript(trx: Transaction<Tables>, videoId: string): Promise<Transcript | undefined> {
  return trx
    .selectFrom('transcripts')
    .selectAll()
    .where('video_id', '=', videoId)
    .forUpdate()
    .executeTakeFirst()
}

export type TranscriptRequest = { videoId: string; environment: Environment; language: string | null }

/** Does nothing if a concurrent request has inserted it. */
export async function insertTranscript(
  trx: Transaction<Tables>,
  { videoId, environment, language }: TranscriptRequest,
): Promise<void> {
  await trx
    .insertInto('transcripts')
    .values({ video_id: videoId, environment, state: 'waiting', language })
    .onConflict((c) => c.doNothing())
    .execute()
}

/** Continues after the pieces that exist. The current worker, if there is one, loses its lease. */
export async function restartTranscript(trx: Transaction<Tables>, videoId: string): Promise<void> {
  await trx
    .updateTable('transcripts')
    .set({
      state: 'waiting',
      failure: null,
      attempts: 0,
      next_at: sql<Date>`now()`,
      lease_owner: null,
      lease_until: null,
    })
    .where('video_id', '=', videoId)
    .execute()
}

/** Removes the pieces, so that all audio is recognized again in this language. */
export async function resetTranscript(
  trx: Transaction<Tables>,
  videoId: string,
  language: string | null,
): Promise<void> {
  await trx.deleteFrom('transcript_pieces').where('video_id', '=', videoId).execute()
  await trx
    .updateTable('transcripts')
    .set({ language, duration_ms: null })
    .where('video_id', '=', videoId)
    .execute()
}

/** Whether the caption exists that a transcript was made into. */
export async function hasCaption(db: Db<Tables>, videoId: string, language: string): Promise<boolean> {
  const found = await db
    .selectFrom('text_tracks')
    .select('id')
    .where('video_id', '=', videoId)
    .where('kind', '=', 'captions')
    .where('language', '=', language)
    .executeTakeFirst()
  return found !== undefined
}

// --- work

const leases = createLeases<Tables>('transcripts', 'video_id')
export const { renew: renewTranscript, release: releaseTranscript } = leases

/** The audio has been encoded, or will never be. The transcript of a discarded video waits. */
const canContinue = sql<boolean>`state in ('waiting', 'running')
  and exists (select from videos v where v.id = transcripts.video_id) and (
    exists (select from encodings e where e.video_id = transcripts.video_id and e.state <> 'encoding')
    or exists (select from sources s where s.video_id = transcripts.video_id and s.state = 'failed'))`

export const claimTranscript = (db: Db<Tables>, owner: string): Promise<Lease | undefined> =>
  leases.claim(db, owner, canContinue)

/** The transcripts that no worker has, for the metrics. */
export async function findTranscriptBacklog(db: Db<Tables>): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    select ${backlogOf('next_at')} from transcripts where lease_owner is null and ${canContinue}`.execute(db)
  return rows[0]!
}

/** Locks the transcript of a lease. Undefined if the lease was lost. */
export async function lockLeased(trx: Transaction<Tables>, lease: Lease): Promise<Transcript | undefined> {
  const row = await lockTranscript(trx, lease.id)
  return row?.lease_owner === lease.owner ? row : undefined
}

export function findLastPiece(db: Db<Tables>, videoId: string): Promise<TranscriptPiece | undefined> {
  return db
    .selectFrom('transcript_pieces')
    .selectAll()
    .where('video_id', '=', videoId)
    .orderBy('from_ms', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function insertPiece(
  trx: Transaction<Tables>,
  videoId: string,
  piece: { fromMs: number; toMs: number; isLast: boolean; phrases: Phrase[] },
): Promise<void> {
  await trx
    .insertInto('transcript_pieces')
    .values({
      video_id: videoId,
      from_ms: piece.fromMs,
      to_ms: piece.toMs,
      is_last: piece.isLast,
      phrases: JSON.stringify(piece.phrases),
    })
    .execute()
}

/** All phrases in the order of the video. */
export async function listPhrases(db: Db<Tables>, videoId: string): Promise<Phrase[]> {
  const rows = await db
    .selectFrom('transcript_pieces')
    .select('phrases')
    .where('video_id', '=', videoId)
    .orderBy('from_ms')
    .execute()
  return rows.flatMap(({ phrases }) => phrases)
}

/** Records progress and ends the lease, so that other transcripts get their turn before the next piece. */
export async function advanceTranscript(
  trx: Transaction<Tables>,
  videoId: string,
  change: { language: string | null; durationMs: number },
): Promise<void> {
  await trx
    .updateTable('transcripts')
    .set({
      state: 'running',
      language: change.language,
      duration_ms: change.durationMs,
      attempts: 0,
      next_at: sql<Date>`clock_timestamp()`,
      lease_owner: null,
      lease_until: null,
    })
    .where('video_id', '=', videoId)
    .execute()
}

export async function endTranscript(
  trx: Transaction<Tables>,
  videoId: string,
  state: Extract<TranscriptState, 'completed' | 'failed' | 'unprocessable'>,
  failure: string | null = null,
): Promise<void> {
  await trx
    .updateTable('transcripts')
    .set({ state, failure, lease_owner: null, lease_until: null })
    .where('video_id', '=', videoId)
    .execute()
}

/** The recognized part of the audio, for the progress. */
export async function findProgressMs(db: Db<Tables>, videoId: string): Promise<number> {
  const last = await findLastPiece(db, videoId)
  return last?.to_ms ?? 0
}
