type Extent = { from: number; to: number }

/** How files of the MP4 family begin whose samples can be in front of their index. */
const firstTypes = ['ftyp', 'wide', 'free', 'skip', 'mdat']
/** In front of the index are the samples and a few small boxes. */
const maxBoxes = 100

/**
 * Where the index of an MP4 or MOV file is (its box `moov`), if it is behind the samples. Reads the headers of the boxes only.
 * Undefined for all other files.
 */
export async function findIndexAtEnd(file: Blob): Promise<Extent | undefined> {
  let hasSamples = false
  let from = 0
  for (let count = 0; count < maxBoxes; count++) {
    const box = await readBox(file, from)
    if (!box || (from === 0 && !firstTypes.includes(box.type)) || box.type === 'moof') return undefined
    if (box.type === 'moov') return hasSamples ? { from, to: box.end - 1 } : undefined
    if (box.type === 'mdat') hasSamples = true
    from = box.end
  }
  return undefined
}

/** Undefined at the end of the file, and if this is no box. */
async function readBox(file: Blob, from: number) {
  const head = new DataView(await file.slice(from, from + 16).arrayBuffer())
  if (head.byteLength < 8) return undefined
  const shortSize = head.getUint32(0)
  // 1: the size follows in 64 bits. 0: the box extends to the end of the file.
  const isLong = shortSize === 1
  if (isLong && head.byteLength < 16) return undefined
  const size = isLong ? Number(head.getBigUint64(8)) : shortSize === 0 ? file.size - from : shortSize
  const isValid = size >= (isLong ? 16 : 8) && size <= file.size - from
  const type = String.fromCharCode(...new Uint8Array(head.buffer, 4, 4))
  return isValid ? { type, end: from + size } : undefined
}
