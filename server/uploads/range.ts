import { ApiError, fileErrors } from '../lib/errors.ts'
import { rangeErrors } from './errors.ts'

/** How a request's file relates to the whole source: all of it, a range of its bytes, or one of its parts. */
export type Range =
  | { form: 'whole' }
  | { form: 'bytes'; from: number; to: number; total: number | undefined }
  | { form: 'parts'; part: number; total: number | undefined }

export const smallestPiece = 5 * 1024 * 1024
export const mostParts = 10_000

export const rangeProblem = (kind: keyof typeof rangeErrors, title: string) =>
  new ApiError(rangeErrors[kind], { name: 'Content-Range', title })

/** Reads `bytes a-b/total`, `bytes a-b/*`, `part i/n` and `part i/*`, and refuses what cannot be right by itself. */
export function readRange(header: string | undefined): Range {
  if (header === undefined) return { form: 'whole' }
  const bytes = /^bytes\s+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header.trim())
  if (bytes) return checkBytes(Number(bytes[1]), Number(bytes[2]), total(bytes[3]))
  const part = /^part\s+(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header.trim())
  if (part) return checkPart(Number(part[1]), total(part[2]))
  const forms = '"bytes 0-5242879/10000000", "part 1/3" or, while the total is unknown, "part 1/*"'
  throw rangeProblem('malformed', `The Content-Range header must have a form such as ${forms}.`)
}

const total = (text: string | undefined) => (text === '*' ? undefined : Number(text))

function checkBytes(from: number, to: number, total: number | undefined): Range {
  if (total === 0) throw rangeProblem('by-bytes-total-bytes-zero', 'The total number of bytes cannot be 0.')
  if (from > to) throw rangeProblem('by-bytes-from-byte-too-high', 'The first byte lies after the last one.')
  if (total !== undefined && to >= total) {
    throw rangeProblem(
      'by-bytes-to-byte-too-high-total',
      `The last byte must be below the total of ${total}.`,
    )
  }
  const isLast = total !== undefined && to === total - 1
  if (!isLast && to - from + 1 < smallestPiece) {
    throw rangeProblem(
      'by-bytes-range-too-small',
      `A range must have ${smallestPiece} bytes, except the last one.`,
    )
  }
  return { form: 'bytes', from, to, total }
}

function checkPart(part: number, total: number | undefined): Range {
  if (part === 0) throw rangeProblem('by-part-part-zero', 'Parts are counted from 1.')
  if (total === 0) throw rangeProblem('by-part-total-parts-zero', 'The total number of parts cannot be 0.')
  if (part > mostParts)
    throw rangeProblem('by-part-part-too-high-allowed', `There can be ${mostParts} parts at most.`)
  if (total !== undefined && total > mostParts) {
    throw rangeProblem('by-part-total-parts-too-high', `There can be ${mostParts} parts at most.`)
  }
  if (total !== undefined && part > total) {
    throw rangeProblem('by-part-part-too-high-total', `The part must not exceed the total of ${total}.`)
  }
  return { form: 'parts', part, total }
}

/** The place of the piece among the others: its part, or its first byte. */
export function positionOf(range: Range): number {
  if (range.form === 'parts') return range.part
  return range.form === 'bytes' ? range.from : 0
}

export type ReceivedPiece = { position: number; size: number }

/** What has arrived of a source, and how many bytes or parts it has, once any request has said so. */
export type Received = {
  form: Range['form']
  total: number | undefined
  /** The last piece but the range's own. */
  last: ReceivedPiece | undefined
  /** Whether any other piece is in the way of the range. */
  isOverlapping: boolean
}

