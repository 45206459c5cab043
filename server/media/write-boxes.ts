// Writes the boxes of MP4 files (ISO/IEC 14496-12).

/** No rotation and no scaling. */
export const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)

export function box(type: string, ...parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 8)
  return Buffer.concat([u32(length), text(type), ...parts], length)
}

export function fullBox(type: string, version: number, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(version * 0x1000000 + flags), ...parts)
}

export function text(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}

export function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length)
  for (const [i, value] of values.entries()) bytes.writeUInt16BE(value, 2 * i)
  return bytes
}

export function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * i)
  return bytes
}

/** The flags of samples in fragments. */
export const syncSample = 0x02000000
export const nonSyncSample = 0x01010000

/** The sample entry of H.264. `record` is the AVCDecoderConfigurationRecord. */
export function avcEntry({
  width,
  height,
  record,
}: {
  width: number
  height: number
  record: Buffer
}): Buffer {
  const compressorName = Buffer.alloc(32)
  return box(
    'avc1',
    ...[Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(width, height), u32(0x480000, 0x480000, 0)],
    ...[u16(1), compressorName, u16(24, 0xffff), box('avcC', record)],
  )
}

export type Trak = {
  id: number
  timescale: number
  handler: 'vide' | 'soun'
  width: number
  height: number
  entry: Buffer
}

/** A track without samples, which are in fragments. */
export function trak({ id, timescale, handler, width, height, entry }: Trak): Buffer {
  const isAudio = handler === 'soun'
  const enabledInMovie = 3
  const volume = isAudio ? 0x100 : 0
  const trackHeader = fullBox(
    ...(['tkhd', 0, enabledInMovie] as const),
    ...[u32(0, 0, id, 0, 0), u32(0, 0), u16(0, 0, volume, 0), matrix, u32(width * 0x10000, height * 0x10000)],
  )
  const mediaHeader = isAudio ? fullBox('smhd', 0, 0, u16(0, 0)) : fullBox('vmhd', 0, 1, u16(0, 0, 0, 0))
  const undetermined = 0x55c4
  const table = box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), entry),
    ...['stts', 'stsc', 'stco'].map((type) => fullBox(type, 0, 0, u32(0))),
    fullBox('stsz', 0, 0, u32(0, 0)),
  )
  const dataInFile = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)))
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, u32(0, 0, timescale, 0), u16(undetermined, 0)),
    fullBox('hdlr', 0, 0, u32(0), text(handler), u32(0, 0, 0), Buffer.alloc(1)),
    box('minf', mediaHeader, dataInFile, table),
  )
  return box('trak', trackHeader, media)
}
