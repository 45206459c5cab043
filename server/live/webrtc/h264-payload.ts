// H.264 in RTP (RFC 6184), in the mode where a frame may be split.

const startCode = Buffer.from([0, 0, 1])
const [aggregate, fragment] = [24, 28]
/** In one packet are parameter sets and a few short slices. */
const maxAggregated = 64

/** The NAL units of a frame, with start codes between them. */
export const joinH264 = (payloads: Buffer[]): Buffer => Buffer.concat(payloads.flatMap(unitsOf))

/** A fragment of a unit has a start code at its beginning only. */
function unitsOf(payload: Buffer): Buffer[] {
  if (payload.length < 2) return []
  const type = payload[0]! & 31
  if (type === aggregate) return readAggregate(payload)
  if (type !== fragment) return type > 0 && type < aggregate ? [startCode, payload] : []
  const isFirst = (payload[1]! & 0x80) !== 0
  if (!isFirst) return [payload.subarray(2)]
  const header = (payload[0]! & 0xe0) | (payload[1]! & 31)
  return [startCode, Buffer.from([header]), payload.subarray(2)]
}

function readAggregate(payload: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 1; at + 2 < payload.length && parts.length < 2 * maxAggregated; ) {
    const end = at + 2 + payload.readUInt16BE(at)
    if (end > payload.length) break
    parts.push(startCode, payload.subarray(at + 2, end))
    at = end
  }
  return parts
}
