import { type Selectable, sql, type Transaction } from 'kysely'
import type { Environment } from '../../environments.ts'
import { type Backlog, backlogOf } from '../../lib/backlog.ts'
import { type Db, listPage } from '../../lib/db.ts'
import { createLeases, type Lease } from '../../lib/leases.ts'
import type { Page } from '../../lib/paging.ts'
import type { Tables } from '../../tables.ts'
import type { SummaryAttribute, SummaryOrigin, SummaryRow, SummaryState } from '../tables.ts'

export type Summary = Selectable<SummaryRow>

/** Whoever asks for the summary of a discarded video does not find it. */
const hasVideo = sql<boolean>`exists (select from videos v where v.id = summaries.video_id)`

// --- requests

/** The video of a new summary, locked until the end of the transaction. */
export function lockVideo(
  trx: Transaction<Tables>,
  environment: Environment,
  videoId: string,
): Promise<{ language: string | null; is_language_detected: boolean } | undefined> {
  return trx
    .selectFrom('videos')
    .select(['language', 'is_language_detected'])
    .where('id', '=', videoId)
    .where('environment', '=', environment)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export function findSummaryOfVideo(db: Db<Tables>, videoId: string): Promise<Summary | undefined> {
  return db.selectFrom('summaries').selectAll().where('video_id', '=', videoId).executeTakeFirst()
}

export type NewSummary = {
  id: string
  environment: Environment
  videoId: string
  origin: SummaryOrigin
  attributes: SummaryAttribute[]
  now: Date
}

/** A generated summary waits for its text. One that is written by hand has none yet. */
export function insertSummary(trx: Transaction<Tables>, summary: NewSummary): Promise<Summary> {
  const { id, environment, videoId, origin, attributes, now } = summary
  return trx
    .insertInto('summaries')
    .values({
      id,
      environment,
      video_id: videoId,
      origin,
      attributes,
      created_at: now,
      updated_at: now,
      state: origin === 'auto' ? 'waiting' : 'missing',
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Generates a summary again that could not be generated before. */
export function restartSummary(
  trx: Transaction<Tables>,
  id: string,
  { attributes, now }: Pick<NewSummary, 'attributes' | 'now'>,
): Promise<Summary> {
  return trx
    .updateTable('summaries')
    .set({
      ...{
        state: 'waiting',
        failure: null,
        attributes,
        attempts: 0,
        next_at: sql<Date>`now()`,
        updated_at: now,
      },
      lease_owner: null,
      lease_until: null,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function findSummary(
  db: Db<Tables>,
  environment: Environment,
  id: string,
): Promise<Summary | undefined> {
  return db
    .selectFrom('summaries')
    .selectAll()
    .where('id', '=', id)
    .where('environment', '=', environment)
    .where(hasVideo)
    .executeTakeFirst()
}

/** Undefined while the summary is being generated. */
export function updateSource(
  db: Db<Tables>,
  id: string,
  { abstract, takeaways, now }: { abstract?: string; takeaways?: string[]; now: Date },
): Promise<Summary | undefined> {
  return db
    .updateTable('summaries')
    .set({ abstract, takeaways, state: 'completed', failure: null, updated_at: now })
    .where('id', '=', id)
    .where('state', '<>', 'waiting')
    .returningAll()
    .executeTakeFirst()
}

export async function deleteSummary(db: Db<Tables>, environment: Environment, id: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('summaries')
    .where('id', '=', id)
    .where('environment', '=', environment)
    .where(hasVideo)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

const sortColumns = {
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  videoId: 'video_id',
} as const satisfies Record<string, keyof SummaryRow>

export type SummaryFilter = { videoId?: string; origin?: SummaryOrigin; sourceStatus?: SummaryState }
export type SummaryOrder = { by: keyof typeof sortColumns; order: 'asc' | 'desc' }

export async function listSummaries(
  db: Db<Tables>,
  environment: Environment,
  { videoId, origin, sourceStatus }: SummaryFilter,
  { by, order }: SummaryOrder,
  page: Page,
): Promise<{ summaries: Summary[]; total: number }> {
  let found = db.selectFrom('summaries').where('environment', '=', environment).where(hasVideo)
  if (videoId !== undefined) found = found.where('video_id', '=', videoId)
  if (origin !== undefined) found = found.where('origin', '=', origin)
  if (sourceStatus !== undefined) found = found.where('state', '=', sourceStatus)
  const { rows, total } = await listPage(
    db,
    found,
    (query) => query.selectAll().orderBy(sortColumns[by], order).orderBy('id', order),
    page,
  )
  return { summaries: rows, total }
}

// --- work

const leases = createLeases<Tables>('summaries', 'id')
export const { renew: renewSummary, release: releaseSummary } = leases

/** The transcript is complete, or will never be. */
const canGenerate = sql<boolean>`state = 'waiting' and ${hasVideo} and not exists (
  select from transcripts t where t.video_id = summaries.video_id and t.state in ('waiting', 'running'))`

export const claimSummary = (db: Db<Tables>, owner: string): Promise<Lease | undefined> =>
  leases.claim(db, owner, canGenerate)

/** The summaries that no worker has, for the metrics. */
export async function findSummaryBacklog(db: Db<Tables>): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    select ${backlogOf('next_at')} from summaries where lease_owner is null and ${canGenerate}`.execute(db)
  return rows[0]!
}

/** Undefined if the lease was lost. */
export function findLeased(db: Db<Tables>, lease: Lease): Promise<Summary | undefined> {
  return db
    .selectFrom('summaries')
    .selectAll()
    .where('id', '=', lease.id)
    .where('lease_owner', '=', lease.owner)
    .executeTakeFirst()
}

export type SummaryResult = Pick<Partial<Summary>, 'abstract' | 'takeaways' | 'failure'> & {
  state: Extract<SummaryState, 'completed' | 'failed' | 'unprocessable'>
  updated_at: Date
}

/** Ends the generation. False if the lease was lost. */
export async function endSummary(db: Db<Tables>, lease: Lease, result: SummaryResult): Promise<boolean> {
  const ended = await db
    .updateTable('summaries')
    .set({ ...result, lease_owner: null, lease_until: null })
    .where('id', '=', lease.id)
    .where('lease_owner', '=', lease.owner)
    .returning('id')
    .executeTakeFirst()
  return ended !== undefined
}
