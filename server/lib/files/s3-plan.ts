import type { Piece } from './files.ts'
import { GiB, MiB } from './s3-client.ts'

/** Some bytes of a piece, which has `of` in all; both ends are included. */
export type Slice = { place: string; from: number; to: number; of: number }

/** A part of a joined file: one slice is copied by the store, several pass through this process. */
export type Part = Slice[]

/** What every store asks of parts, the last one excepted. */
const leastBytes = 5 * MiB
/** The most that one copy may take is 5 GiB; smaller ones run in parallel. */
const mostBytes = GiB
/** A file may have 10,000 parts. */
const mostParts = 9_000

/**
 * The parts of a file that is joined from pieces. Pieces that are too small to be parts are put together with what
 * follows them; of a large one that follows only as much as is needed.
 */
export function planParts(pieces: Piece[], least = leastFor(pieces), most = mostBytes): Part[] {
  const parts: Part[] = []
  let small: Part = []
  let gathered = 0
  for (const { place, size } of pieces) {
    let from = 0
    if (gathered > 0 || size < least) {
      const needed = least - gathered
      // What would be left over has to be a part of its own.
      const taken = size >= needed + least ? needed : size
      if (taken > 0) small.push({ place, from: 0, to: taken - 1, of: size })
      gathered += taken
      from = taken
      if (gathered >= least) {
        parts.push(small)
        small = []
        gathered = 0
      }
    }
    parts.push(...evenly(place, from, size, most))
  }
  if (small.length > 0) parts.push(small)
  return parts
}

const leastFor = (pieces: Piece[]) =>
  Math.max(leastBytes, Math.ceil(pieces.reduce((sum, { size }) => sum + size, 0) / mostParts))

/** Even shares: a rest might be smaller than a part may be. */
function evenly(place: string, from: number, size: number, most: number): Part[] {
  const count = Math.ceil((size - from) / Math.max(most, Math.ceil((size - from) / mostParts)))
  const share = Math.ceil((size - from) / count)
  return Array.from({ length: count }, (_, i) => [
    { place, from: from + i * share, to: Math.min(from + (i + 1) * share, size) - 1, of: size },
  ])
}
