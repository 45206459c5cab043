import type { H264Format } from './h264-format.ts'

/** A stream that cannot be played or recorded. The message is a sentence for the owner of the stream. */
export class UnsupportedStream extends Error {}

export type H264Config = {
  /** The AVCDecoderConfigurationRecord. */
  record: Buffer
  width: number
  height: number
  /** For playlists: `avc1.64001f`. */
  codec: string
  format: H264Format
  /** The bytes of the length in front of each NAL unit. */
  lengthBytes: number
}

export const nalIdr = 5
export const nalSps = 7
export const nalPps = 8
/** The usual ones have less than 100 bytes. Each one stays in memory while viewers can rewind to it. */
const maxRecordBytes = 4 * 1024
/** Levels allow for more, but nothing plays it. */
const maxSize = 8192

/** Reads an AVCDecoderConfigurationRecord. */
export function readH264Config(record: Buffer): H264Config {
  if (record.length < 8 || record.length > maxRecordBytes || record[0] !== 1 || (record[5]! & 31) < 1)
    throw invalid()
  const spsLength = record.readUInt16BE(6)
  const sps = record.subarray(8, 8 + spsLength)
  if (sps.length !== spsLength || (sps[0]! & 31) !== nalSps) throw invalid()
  const { width, height, format } = readSps(sps)
  if (width < 16 || height < 16 || width > maxSize || height > maxSize)
    throw new UnsupportedStream(`The frame size ${width} x ${height} is not supported.`)
  return {
    record,
    width,
    height,
    format,
    codec: `avc1.${record.toString('hex', 1, 4)}`,
    lengthBytes: (record[4]! & 3) + 1,
  }
}

const invalid = () => new UnsupportedStream('The configuration of the H.264 video is damaged.')

type Sps = Pick<H264Config, 'width' | 'height' | 'format'> & {
  level: number
  isFrameOnly: boolean
  /** What follows the size. */
  rest: BitReader
}

/** Reads the frame size and the format from a sequence parameter set (ITU-T H.264, 7.3.2.1.1). */
function readSps(sps: Buffer): Sps {
  const bits = new BitReader(withoutEmulation(sps.subarray(1)))
  const profile = bits.read(8)
  bits.read(8)
  const level = bits.read(8)
  bits.readUe()
  const chroma = hasChromaFormat.has(profile) ? readChromaFormat(bits) : usualChroma
  bits.readUe()
  skipPictureOrder(bits)
  bits.readUe()
  bits.read(1)
  const widthInMacroblocks = bits.readUe() + 1
  const heightInMaps = bits.readUe() + 1
  const isFrameOnly = bits.read(1) === 1
  if (!isFrameOnly) bits.read(1)
  bits.read(1)
  const crop =
    bits.read(1) === 1 ? [bits.readUe(), bits.readUe(), bits.readUe(), bits.readUe()] : [0, 0, 0, 0]
  const [left = 0, right = 0, top = 0, bottom = 0] = crop
  const fieldFactor = isFrameOnly ? 1 : 2
  const hasHalfWidth = !chroma.isSeparate && (chroma.format === 1 || chroma.format === 2)
  const hasHalfHeight = !chroma.isSeparate && chroma.format === 1
  return {
    level,
    isFrameOnly,
    rest: bits,
    format: { profile, chroma: chroma.format, bitDepth: chroma.bitDepth },
    width: widthInMacroblocks * 16 - (left + right) * (hasHalfWidth ? 2 : 1),
    height: fieldFactor * (heightInMaps * 16 - (top + bottom) * (hasHalfHeight ? 2 : 1)),
  }
}

export type H264Display = {
  /** `level_idc`: ten times the level. */
  level: number
  /** Whether every picture is an entire frame. */
  isFrameOnly: boolean
  hasSquarePixels: boolean
  /** Whether black is 0 instead of 16. */
  isFullRange: boolean
  /** The numbers of ITU-T H.273, if the stream has them. */
  colors?: { transfer: number; matrix: number }
}

/** How the frames are to be displayed, as a sequence parameter set says (ITU-T H.264, E.1.1). */
export function readDisplay(sps: Buffer): H264Display {
  const { rest: bits, level, isFrameOnly } = readSps(sps)
  const display: H264Display = { level, isFrameOnly, hasSquarePixels: true, isFullRange: false }
  if (bits.read(1) === 0) return display
  if (bits.read(1) === 1) {
    const aspect = bits.read(8)
    const [unknown, square, explicit] = [0, 1, 255]
    const [across, down] = aspect === explicit ? [bits.read(16), bits.read(16)] : [0, 1]
    display.hasSquarePixels = aspect === unknown || aspect === square || across === down
  }
  if (bits.read(1) === 1) bits.read(1)
  if (bits.read(1) === 1) {
    bits.read(3)
    display.isFullRange = bits.read(1) === 1
    if (bits.read(1) === 1) {
      bits.read(8)
      display.colors = { transfer: bits.read(8), matrix: bits.read(8) }
    }
  }
  return display
}