/** Refuses what cannot be right beside what has arrived or is arriving. */
export function checkBeside(range: Range, received: Received): void {
  if (range.form !== received.form) {
    if (range.form === 'whole') {
      throw rangeProblem(
        'already-initiated',
        'An upload in pieces has begun: send the rest with Content-Range.',
      )
    }
    const begunWith = {
      bytes: 'started-with-bytes',
      parts: 'started-with-part',
      whole: 'already-initiated',
    } as const
    throw rangeProblem(
      begunWith[received.form],
      `The upload has begun in the form "${received.form}": go on with it.`,
    )
  }
  if (range.form === 'bytes') checkBytesBeside(range, received)
  if (range.form === 'parts') checkPartBeside(range, received)
}

function checkBytesBeside(
  range: Extract<Range, { form: 'bytes' }>,
  { total, last, isOverlapping }: Received,
): void {
  if (total !== undefined && range.total !== undefined && range.total !== total) {
    throw rangeProblem('by-bytes-different-total-bytes', `The total was given as ${total} before.`)
  }
  if (total !== undefined && range.to >= total) {
    throw rangeProblem(
      'by-bytes-to-byte-too-high-total',
      `The last byte must be below the total of ${total}.`,
    )
  }
  const end = last ? last.position + last.size : 0
  if (range.total !== undefined && range.total < end) {
    throw rangeProblem('by-bytes-total-bytes-too-low', `${end} bytes have arrived already.`)
  }
  if (isOverlapping)
    throw rangeProblem('by-bytes-range-overlap', 'The range overlaps with one that has arrived.')
}

function checkPartBeside(range: Extract<Range, { form: 'parts' }>, { total, last }: Received): void {
  if (total !== undefined && range.total !== undefined && range.total !== total) {
    throw rangeProblem('by-part-different-total-parts', `The total was given as ${total} before.`)
  }
  if (total !== undefined && range.part > total) {
    throw rangeProblem('by-part-part-too-high-total', `The part must not exceed the total of ${total}.`)
  }
  const highest = last?.position ?? 0
  if (range.total !== undefined && range.total < highest) {
    throw rangeProblem('by-part-total-parts-too-low', `Part ${highest} has arrived already.`)
  }
}

/** Refuses a file whose size is not what the range says or what a piece needs. */
export function checkSize(range: Range, size: number): void {
  if (range.form === 'bytes' && size !== range.to - range.from + 1) {
    const said = range.to - range.from + 1
    throw rangeProblem('by-bytes-range-mismatch', `The range has ${said} bytes, and the file ${size}.`)
  }
  const isLastPart = range.form === 'parts' && range.part === range.total
  if (size === 0 && !(isLastPart && range.part > 1)) {
    throw new ApiError(fileErrors.empty, { name: 'file' })
  }
  if (range.form === 'parts' && !isLastPart && size < smallestPiece) {
    throw rangeProblem(
      'by-part-uploaded-file-too-small',
      `A part must have ${smallestPiece} bytes, except the last one.`,
    )
  }
}

/** Whether everything up to the total is there. */
export function isComplete(
  form: Range['form'],
  total: number | undefined,
  received: { pieces: number; bytes: number },
): boolean {
  if (form === 'whole') return received.pieces === 1
  // Ranges do not overlap, so their sizes add up to the total exactly when there is no gap.
  return total !== undefined && (form === 'parts' ? received.pieces : received.bytes) === total
}

/**
 * Where in the file the piece begins, where that is known or likely: parts but the last are mostly of one size. A
 * guess that proves wrong is put right when all is there.
 */
export function offsetOf(
  range: Range,
  received: {
    pieces: number
    bytes: number
    first: ReceivedPiece | undefined
    last: ReceivedPiece | undefined
  },
): number | undefined {
  if (range.form === 'whole') return 0
  if (range.form === 'bytes') return range.from
  const { pieces, bytes, first, last } = received
  // In order, as most clients send them: what has arrived is all that comes before.
  if (pieces === range.part - 1 && (last?.position ?? 0) < range.part) return bytes
  if (range.part === 1) return 0
  return first && first.position < range.part ? (range.part - 1) * first.size : undefined
}
