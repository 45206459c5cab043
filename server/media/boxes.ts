import { type FileHandle, open, stat } from 'node:fs/promises'

export type Fragment = {
  from: number
  size: number
  samples: number
  /** In ticks of the track's timescale. */
  decodeTime: number
  hasKeyFrameFirst: boolean
}

export type Fragments = { init: { from: number; to: number }; fragments: Fragment[] }

type TopBox = { type: string; from: number; bodyFrom: number; to: number }
export type Box = { type: string; body: Buffer }

// Our moof boxes describe a few seconds of samples, and our moov boxes none. A larger box is not from our encoder.
const INDEX_LIMIT_BYTES = 16 * 1024 * 1024
const NON_SYNC_SAMPLE = 0x10000

/** Finds the init segment and the fragments of a single-track file that we encoded, without reading the samples. */
export async function splitFragments(path: string): Promise<Fragments> {
  const reader = new FragmentReader(path)
  const fragments = await reader.readAll()
  return { init: reader.init!, fragments }
}

/** Reads a single-track file while ffmpeg writes it. */
export class FragmentReader {
  readonly #path: string
  #init: Fragments['init'] | undefined
  #defaultFlags = 0
  /** The end of the last box that was read. */
  #end = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Undefined before it is complete. */
  get init(): Fragments['init'] | undefined {
    return this.#init
  }

