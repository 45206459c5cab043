import { ApiError, fileErrors } from '../../lib/errors.ts'
import { rangeErrors } from '../errors.ts'

/** What a request contains of the source: the entire file, a byte range, or a numbered part. */
export type Range =
  | { form: 'whole' }
  | { form: 'bytes'; from: number; to: number; total: number | undefined }
  | { form: 'parts'; part: number; total: number | undefined }

export const minChunkBytes = 5 * 1024 * 1024
const maxParts = 10_000

export const rangeError = (kind: keyof typeof rangeErrors, title: string) =>
  new ApiError(rangeErrors[kind], { name: 'Content-Range', title })

/**
 * Reads `bytes a-b/total`, `bytes a-b/*`, `part i/n` and `part i/*`, and rejects ranges that are invalid by themselves.
 * range-parser is not used: it reads the Range header of downloads, and does not tell malformed from unsatisfiable ranges.
 */
export function readRange(header: string | undefined): Range {
  if (header === undefined) return { form: 'whole' }
  const bytes = /^bytes\s+(\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header.trim())
  if (bytes) return checkBytes(Number(bytes[1]), Number(bytes[2]), total(bytes[3]))
  const part = /^part\s+(\d{1,15})\/(\d{1,15}|\*)$/i.exec(header.trim())
  if (part) return checkPart(Number(part[1]), total(part[2]))
  const forms = '"bytes 0-5242879/10000000", "part 1/3" or, while the total is unknown, "part 1/*"'
  throw rangeError('malformed', `The Content-Range header must have a form such as ${forms}.`)
}

const total = (text: string | undefined) => (text === '*' ? undefined : Number(text))

function checkBytes(from: number, to: number, total: number | undefined): Range {
  if (total === 0) throw rangeError('by-bytes-total-bytes-zero', 'The total number of bytes cannot be 0.')
  if (from > to) throw rangeError('by-bytes-from-byte-too-high', 'The first byte is after the last one.')
  if (total !== undefined && to >= total) {
    throw rangeError('by-bytes-to-byte-too-high-total', `The last byte must be below the total of ${total}.`)
  }
  const isLast = total !== undefined && to === total - 1
  if (!isLast && to - from + 1 < minChunkBytes) {
    throw rangeError(
      'by-bytes-range-too-small',
      `A range must have at least ${minChunkBytes} bytes, except the last one.`,
    )
  }
  return { form: 'bytes', from, to, total }
}

function checkPart(part: number, total: number | undefined): Range {
  if (part === 0) throw rangeError('by-part-part-zero', 'Parts are numbered from 1.')
  if (total === 0) throw rangeError('by-part-total-parts-zero', 'The total number of parts cannot be 0.')
  if (part > maxParts)
    throw rangeError('by-part-part-too-high-allowed', `There can be ${maxParts} parts at most.`)
  if (total !== undefined && total > maxParts) {
    throw rangeError('by-part-total-parts-too-high', `There can be ${maxParts} parts at most.`)
  }
  if (total !== undefined && part > total) {
    throw rangeError('by-part-part-too-high-total', `The part must not exceed the total of ${total}.`)
  }
  return { form: 'parts', part, total }
}

/** The position of the chunk among the others: its part number, or its first byte. */
export function positionOf(range: Range): number {
  if (range.form === 'parts') return range.part
  return range.form === 'bytes' ? range.from : 0
}

/** Whether the range is the start of the source. */
export const isFirst = (range: Range) => positionOf(range) === (range.form === 'parts' ? 1 : 0)

export type ReceivedChunk = { position: number; size: number }

/** What has arrived of a source. */
export type Received = {
  form: Range['form']
  /** The total number of bytes or parts, once a request has stated it. */
  total: number | undefined
  /** The last chunk, without the chunk at the position of the range. */
  last: ReceivedChunk | undefined
  /** Whether another chunk overlaps with the range. */
  isOverlapping: boolean
}

