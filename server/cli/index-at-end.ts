import type { FileHandle } from 'node:fs/promises'

type Extent = { from: number; to: number }

/** How files of the MP4 family begin whose samples can be in front of their index. */
const firstTypes = ['ftyp', 'wide', 'free', 'skip', 'mdat']
/** In front of the index are the samples and a few small boxes. */
const maxBoxes = 100

/**
 * Where the index of an MP4 or MOV file is (its box `moov`), if it is behind the samples. Reads the headers of the boxes only.
 * Undefined for all other files.
 */
export async function findIndexAtEnd(
  handle: Pick<FileHandle, 'read'>,
  size: number,
): Promise<Extent | undefined> {
  let hasSamples = false
  let from = 0
  for (let count = 0; count < maxBoxes; count++) {
    const box = await readBox(handle, from, size)
    if (!box || (from === 0 && !firstTypes.includes(box.type)) || box.type === 'moof') return undefined
    if (box.type === 'moov') return hasSamples ? { from, to: box.end - 1 } : undefined
    if (box.type === 'mdat') hasSamples = true
    from = box.end
  }
  return undefined
}

/** Undefined at the end of the file, and if this is no box. */
async function readBox(handle: Pick<FileHandle, 'read'>, from: number, size: number) {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, from)
  if (bytesRead < 8) return undefined
  const shortSize = buffer.readUInt32BE()
  // 1: the size follows in 64 bits. 0: the box extends to the end of the file.
  const isLong = shortSize === 1
  if (isLong && bytesRead < 16) return undefined
  const boxSize = isLong ? Number(buffer.readBigUInt64BE(8)) : shortSize === 0 ? size - from : shortSize
  const isValid = boxSize >= (isLong ? 16 : 8) && boxSize <= size - from
  return isValid ? { type: buffer.toString('latin1', 4, 8), end: from + boxSize } : undefined
}
