/** A frame of a codec that is not passed through. `format` differs when its size does; of key frames only. */
export type EncodedFrame = { data: Buffer; isKeyFrame: boolean; format: string | undefined }

const vp8Size = 10

/** VP8 in RTP (RFC 7741). Undefined if it is damaged. */
export function joinVp8(payloads: Buffer[]): EncodedFrame | undefined {
  const data = Buffer.concat(payloads.map(withoutVp8Descriptor))
  if (data.length < 3) return undefined
  const isKeyFrame = (data[0]! & 1) === 0
  if (!isKeyFrame) return { data, isKeyFrame, format: undefined }
  if (data.length < vp8Size) return undefined
  return { data, isKeyFrame, format: `${data.readUInt16LE(6)} ${data.readUInt16LE(8)}` }
}

function withoutVp8Descriptor(payload: Buffer): Buffer {
  let at = 1
  const isExtended = (payload[0]! & 0x80) !== 0
  if (isExtended) {
    const flags = payload[at++] ?? 0
    const [hasPictureId, hasLayerZero, hasLayer] = [flags & 0x80, flags & 0x40, flags & 0x30]
    if (hasPictureId) at += (payload[at] ?? 0) & 0x80 ? 2 : 1
    if (hasLayerZero) at++
    if (hasLayer) at++
  }
  return payload.subarray(at)
}

/** VP9 in RTP (RFC 9628), with one spatial layer. */
export function joinVp9(payloads: Buffer[]): EncodedFrame | undefined {
  const data = Buffer.concat(payloads.map(withoutVp9Descriptor))
  if (data.length < 10) return undefined
  // The frame marker (2 bits), the profile (2), "shows an existing frame" (1), the frame type (1).
  const isKeyFrame = (data[0]! & 0b1100_1100) === 0b1000_0000 && data.readUIntBE(1, 3) === 0x498342
  // Of profile 0, the color space (3 bits), the range (1) and the size (twice 16) follow: 9 hexadecimal digits.
  return { data, isKeyFrame, format: isKeyFrame ? data.toString('hex', 4, 9).slice(0, 9) : undefined }
}

function withoutVp9Descriptor(payload: Buffer): Buffer {
  const flags = payload[0]!
  const [hasPictureId, isPredicted, hasLayers, isFlexible, hasStructure] = [0x80, 0x40, 0x20, 0x10, 0x02].map(
    (bit) => (flags & bit) !== 0,
  )
  let at = 1
  if (hasPictureId) at += (payload[at] ?? 0) & 0x80 ? 2 : 1
  if (hasLayers) at += isFlexible ? 1 : 2
  if (isFlexible && isPredicted) {
    const isFollowed = () => ((payload[at++] ?? 0) & 1) !== 0
    while (isFollowed()) {
      // At most three references.
    }
  }
  if (hasStructure) at = skipStructure(payload, at)
  return payload.subarray(at)
}

function skipStructure(payload: Buffer, start: number): number {
  const head = payload[start] ?? 0
  const layers = (head >> 5) + 1
  let at = start + 1
  if (head & 0x10) at += 4 * layers
  if (head & 0x08) {
    const pictures = payload[at++] ?? 0
    for (let i = 0; i < pictures && at < payload.length; i++) at += 1 + (((payload[at] ?? 0) >> 2) & 3)
  }
  return at
}
