import { audioBitrate, audioChannels, audioSampleRate, frameSamples } from './audio-format.ts'

/** The CMAF init segment, the same for all chunks. */
export function audioInit(config: Buffer): Buffer {
  const stsd = full('stsd', 0, 0, u32(1), sampleEntry(config))
  const empty = [full('stts', 0, 0, u32(0)), full('stsc', 0, 0, u32(0)), full('stsz', 0, 0, u32(0, 0))]
  const stbl = box('stbl', stsd, ...empty, full('stco', 0, 0, u32(0)))
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const minf = box('minf', full('smhd', 0, 0, u16(0, 0)), dinf, stbl)
  const mdhd = full('mdhd', 0, 0, u32(0, 0, audioSampleRate, 0), u16(UNDETERMINED, 0))
  const hdlr = full('hdlr', 0, 0, u32(0), text('soun'), u32(0, 0, 0), text('sound\0'))
  const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
  const mvhd = full(
    'mvhd',
    0,
    0,
    u32(0, 0, 1000, 0, 0x10000),
    u16(0x100, 0),
    u32(0, 0),
    matrix,
    u32(0, 0, 0, 0, 0, 0, 2),
  )
  // Flags 3: the track is enabled and part of the presentation.
  const tkhd = full('tkhd', 0, 3, u32(0, 0, TRACK, 0, 0, 0, 0), u16(0, 1, 0x100, 0), matrix, u32(0, 0))
  const trak = box('trak', tkhd, box('mdia', mdhd, hdlr, minf))
  const mvex = box('mvex', full('trex', 0, 0, u32(TRACK, 1, frameSamples, 0, SYNC_SAMPLE)))
  const ftyp = box('ftyp', text('iso6'), u32(0), text('iso6cmfcmp41'))
  return Buffer.concat([ftyp, box('moov', mvhd, trak, mvex)])
}

/** One CMAF fragment. Sequence numbers only have to increase. */
export function audioFragment(fragment: {
  sequence: number
  fromFrame: number
  frames: readonly Buffer[]
}): Buffer {
  const { sequence, fromFrame, frames } = fragment
  const decodeTime = Buffer.alloc(8)
  decodeTime.writeBigUInt64BE(BigInt(fromFrame) * BigInt(frameSamples))
  // Offsets are relative to the moof. Default duration and default flags are present.
  const tfhd = full('tfhd', 0, 0x020028, u32(TRACK, frameSamples, SYNC_SAMPLE))
  const tfdt = full('tfdt', 1, 0, decodeTime)
  const sizes = u32(...frames.map((frame) => frame.length))
  const moofWith = (dataOffset: number) =>
    box(
      'moof',
      full('mfhd', 0, 0, u32(sequence)),
      box('traf', tfhd, tfdt, full('trun', 0, 0x000201, u32(frames.length, dataOffset), sizes)),
    )
  const headBytes = moofWith(0).length + 8
  return Buffer.concat([moofWith(headBytes), box('mdat', ...frames)])
}

const TRACK = 1
/** The sample depends on no other sample. */
const SYNC_SAMPLE = 0x02000000
/** The language 'und' in three letters of five bits. */
const UNDETERMINED = 0x55c4

function sampleEntry(config: Buffer): Buffer {
  const descriptor = (tag: number, ...parts: Buffer[]) => {
    const body = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([tag, body.length]), body])
  }
  // 0x40 is AAC, 0x15 is an audio stream. Three bytes for the unknown buffer size follow.
  const aac = Buffer.from([0x40, 0x15, 0, 0, 0])
  const decoder = descriptor(4, aac, u32(audioBitrate, audioBitrate), descriptor(5, config))
  const esds = full(
    'esds',
    0,
    0,
    descriptor(3, Buffer.from([0, 0, 0]), decoder, descriptor(6, Buffer.from([2]))),
  )
  return box('mp4a', u16(0, 0, 0, 1), u32(0, 0), u16(audioChannels, 16, 0, 0, audioSampleRate, 0), esds)
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.length, 8)
  return Buffer.concat([u32(size), text(type), ...parts], size)
}

function full(type: string, version: number, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(version * 0x1000000 + flags), ...parts)
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4)
  return bytes
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}
