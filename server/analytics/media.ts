import { LRUCache } from 'lru-cache'
import { batch } from '../lib/batch.ts'
import type { Db } from '../lib/db.ts'
import { maxEntries } from '../lib/lru.ts'
import type { Tables } from '../tables.ts'
import { findMedia, type ReportedMedia } from './media-store.ts'

/** Changed metadata and new videos take effect after this time at the latest. */
const maxAgeMs = 2_000
/** The cache also holds ids that do not exist. */
const maxCached = 10_000
const maxBatchSize = 500

/** Looks up media in batches, and caches them for a short time. */
export function createMediaLookup(db: Db<Tables>, now: () => number) {
  const cache = new LRUCache<string, { media: Promise<ReportedMedia | undefined>; expiresAt: number }>(
    maxEntries(maxCached),
  )
  const load = batch(maxBatchSize, async (ids: string[]) => {
    const found = await findMedia(db, ids)
    return ids.map((id) => found.get(id))
  })

  return function find(id: string): Promise<ReportedMedia | undefined> {
    const time = now()
    const cached = cache.get(id)
    if (cached && cached.expiresAt > time) return cached.media
    const media = load(id)
    cache.set(id, { media, expiresAt: time + maxAgeMs })
    media.catch(() => cache.delete(id))
    return media
  }
}

/** Longer values are ignored rather than cut, because a part of a value would be a different value. */
const maxValueLength = 2_000

/** Adds the reported values of declared keys. The first value of a key stays. */
export function mergeMetadata(
  stored: Record<string, string>,
  reported: Record<string, string>,
  { dynamicKeys }: ReportedMedia,
): Record<string, string> {
  let merged = stored
  for (const key of dynamicKeys) {
    const value: unknown = reported[key]
    if (typeof value !== 'string' || Object.hasOwn(stored, key) || value.length > maxValueLength) continue
    if (value.includes('\0') || !value.isWellFormed()) continue
    merged = { ...merged, [key]: value }
  }
  return merged
}
