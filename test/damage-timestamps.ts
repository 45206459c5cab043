// Timestamps in self-made files, changed in place as a flipped bit or a broken recorder would.

type Edit = (bytes: Buffer, at: number) => void

/** Where the timestamps of the picture are in a transport stream: of each frame, the presentation time and the decoding time. */
export function timestampsInTs(bytes: Buffer): { pts: number; dts: number | undefined }[] {
  const packetBytes = 188
  const found: { pts: number; dts: number | undefined }[] = []
  for (let packet = 0; packet + packetBytes <= bytes.length; packet += packetBytes) {
    const startsUnit = bytes[packet + 1]! & 0x40
    const adaptationBytes = bytes[packet + 3]! & 0x20 ? 1 + bytes[packet + 4]! : 0
    const unit = packet + 4 + adaptationBytes
    // A start code of a picture; then flags that tell which times are there.
    if (!startsUnit || bytes.readUInt32BE(unit) !== 0x1e0) continue
    const flags = bytes[unit + 7]! >> 6
    if (flags & 2) found.push({ pts: unit + 9, dts: flags & 1 ? unit + 14 : undefined })
  }
  return found
}

/** Flips the bit that is worth 2^31 ticks: 6.6 hours. */
export const flipHoursInTs: Edit = (bytes, at) => {
  bytes[at] = bytes[at]! ^ 0x04
}

/** Where the tags of an FLV begin. */
export function tagsInFlv(bytes: Buffer): number[] {
  const found: number[] = []
  for (let tag = 13; tag + 11 < bytes.length; tag += 15 + bytes.readUIntBE(tag + 1, 3)) found.push(tag)
  return found
}

export const isVideoTag = (bytes: Buffer, tag: number) => bytes[tag] === 9

/** Adds 2.3 hours to the time of a tag. */
export const addHoursInFlv: Edit = (bytes, tag) => {
  bytes[tag + 4] = bytes[tag + 4]! ^ 0x80
}
