export type ImageSize = { type: 'image/png' | 'image/jpeg'; width: number; height: number }

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/**
 * The type and size of a PNG or JPEG; undefined for anything else. Not by `image-size`, which parses a dozen more formats
 * that an attacker could choose.
 */
export function readImageSize(bytes: Buffer): ImageSize | undefined {
  const size = bytes.subarray(0, 8).equals(pngSignature) ? readPng(bytes) : readJpeg(bytes)
  return size && size.width > 0 && size.height > 0 ? size : undefined
}

/** The first chunk is the header: length, name, width, height. */
function readPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 33 || bytes.readUInt32BE(8) !== 13 || bytes.toString('latin1', 12, 16) !== 'IHDR')
    return undefined
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** The markers C0 to CF start a frame, except these, which start tables. */
const tables = new Set([0xc4, 0xc8, 0xcc])
const startOfScan = 0xda

function readJpeg(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      // Any number of fill bytes may precede a marker.
      at += 1
      continue
    }
    if (marker === startOfScan) return undefined
    if (marker >= 0xc0 && marker <= 0xcf && !tables.has(marker))
      return { type: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return undefined
    at += 2 + length
  }
  return undefined
}
