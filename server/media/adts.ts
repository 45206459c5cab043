const CRC_BYTES = 2
const HEADER_BYTES = 7

/** Splits an AAC stream in ADTS into the decoder configuration and the frames without their headers. */
export function readAdts(adts: Buffer): { config: Buffer; frames: Buffer[] } {
  const frames: Buffer[] = []
  let config: Buffer | undefined
  for (let from = 0; from < adts.length; ) {
    const invalid = (what: string) => new Error(`ADTS: ${what} at byte ${from}`)
    if (from + HEADER_BYTES > adts.length) throw invalid('half a header')
    const fixed = adts.readUInt32BE(from)
    // A sync word of twelve bits, and two layer bits that are zero in AAC.
    if ((fixed & 0xfff60000) >>> 0 !== 0xfff00000) throw invalid('no sync word')
    const headerBytes = fixed & 0x10000 ? HEADER_BYTES : HEADER_BYTES + CRC_BYTES
    const size = (adts.readUIntBE(from + 3, 3) >> 5) & 0x1fff
    if (size <= headerBytes) throw invalid(`a frame of ${size} bytes`)
    if (from + size > adts.length) throw invalid('half a frame')
    if (adts[from + 6]! & 3) throw invalid('several blocks in a frame')

    const frameConfig = configOf(fixed)
    config ??= frameConfig
    if (!config.equals(frameConfig)) throw invalid('another configuration')
    frames.push(adts.subarray(from + headerBytes, from + size))
    from += size
  }
  if (!config) throw new Error('ADTS: no frames')
  return { config, frames }
}

/** The AudioSpecificConfig: object type (5 bits), rate index (4), channels (4), three zero bits. */
function configOf(fixed: number): Buffer {
  const objectType = ((fixed >> 14) & 3) + 1
  const rateIndex = (fixed >> 10) & 15
  const channels = (fixed >> 6) & 7
  const config = Buffer.alloc(2)
  config.writeUInt16BE((objectType << 11) | (rateIndex << 7) | (channels << 3))
  return config
}
