import { nalIdr, nalPps, nalSps } from '../../media/h264.ts'

const nalDelimiter = 9
const nalFiller = 12
const startCode = Buffer.from([0, 0, 1])
const lengthBytes = 4
/** More are no video that anyone can play. */
const maxParameterSets = 32
/** A configuration with larger ones is not accepted. */
const maxParameterSetBytes = 4 * 1024
/** Pictures of any level have fewer slices. Each one takes memory, however short it is. */
const maxUnits = 4_096

export type AccessUnit = {
  /** Of the payloads of FLV: 17 for a key frame. */
  isKeyFrame: boolean
  /** NAL units with their lengths, after the space for a header. */
  bytes: Buffer
}

/** Reads H.264 with start codes between NAL units (ITU-T H.264, Annex B), and keeps the parameter sets. */
export class AnnexBReader {
  readonly #sps = new Map<number, Buffer>()
  readonly #pps = new Map<number, Buffer>()
  #isChanged = false

  /**
   * The access unit without parameter sets, delimiters and filler. Undefined if nothing is left, or if it has too many
   * parts. `headerBytes` are left free at its beginning.
   */
  read(data: Buffer, headerBytes: number): AccessUnit | undefined {
    const units = findUnits(data).filter(({ start, end }) => !this.#isApart(data.subarray(start, end)))
    if (units.length === 0) return undefined
    const total = units.reduce((sum, { start, end }) => sum + lengthBytes + end - start, headerBytes)
    const bytes = Buffer.allocUnsafe(total)
    let at = headerBytes
    let isKeyFrame = false
    for (const { start, end } of units) {
      isKeyFrame ||= (data[start]! & 31) === nalIdr
      at = bytes.writeUInt32BE(end - start, at)
      at += data.copy(bytes, at, start, end)
    }
    return { isKeyFrame, bytes }
  }

  /** The AVCDecoderConfigurationRecord, if the parameter sets have changed since the last call. */
  takeRecord(): Buffer | undefined {
    if (!this.#isChanged || this.#sps.size === 0 || this.#pps.size === 0) return undefined
    this.#isChanged = false
    return writeRecord([...this.#sps.values()], [...this.#pps.values()])
  }

  /** Whether the unit does not belong into a sample of MP4. Keeps parameter sets. */
  #isApart(unit: Buffer): boolean {
    const type = unit[0]! & 31
    if (type === nalSps) this.#keep(this.#sps, readId(unit, 4), unit)
    else if (type === nalPps) this.#keep(this.#pps, readId(unit, 1), unit)
    else return type === nalDelimiter || type === nalFiller
    return true
  }

  #keep(sets: Map<number, Buffer>, id: number | undefined, unit: Buffer): void {
    if (id === undefined || id >= maxParameterSets || unit.length > maxParameterSetBytes) return
    if (sets.get(id)?.equals(unit)) return
    // Picture parameter sets refer to the previous one.
    if (sets === this.#sps && sets.has(id)) this.#pps.clear()
    sets.set(id, Buffer.from(unit))
    this.#isChanged = true
  }
}

type Unit = { start: number; end: number }

/** The NAL units between start codes. None if there are too many. */
function findUnits(data: Buffer): Unit[] {
  const units: Unit[] = []
  let code = data.indexOf(startCode)
  while (code >= 0) {
    const start = code + startCode.length
    code = data.indexOf(startCode, start)
    let end = code < 0 ? data.length : code
    // Zeros before a start code are not part of a unit.
    while (end > start && data[end - 1] === 0) end--
    if (end > start) units.push({ start, end })
    if (units.length > maxUnits) return []
  }
  return units
}

/** The id of a parameter set, an Exp-Golomb code. Undefined if it is too large. */
function readId(unit: Buffer, at: number): number | undefined {
  if (unit.length < at + 2) return undefined
  const bits = unit.readUInt16BE(at)
  const zeros = Math.clz32(bits) - 16
  return zeros > 7 ? undefined : (bits >> (15 - 2 * zeros)) - 1
}

/** ISO/IEC 14496-15, 5.3.3.1. Parameter sets of some profiles repeat the chroma format, which no player reads here. */
function writeRecord(sps: Buffer[], pps: Buffer[]): Buffer {
  const [first] = sps
  const withLengths = (sets: Buffer[]) =>
    sets.flatMap((set) => [Buffer.from([set.length >> 8, set.length & 255]), set])
  return Buffer.concat([
    Buffer.from([1, first![1]!, first![2]!, first![3]!, 0xfc | (lengthBytes - 1), 0xe0 | sps.length]),
    ...withLengths(sps),
    Buffer.from([pps.length]),
    ...withLengths(pps),
  ])
}
