import { sql } from 'kysely'
import type { EncodingPlan, Environment, Metadata, Tables, ViewingSessionRow } from '../contracts/tables.ts'
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

/** Looks media up, many at a time, and remembers them for a moment. */
export function createMediaLookup(db: Db<Tables>, now: () => number) {
  const known = new Map<string, { media: Media | undefined; until: number }>()

  return async function find(ids: Iterable<string>): Promise<Map<string, Media>> {
    const time = now()
    const unknown = new Set<string>()
    for (const id of ids) {
      const entry = known.get(id)
      if (!entry || entry.until <= time) unknown.add(id)
    }
    if (unknown.size > 0) {
      const found = await findMedia(db, [...unknown])
      if (known.size + unknown.size > mostRemembered) known.clear()
      for (const id of unknown) known.set(id, { media: found.get(id), until: time + rememberedMs })
    }
    const media = new Map<string, Media>()
    for (const id of ids) {
      const one = known.get(id)?.media
      if (one) media.set(id, one)
    }
    return media
  }
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
