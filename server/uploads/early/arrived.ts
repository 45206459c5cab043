import type { Context } from '../../context.ts'
import { type ByteRange, joinRanges, prefixOf } from '../../lib/byte-ranges.ts'
import { arrivingOf } from '../source/arrival.ts'
import type { SourcePieceRow, SourceRow } from '../tables.ts'

/** An upload of ten thousand chunks in any order has as many ranges. Few are enough to begin. */
const maxRanges = 100

/** The bytes of a source that can be read from the file of its upload. */
export function arrivedRanges(
  files: Context['files'],
  source: Pick<SourceRow, 'form' | 'handle' | 'arriving_from' | 'arriving_bytes'>,
  chunks: SourcePieceRow[],
): ByteRange[] {
  const arriving = arrivingOf(source)
  const recorded =
    source.form === 'parts' ? placeParts(files, source, chunks) : placeBytes(files, source, chunks)
  const isInPlace = arriving && (source.form !== 'parts' || arriving.from === prefixOf(joinRanges(recorded)))
  return joinRanges(isInPlace ? [...recorded, arriving] : recorded).slice(0, maxRanges)
}

type Upload = Pick<SourceRow, 'handle'>

/** Chunks that could not be written to their place are not in the file before the upload is complete. */
const placeBytes = (files: Context['files'], { handle }: Upload, chunks: SourcePieceRow[]): ByteRange[] =>
  chunks.flatMap(({ position, size, place }) => {
    if (place === null || size === 0) return []
    const isInPlace = files.offsetInUpload(handle, { location: place, size }) === position
    return isInPlace ? [{ from: position, to: position + size }] : []
  })

/** The place of a part depends on the size of those before it. */
function placeParts(files: Context['files'], { handle }: Upload, chunks: SourcePieceRow[]): ByteRange[] {
  let end = 0
  for (const [i, { position, size, place }] of chunks.entries()) {
    if (position !== i + 1 || place === null) break
    if (size > 0 && files.offsetInUpload(handle, { location: place, size }) !== end) break
    end += size
  }
  return [{ from: 0, to: end }]
}
