import type { Import } from '../../../api/imports.ts'

/** How many objects an import has, and for how many nothing is left to do. */
export function countObjects({ waiting, fetching, encoding, done, failed, skipped }: Import['items']) {
  const ended = done + failed + skipped
  return { ended, total: ended + waiting + fetching + encoding }
}

/** The size of all videos, if only some are measured. Undefined if none is. */
export const estimateBytes = ({ count, measured, bytes }: Import['videos']): number | undefined =>
  measured === 0 ? undefined : (bytes / measured) * count