  /** The fragments that were completed since the last call. */
  async readNew(): Promise<Fragment[]> {
    await using file = await openIfExists(this.#path)
    if (!file) return []
    const fragments: Fragment[] = []
    let from: number | undefined
    let moof: ReturnType<typeof readMoof> | undefined
    for await (const top of topBoxes(file, this.#end)) {
      if (top.type === 'mfra') {
        this.#end = top.to
        continue
      }
      if (!this.#init) {
        if (top.type === 'moof' || top.type === 'mdat') throw new Error(`MP4: ${top.type} in front of moov`)
        if (top.type !== 'moov') continue
        this.#defaultFlags = readDefaultFlags(await readBody(file, top))
        this.#init = { from: 0, to: top.to }
        this.#end = top.to
        continue
      }
      // Boxes in front of a moof (styp, sidx, prft) belong to its fragment.
      from ??= top.from
      if (top.type === 'moof') {
        if (moof) throw new Error('MP4: moof without mdat')
        moof = readMoof(await readBody(file, top), this.#defaultFlags)
      } else if (top.type === 'mdat') {
        if (!moof) throw new Error('MP4: mdat without moof')
        fragments.push({ from, size: top.to - from, ...moof })
        this.#end = top.to
        from = undefined
        moof = undefined
      }
    }
    return fragments
  }

  /** The rest of a complete file. */
  async readAll(): Promise<Fragment[]> {
    const fragments = await this.readNew()
    if (!this.#init) throw new Error('MP4: no moov')
    const { size } = await stat(this.#path)
    if (size !== this.#end) throw new Error(`MP4: ${size - this.#end} bytes after the last fragment`)
    return fragments
  }
}

async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The codec string for playlists and MediaSource (RFC 6381). */
export function codecOf(init: Buffer): string {
  const stsd = inside(init, 'moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd')
  const [entry] = [...boxesOf(part(stsd, 8))]
  if (entry?.type === 'avc1' || entry?.type === 'avc3') {
    const profile = part(inside(part(entry.body, 78), 'avcC'), 1, 3)
    return `${entry.type}.${profile.toString('hex')}`
  }
  if (entry?.type === 'mp4a') return aacCodecOf(part(inside(part(entry.body, 28), 'esds'), 4))
  throw new Error(`MP4: no codec name known for ${entry ? entry.type : 'a track without sample entry'}`)
}

/** The complete boxes. The last one may still be written: ffmpeg writes its size at the end. */
async function* topBoxes(file: FileHandle, start = 0): AsyncGenerator<TopBox> {
  const end = (await file.stat()).size
  let from = start
  while (end - from >= 8) {
    const head = await read(file, from, Math.min(16, end - from))
    const isUnfinished = head.readUInt32BE() === 0 || (head.readUInt32BE() === 1 && head.length < 16)
    if (isUnfinished) return
    const { type, headSize, size } = readHead(head, Number.MAX_SAFE_INTEGER)
    if (size > end - from) return
    yield { type, from, bodyFrom: from + headSize, to: from + size }
    from += size
  }
}

/** The boxes of an index contain a hundred others at most. Millions of empty ones would take seconds. */
export const MAX_CHILDREN = 1_000

export function* boxesOf(bytes: Buffer, max = Number.POSITIVE_INFINITY): Generator<Box> {
  let from = 0
  for (let count = 0; from < bytes.length; count++) {
    if (count === max) throw new Error('MP4: too many boxes')
    const rest = bytes.subarray(from)
    const { type, headSize, size } = readHead(rest, rest.length)
    yield { type, body: rest.subarray(headSize, size) }
    from += size
  }
}

/** A size is never smaller than the header, so that iterating over boxes always ends. */
function readHead(head: Buffer, room: number): { type: string; headSize: number; size: number } {
  const shortSize = part(head, 0, 4).readUInt32BE()
  const type = part(head, 4, 4).toString('latin1')
  const headSize = shortSize === 1 ? 16 : 8
  const size = shortSize === 1 ? readLong(part(head, 8, 8)) : shortSize === 0 ? room : shortSize
  if (size < headSize || size > room) {
    throw new Error(`MP4: box ${JSON.stringify(type)} says ${size} bytes where ${room} are left`)
  }
  return { type, headSize, size }
}

function readMoof(
  moof: Buffer,
  trexFlags: number,
): Pick<Fragment, 'samples' | 'decodeTime' | 'hasKeyFrameFirst'> {
  const tracks = [...boxesOf(moof)].filter((child) => child.type === 'traf')
  const [track] = tracks
  if (!track || tracks.length > 1)
    throw new Error(`MP4: ${tracks.length} tracks in a fragment instead of one`)
  let defaultFlags = trexFlags
  let firstFlags: number | undefined
  let decodeTime: number | undefined
  let samples = 0
  for (const { type, body } of boxesOf(track.body)) {
    if (type === 'tfhd') defaultFlags = readTfhdFlags(body) ?? trexFlags
    else if (type === 'tfdt') {
      decodeTime = part(body, 0, 1)[0] === 1 ? readLong(part(body, 4, 8)) : part(body, 4, 4).readUInt32BE()
    } else if (type === 'trun') {
      const run = readTrun(body)
      if (samples === 0 && run.samples > 0) firstFlags = run.firstFlags
      samples += run.samples
    }
  }
  if (decodeTime === undefined) throw new Error('MP4: fragment without decode time')
  const isSync = ((firstFlags ?? defaultFlags) & NON_SYNC_SAMPLE) === 0
  return { samples, decodeTime, hasKeyFrameFirst: samples > 0 && isSync }
}

function readTfhdFlags(tfhd: Buffer): number | undefined {
  const flags = part(tfhd, 0, 4).readUInt32BE()
  if (!(flags & 0x20)) return undefined
  // Fields are in the order of their bits: base offset, description, duration, size, flags.
  const before = (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0) + (flags & 8 ? 4 : 0) + (flags & 16 ? 4 : 0)
  return part(tfhd, 8 + before, 4).readUInt32BE()
}

function readTrun(trun: Buffer): { samples: number; firstFlags: number | undefined } {
  const flags = part(trun, 0, 4).readUInt32BE()
  const samples = part(trun, 4, 4).readUInt32BE()
  const tableFrom = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0)
  const sampleFields = [0x100, 0x200, 0x400, 0x800].filter((bit) => flags & bit).length
  const table = part(trun, tableFrom, samples * sampleFields * 4)
  if (flags & 4) return { samples, firstFlags: part(trun, tableFrom - 4, 4).readUInt32BE() }
  if (!(flags & 0x400) || samples === 0) return { samples, firstFlags: undefined }
  const before = (flags & 0x100 ? 4 : 0) + (flags & 0x200 ? 4 : 0)
  return { samples, firstFlags: part(table, before, 4).readUInt32BE() }
}

function readDefaultFlags(moov: Buffer): number {
  return part(inside(moov, 'mvex', 'trex'), 20, 4).readUInt32BE()
}

function aacCodecOf(esds: Buffer): string {
  const stream = descriptor(esds, 0x03)
  const flags = part(stream, 2, 1)[0]!
  // Our files never have these fields. Code that skips them could not be tested.
  if (flags & 0xe0) throw new Error('MP4: esds with optional fields')
  const decoder = descriptor(part(stream, 3), 0x04)
  const objectType = part(decoder, 0, 1)[0]!
  const config = descriptor(part(decoder, 13), 0x05)
  const audioType = part(config, 0, 1)[0]! >> 3
  if (objectType !== 0x40 || audioType === 31) throw new Error('MP4: mp4a that is not plain AAC')
  return `mp4a.40.${audioType}`
}

/** The body of an MPEG-4 descriptor, which is at the start of the bytes. */
export function descriptor(bytes: Buffer, tag: number): Buffer {
  if (part(bytes, 0, 1)[0] !== tag) throw new Error(`MP4: descriptor ${tag} missing`)
  let size = 0
  for (let at = 1; at <= 4; at++) {
    const byte = part(bytes, at, 1)[0]!
    size = (size << 7) | (byte & 0x7f)
    if (!(byte & 0x80)) return part(bytes, at + 1, size)
  }
  throw new Error(`MP4: descriptor ${tag} has an endless size`)
}

export function inside(bytes: Buffer, ...path: string[]): Buffer {
  let body = bytes
  for (const type of path) {
    const found = boxesOf(body, MAX_CHILDREN).find((child) => child.type === type)
    if (!found) throw new Error(`MP4: no ${type}`)
    body = found.body
  }
  return body
}

/** Like subarray, but throws if there are fewer bytes than requested. */
export function part(bytes: Buffer, from: number, size = bytes.length - from): Buffer {
  if (size < 0 || from + size > bytes.length) throw new Error('MP4: box ends too early')
  return bytes.subarray(from, from + size)
}

export function readLong(bytes: Buffer): number {
  const value = Number(bytes.readBigUInt64BE())
  if (!Number.isSafeInteger(value)) throw new Error('MP4: number too large')
  return value
}

function readBody(file: FileHandle, top: TopBox): Promise<Buffer> {
  const size = top.to - top.bodyFrom
  if (size > INDEX_LIMIT_BYTES) throw new Error(`MP4: ${top.type} of ${size} bytes`)
  return read(file, top.bodyFrom, size)
}

async function read(file: FileHandle, from: number, size: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, from)
  if (bytesRead !== size) throw new Error('MP4: file became shorter while it was read')
  return buffer
}
