import { sql, type Transaction } from 'kysely'
import type { EncodingPlan, Environment, Metadata, Tables, ViewingSessionRow } from '../contracts/tables.ts'
import { batch } from '../lib/batch.ts'
import type { Db } from '../lib/db.ts'

/** What a report needs to know of what it is about. */
export type Media = {
  type: ViewingSessionRow['media_type']
  environment: Environment
  dynamicKeys: ReadonlySet<string>
  durationSeconds: number | undefined
}

/** Changes of metadata and new videos are seen after this time at the latest. */
const rememberedMs = 2_000
/** A flood of ids that do not exist passes through here too. */
const mostRemembered = 10_000
const mostAtOnce = 500

/** Looks media up, many at a time, and remembers them for a moment. */
export function createMediaLookup(db: Db<Tables>, now: () => number) {
  const known = new Map<string, { media: Promise<Media | undefined>; until: number }>()
  const lookUp = batch(mostAtOnce, async (ids: string[]) => {
    const found = await findMedia(db, ids)
    return ids.map((id) => found.get(id))
  })

  return function find(id: string): Promise<Media | undefined> {
    const time = now()
    const entry = known.get(id)
    if (entry && entry.until > time) return entry.media
    if (known.size >= mostRemembered) known.clear()
    const media = lookUp(id)
    known.set(id, { media, until: time + rememberedMs })
    media.catch(() => known.delete(id))
    return media
  }
}

/**
 * Those that are there, and stay until the transaction ends: who deletes one waits for that, and then finds all that
 * was written of it.
 */
export async function holdMedia(trx: Transaction<Tables>, ids: Iterable<string>): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from videos where id = any(${[...new Set(ids)]}) order by id for key share`.execute(trx)
  return new Set(rows.map(({ id }) => id))
}

type VideoFacts = { id: string; environment: Environment; metadata: Metadata[]; plan: EncodingPlan | null }

export async function findMedia(db: Db<Tables>, ids: string[]): Promise<Map<string, Media>> {
  const { rows } = await sql<VideoFacts>`
    select v.id, v.environment, v.metadata, jsonb_build_object('rate', e.plan->'rate', 'frames', e.plan->'frames') as plan
    from videos v left join encodings e on e.video_id = v.id and e.plan is not null
    where v.id = any(${ids})`.execute(db)
  return new Map(
    rows.map(({ id, environment, metadata, plan }) => [
      id,
      { type: 'video', environment, dynamicKeys: dynamicKeysOf(metadata), durationSeconds: durationOf(plan) },
    ]),
  )
}

/** Declared by a placeholder between double underscores (brief 2.2.2). */
const dynamicKeysOf = (metadata: Metadata[]) =>
  new Set(metadata.filter(({ value }) => /^__.+__$/s.test(value)).map(({ key }) => key))

function durationOf(plan: Pick<EncodingPlan, 'rate' | 'frames'> | null): number | undefined {
  if (!plan?.frames) return undefined
  return (plan.frames * plan.rate.den) / plan.rate.num
}

/** A value that is too long is not taken at all: a part of it would be another value. */
const longestValue = 2_000

/** Those of the declared keys that have a value. One that is set stays. */
export function takeMetadata(
  kept: Record<string, string>,
  given: Record<string, string>,
  { dynamicKeys }: Media,
): Record<string, string> {
  let taken = kept
  for (const key of dynamicKeys) {
    const value: unknown = given[key]
    if (typeof value !== 'string' || Object.hasOwn(kept, key) || value.length > longestValue) continue
    if (value.includes('\0') || !value.isWellFormed()) continue
    taken = { ...taken, [key]: value }
  }
  return taken
}
