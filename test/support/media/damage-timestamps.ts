// Changes timestamps in place, as a flipped bit or a broken recorder would.

type Edit = (bytes: Buffer, at: number) => void

/** Finds the offsets of the presentation and decoding timestamps of each video frame in an MPEG transport stream. */
export function timestampsInTs(bytes: Buffer): { pts: number; dts: number | undefined }[] {
  const packetBytes = 188
  const found: { pts: number; dts: number | undefined }[] = []
  for (let packet = 0; packet + packetBytes <= bytes.length; packet += packetBytes) {
    const startsUnit = bytes[packet + 1]! & 0x40
    const adaptationBytes = bytes[packet + 3]! & 0x20 ? 1 + bytes[packet + 4]! : 0
    const unit = packet + 4 + adaptationBytes
    // The start code of a video packet. The flags after it say which timestamps follow.
    if (!startsUnit || bytes.readUInt32BE(unit) !== 0x1e0) continue
    const flags = bytes[unit + 7]! >> 6
    if (flags & 2) found.push({ pts: unit + 9, dts: flags & 1 ? unit + 14 : undefined })
  }
  return found
}

/** Flips the bit of 2^31 ticks, which is 6.6 hours. */
export const flipHoursInTs: Edit = (bytes, at) => {
  bytes[at] = bytes[at]! ^ 0x04
}

/** Finds the offsets of the tags of an FLV. */
export function tagsInFlv(bytes: Buffer): number[] {
  const found: number[] = []
  for (let tag = 13; tag + 11 < bytes.length; tag += 15 + bytes.readUIntBE(tag + 1, 3)) found.push(tag)
  return found
}

export const isVideoTag = (bytes: Buffer, tag: number) => bytes[tag] === 9

/** Adds 2.3 hours to the timestamp of a tag. */
export const addHoursInFlv: Edit = (bytes, tag) => {
  bytes[tag + 4] = bytes[tag + 4]! ^ 0x80
}
