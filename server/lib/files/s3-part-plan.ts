import type { StoredChunk } from './files.ts'
import { GiB, MiB } from './s3-bucket.ts'

/** A byte range of a chunk of `of` bytes. Both ends are inclusive. */
export type Slice = { location: string; from: number; to: number; of: number }

/** A part of a joined object. The store copies a single slice by itself, unless it is tiny. Several pass through this process. */
export type Part = Slice[]

/** Every store requires this of all parts except the last one. */
export const minPartBytes = 5 * MiB
/** A copy may have up to 5 GiB. Smaller ones run in parallel. */
const maxPartBytes = GiB
/** An object may have 10,000 parts. */
const maxParts = 9_000

/**
 * The parts of an object that is joined from chunks. A chunk that is too small to be a part is combined with the
 * following chunks. From a large following chunk, only as many bytes as needed are taken.
 */
export function planParts(
  chunks: StoredChunk[],
  minBytes = minBytesFor(chunks),
  maxBytes = maxPartBytes,
): Part[] {
  const parts: Part[] = []
  let combined: Part = []
  let combinedBytes = 0
  for (const { location, size } of chunks) {
    let from = 0
    if (combinedBytes > 0 || size < minBytes) {
      const needed = minBytes - combinedBytes
      // The rest of the chunk must be large enough to be a part.
      const used = size >= needed + minBytes ? needed : size
      if (used > 0) combined.push({ location, from: 0, to: used - 1, of: size })
      combinedBytes += used
      from = used
      if (combinedBytes >= minBytes) {
        parts.push(combined)
        combined = []
        combinedBytes = 0
      }
    }
    parts.push(...splitEvenly(location, from, size, maxBytes))
  }
  if (combined.length > 0) parts.push(combined)
  return parts
}

const minBytesFor = (chunks: StoredChunk[]) =>
  Math.max(minPartBytes, Math.ceil(chunks.reduce((sum, { size }) => sum + size, 0) / maxParts))

/** Parts of equal size, because a remainder could be smaller than a part may be. */
function splitEvenly(location: string, from: number, size: number, maxBytes: number): Part[] {
  const count = Math.ceil((size - from) / Math.max(maxBytes, Math.ceil((size - from) / maxParts)))
  const partBytes = Math.ceil((size - from) / count)
  return Array.from({ length: count }, (_, i) => [
    { location, from: from + i * partBytes, to: Math.min(from + (i + 1) * partBytes, size) - 1, of: size },
  ])
}
