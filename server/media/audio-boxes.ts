import { audioBitrate, audioChannels, audioSampleRate, frameSamples } from './audio-format.ts'
import { box, fullBox as full, matrix, syncSample, text, u16, u32 } from './write-boxes.ts'

/** The CMAF init segment, the same for all chunks. */
export function audioInit(config: Buffer, sampleRate = audioSampleRate): Buffer {
  const stsd = full('stsd', 0, 0, u32(1), sampleEntry(config, sampleRate))
  const empty = [full('stts', 0, 0, u32(0)), full('stsc', 0, 0, u32(0)), full('stsz', 0, 0, u32(0, 0))]
  const stbl = box('stbl', stsd, ...empty, full('stco', 0, 0, u32(0)))
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const minf = box('minf', full('smhd', 0, 0, u16(0, 0)), dinf, stbl)
  const mdhd = full('mdhd', 0, 0, u32(0, 0, sampleRate, 0), u16(UNDETERMINED, 0))
  const hdlr = full('hdlr', 0, 0, u32(0), text('soun'), u32(0, 0, 0), text('sound\0'))
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
  const mvex = box('mvex', full('trex', 0, 0, u32(TRACK, 1, frameSamples, 0, syncSample)))
  const ftyp = box('ftyp', text('iso6'), u32(0), text('iso6cmfcmp41'))
  return Buffer.concat([ftyp, box('moov', mvhd, trak, mvex)])
}

/** One CMAF fragment. Sequence numbers only have to increase. */
export function audioFragment(fragment: {
  sequence: number
  fromFrame: number
  frames: readonly Buffer[]
}): Buffer {
  const { frames } = fragment
  return Buffer.concat([
    audioFragmentHead({ ...fragment, sizes: frames.map(({ length }) => length) }),
    ...frames,
  ])
}

/** All of a fragment that comes before its frames. */
export function audioFragmentHead(fragment: {
  sequence: number
  fromFrame: number
  sizes: readonly number[]
}): Buffer {
  const { sequence, fromFrame, sizes } = fragment
  const decodeTime = Buffer.alloc(8)
  decodeTime.writeBigUInt64BE(BigInt(fromFrame) * BigInt(frameSamples))
  // Offsets are relative to the moof. Default duration and default flags are present.
  const tfhd = full('tfhd', 0, 0x020028, u32(TRACK, frameSamples, syncSample))
  const tfdt = full('tfdt', 1, 0, decodeTime)
  const moofWith = (dataOffset: number) =>
    box(
      'moof',
      full('mfhd', 0, 0, u32(sequence)),
      box('traf', tfhd, tfdt, full('trun', 0, 0x000201, u32(sizes.length, dataOffset), u32(...sizes))),
    )
  const headBytes = moofWith(0).length + 8
  const mdatBytes = sizes.reduce((sum, size) => sum + size, 8)
  return Buffer.concat([moofWith(headBytes), u32(mdatBytes), text('mdat')])
}

const TRACK = 1
/** The language 'und' in three letters of five bits. */
const UNDETERMINED = 0x55c4

function sampleEntry(config: Buffer, sampleRate: number): Buffer {
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
  return box('mp4a', u16(0, 0, 0, 1), u32(0, 0), u16(audioChannels, 16, 0, 0, sampleRate, 0), esds)
}
