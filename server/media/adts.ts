const CRC_BYTES = 2
const HEADER_BYTES = 7

/** Takes a stream of AAC in ADTS apart: what decoders need once, and each frame without its header. */
export function readAdts(adts: Buffer): { config: Buffer; frames: Buffer[] } {
  const frames: Buffer[] = []
  let config: Buffer | undefined
  for (let from = 0; from < adts.length; ) {
    const problem = (what: string) => new Error(`ADTS: ${what} at byte ${from}`)
    if (from + HEADER_BYTES > adts.length) throw problem('half a header')
    const fixed = adts.readUInt32BE(from)
    // Twelve bits of sync word, and the two layer bits, which are zero in AAC.
    if ((fixed & 0xfff60000) >>> 0 !== 0xfff00000) throw problem('no sync word')
    const headerBytes = fixed & 0x10000 ? HEADER_BYTES : HEADER_BYTES + CRC_BYTES
    const size = (adts.readUIntBE(from + 3, 3) >> 5) & 0x1fff
    if (size <= headerBytes) throw problem(`a frame of ${size} bytes`)
    if (from + size > adts.length) throw problem('half a frame')
    if (adts[from + 6]! & 3) throw problem('several blocks in a frame')

    const here = configOf(fixed)
    config ??= here
    if (!config.equals(here)) throw problem('another configuration')
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