/** Rejects a range that contradicts the chunks that have arrived or are being written. */
export function checkAgainstReceived(range: Range, received: Received): void {
  if (range.form !== received.form) {
    if (range.form === 'whole') {
      throw rangeError('already-initiated', 'A chunked upload has started: send the rest with Content-Range.')
    }
    const startedWith = {
      bytes: 'started-with-bytes',
      parts: 'started-with-part',
      whole: 'already-initiated',
    } as const
    throw rangeError(
      startedWith[received.form],
      `The upload has started in the form "${received.form}": continue in this form.`,
    )
  }
  if (range.form === 'bytes') checkBytesAgainstReceived(range, received)
  if (range.form === 'parts') checkPartAgainstReceived(range, received)
}

function checkBytesAgainstReceived(
  range: Extract<Range, { form: 'bytes' }>,
  { total, last, isOverlapping }: Received,
): void {
  if (total !== undefined && range.total !== undefined && range.total !== total) {
    throw rangeError('by-bytes-different-total-bytes', `An earlier request stated a total of ${total}.`)
  }
  if (total !== undefined && range.to >= total) {
    throw rangeError('by-bytes-to-byte-too-high-total', `The last byte must be below the total of ${total}.`)
  }
  const end = last ? last.position + last.size : 0
  if (range.total !== undefined && range.total < end) {
    throw rangeError('by-bytes-total-bytes-too-low', `${end} bytes have already arrived.`)
  }
  if (isOverlapping)
    throw rangeError('by-bytes-range-overlap', 'The range overlaps with a range that has already arrived.')
}

function checkPartAgainstReceived(range: Extract<Range, { form: 'parts' }>, { total, last }: Received): void {
  if (total !== undefined && range.total !== undefined && range.total !== total) {
    throw rangeError('by-part-different-total-parts', `An earlier request stated a total of ${total}.`)
  }
  if (total !== undefined && range.part > total) {
    throw rangeError('by-part-part-too-high-total', `The part must not exceed the total of ${total}.`)
  }
  const highest = last?.position ?? 0
  if (range.total !== undefined && range.total < highest) {
    throw rangeError('by-part-total-parts-too-low', `Part ${highest} has already arrived.`)
  }
}

/** Rejects a file whose size differs from its range or is too small for a chunk. */
export function checkSize(range: Range, size: number): void {
  if (range.form === 'bytes' && size !== range.to - range.from + 1) {
    const stated = range.to - range.from + 1
    throw rangeError('by-bytes-range-mismatch', `The range has ${stated} bytes, but the file has ${size}.`)
  }
  const isLastPart = range.form === 'parts' && range.part === range.total
  if (size === 0 && !(isLastPart && range.part > 1)) {
    throw new ApiError(fileErrors.empty, { name: 'file' })
  }
  if (range.form === 'parts' && !isLastPart && size < minChunkBytes) {
    throw rangeError(
      'by-part-uploaded-file-too-small',
      `A part must have at least ${minChunkBytes} bytes, except the last one.`,
    )
  }
}

/** Whether everything has arrived. */
export function isComplete(
  form: Range['form'],
  total: number | undefined,
  received: { count: number; bytes: number },
): boolean {
  if (form === 'whole') return received.count === 1
  // Ranges do not overlap, so their sizes add up to the total exactly when there is no gap.
  return total !== undefined && (form === 'parts' ? received.count : received.bytes) === total
}

/**
 * Where the chunk begins in the file, if that is known or likely: all parts but the last mostly have the same size. A
 * wrong guess costs a copy when the upload is finished.
 */
export function offsetOf(
  range: Range,
  received: {
    count: number
    bytes: number
    first: ReceivedChunk | undefined
    last: ReceivedChunk | undefined
  },
): number | undefined {
  if (range.form === 'whole') return 0
  if (range.form === 'bytes') return range.from
  const { count, bytes, first, last } = received
  // Most clients send parts in order, so the received bytes are all bytes before this part.
  if (count === range.part - 1 && (last?.position ?? 0) < range.part) return bytes
  if (range.part === 1) return 0
  return first && first.position < range.part ? (range.part - 1) * first.size : undefined
}
