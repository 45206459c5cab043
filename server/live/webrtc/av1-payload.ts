import type { EncodedFrame } from './vpx-payload.ts'

// AV1 in RTP (https://aomediacodec.github.io/av1-rtp-spec/). Units have no sizes there, which decoders need.

const [sequenceHeader, temporalDelimiter, tileList] = [1, 2, 8]
const hasSizeFlag = 0x02
const extensionFlag = 0x04
/** Frames have up to 512 tiles. */
const maxUnits = 1_024

/** The units of a frame with their sizes. Undefined if it is damaged. */
export function joinAv1(payloads: Buffer[]): EncodedFrame | undefined {
  const parts: Buffer[][] = []
  for (const payload of payloads) {
    const head = payload[0]!
    const continues = (head & 0x80) !== 0
    const elements = readElements(payload, (head >> 4) & 3)
    if (!elements) return undefined
    for (const [i, element] of elements.entries()) {
      if (i > 0 || !continues) parts.push([element])
      else if (parts.length === 0) return undefined
      else parts.at(-1)!.push(element)
    }
    if (parts.length > maxUnits) return undefined
  }
  const units = parts.map((each) => (each.length === 1 ? each[0]! : Buffer.concat(each)))
  const kept = units.filter(
    (unit) => unit.length > 0 && ![temporalDelimiter, tileList].includes(typeOf(unit)),
  )
  if (kept.length === 0) return undefined
  const header = kept.find((unit) => typeOf(unit) === sequenceHeader)
  return {
    data: Buffer.concat(kept.map(withSize)),
    isKeyFrame: header !== undefined,
    format: header?.toString('hex'),
  }
}

const typeOf = (unit: Buffer) => (unit[0]! >> 3) & 15

/** With a count, the last element has no size. */
function readElements(payload: Buffer, count: number): Buffer[] | undefined {
  const elements: Buffer[] = []
  for (let at = 1; at < payload.length; ) {
    const isLast = count > 0 && elements.length === count - 1
    const size = isLast ? { value: payload.length - at, bytes: 0 } : readSize(payload, at)
    if (!size || at + size.bytes + size.value > payload.length) return undefined
    const start = at + size.bytes
    at = start + size.value
    elements.push(payload.subarray(start, at))
  }
  return elements
}

/** LEB128. */
function readSize(payload: Buffer, at: number): { value: number; bytes: number } | undefined {
  let value = 0
  for (let bytes = 1; bytes <= 4; bytes++) {
    const byte = payload[at + bytes - 1]
    if (byte === undefined) return undefined
    value += (byte & 127) * 128 ** (bytes - 1)
    if (byte < 128) return { value, bytes }
  }
  return undefined
}

function withSize(unit: Buffer): Buffer {
  const head = unit[0]!
  if (head & hasSizeFlag) return unit
  const headerBytes = head & extensionFlag ? 2 : 1
  const content = unit.subarray(headerBytes)
  const size: number[] = []
  for (let rest = content.length; ; rest >>>= 7) {
    size.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  const header = Buffer.from(unit.subarray(0, headerBytes))
  header[0]! |= hasSizeFlag
  return Buffer.concat([header, Buffer.from(size), content])
}