/** The sequence and picture parameter sets of an AVCDecoderConfigurationRecord. */
export function readParameterSets(record: Buffer): { sps: Buffer[]; pps: Buffer[] } {
  let at = 5
  const readSets = (count: number) =>
    Array.from({ length: count }, () => {
      if (at + 2 > record.length) throw invalid()
      const from = at + 2
      at = from + record.readUInt16BE(at)
      if (at > record.length) throw invalid()
      return record.subarray(from, at)
    })
  const readCount = (mask: number) => {
    const count = record[at++]
    if (count === undefined) throw invalid()
    return count & mask
  }
  const sps = readSets(readCount(31))
  return { sps, pps: readSets(readCount(255)) }
}

/** Whether a picture parameter set divides pictures into groups of slices, which few decoders support. */
export function hasSliceGroups(pps: Buffer): boolean {
  const bits = new BitReader(withoutEmulation(pps.subarray(1)))
  bits.readUe()
  bits.readUe()
  bits.read(2)
  return bits.readUe() > 0
}

/** The profiles whose parameter sets describe the chroma format and scaling matrices. */
const hasChromaFormat = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

type Chroma = { format: number; isSeparate: boolean; bitDepth: number }

/** 4:2:0 with 8 bits. */
const usualChroma: Chroma = { format: 1, isSeparate: false, bitDepth: 8 }

function readChromaFormat(bits: BitReader): Chroma {
  const format = bits.readUe()
  const isSeparate = format === 3 && bits.read(1) === 1
  const [lumaBits, chromaBits] = [8 + bits.readUe(), 8 + bits.readUe()]
  bits.read(1)
  const hasScalingMatrix = bits.read(1) === 1
  const lists = hasScalingMatrix ? (format === 3 ? 12 : 8) : 0
  for (let i = 0; i < lists; i++) if (bits.read(1) === 1) skipScalingList(bits, i < 6 ? 16 : 64)
  return { format, isSeparate, bitDepth: Math.max(lumaBits, chromaBits) }
}

function skipScalingList(bits: BitReader, size: number): void {
  let [last, next] = [8, 8]
  for (let i = 0; i < size; i++) {
    if (next !== 0) next = (last + bits.readSe() + 256) % 256
    if (next !== 0) last = next
  }
}

function skipPictureOrder(bits: BitReader): void {
  const type = bits.readUe()
  if (type === 0) bits.readUe()
  if (type !== 1) return
  bits.read(1)
  bits.readSe()
  bits.readSe()
  const cycle = bits.readUe()
  if (cycle > 255) throw invalid()
  for (let i = 0; i < cycle; i++) bits.readSe()
}

/** Removes the bytes that keep start codes out of a NAL unit: 00 00 03 becomes 00 00. */
function withoutEmulation(bytes: Buffer): Buffer {
  const kept: number[] = []
  let zeros = 0
  for (const byte of bytes) {
    const isEmulation = zeros >= 2 && byte === 3
    zeros = byte === 0 ? zeros + 1 : 0
    if (!isEmulation) kept.push(byte)
  }
  return Buffer.from(kept)
}

class BitReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  read(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++) {
      const byte = this.#bytes[this.#at >> 3]
      if (byte === undefined) throw invalid()
      value = value * 2 + ((byte >> (7 - (this.#at & 7))) & 1)
      this.#at++
    }
    return value
  }

  /** An unsigned Exp-Golomb code. */
  readUe(): number {
    let zeros = 0
    while (this.read(1) === 0) if (++zeros > 31) throw invalid()
    return 2 ** zeros - 1 + this.read(zeros)
  }

  /** A signed Exp-Golomb code. */
  readSe(): number {
    const code = this.readUe()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }
}

/** A frame of 1 MB in slices of 1,400 bytes, which fit into network packets, has 750. */
const maxNalUnits = 10_000

/** Whether the bytes are NAL units with their lengths. Anything else would break the files that contain it. */
export function isH264Sample(sample: Buffer, lengthBytes: number): boolean {
  let at = 0
  for (let units = 0; at < sample.length; units++) {
    if (units === maxNalUnits) return false
    if (at + lengthBytes > sample.length) return false
    const length = sample.readUIntBE(at, lengthBytes)
    if (length === 0) return false
    at += lengthBytes + length
  }
  return at === sample.length && at > 0
}
