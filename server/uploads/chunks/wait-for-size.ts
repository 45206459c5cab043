import { setTimeout } from 'node:timers/promises'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'
import { isBeingExamined } from '../source/store.ts'

/** A usual file is examined in less. A slow file or a busy worker must not delay the response for longer. */
const maxWaitMs = 2_000
const pollMs = 100

/**
 * Waits until a worker has examined a complete source, because the response contains HTML with the aspect ratio of the
 * video, which people copy. Returns at once if more chunks are expected.
 */
export async function waitForSize(db: Db<Tables>, videoId: string): Promise<void> {
  const until = performance.now() + maxWaitMs
  while ((await isBeingExamined(db, videoId)) && performance.now() < until) await setTimeout(pollMs)
}
