import { boxesOf, inside, part, readLong } from '../../../media/boxes.ts'
import type { Size } from '../../../media/images.ts'

// Reads the init segments and segments that media/fmp4.ts writes, and nothing else.

export type TrackKind = 'video' | 'audio'

export type InitTrack = {
  id: number
  timescale: number
  width: number
  height: number
  /** The sample entry: codec and decoder configuration. */
  entry: Buffer
}

export type InitTracks = { [K in TrackKind]?: InitTrack }

export type Sample = {
  /** In the timescale of the track, as all times. */
  decodeTime: number
  duration: number
  compositionOffset: number
  isKeyFrame: boolean
  size: number
}

/** The samples of one track in one fragment. They lie one after the other from `offset` on. */
export type SampleRun = { trackId: number; offset: number; samples: Sample[] }

export function readInit(init: Buffer): InitTracks {
  const traks = [...boxesOf(inside(init, 'moov'))].filter(({ type }) => type === 'trak')
  return Object.fromEntries(
    traks.map(({ body }) => {
      const media = inside(body, 'mdia')
      const header = inside(body, 'tkhd')
      const isAudio = part(inside(media, 'hdlr'), 8, 4).toString('latin1') === 'soun'
      const track: InitTrack = {
        id: part(header, 12, 4).readUInt32BE(),
        timescale: part(inside(media, 'mdhd'), 12, 4).readUInt32BE(),
        width: part(header, 76, 4).readUInt16BE(),
        height: part(header, 80, 4).readUInt16BE(),
        entry: part(inside(media, 'minf', 'stbl', 'stsd'), 8),
      }
      return [isAudio ? 'audio' : 'video', track]
    }),
  )
}

/**
 * Epochs with the same key can be joined to one file. Only the size of the video may differ: a decoder gets it from the
 * parameter sets, but programs expect one format of audio in a track.
 */
export const keyOfTracks = ({ video, audio }: InitTracks): { video?: string; audio?: string } => ({
  ...(video && { video: String(readAvcConfig(video).lengthBytes) }),
  ...(audio && { audio: `${audio.timescale} ${audio.entry.toString('base64')}` }),
})

/** The parameter sets (SPS and PPS) of the video, in the format of its samples. */
export function parameterSetsOf(video: InitTrack): Buffer {
  const { lengthBytes, units } = readAvcConfig(video)
  return Buffer.concat(
    units.flatMap((unit) => {
      const length = Buffer.alloc(lengthBytes)
      length.writeUIntBE(unit.length, 0, lengthBytes)
      return [length, unit]
    }),
  )
}

/** The AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1). */
function readAvcConfig({ entry }: InitTrack): { lengthBytes: number; units: Buffer[] } {
  const fixedFields = 78
  const [sampleEntry] = [...boxesOf(entry)]
  const config = inside(part(sampleEntry!.body, fixedFields), 'avcC')
  const units: Buffer[] = []
  let at = 5
  for (const mask of [0x1f, 0xff]) {
    const count = part(config, at++, 1)[0]! & mask
    for (let i = 0; i < count; i++) {
      const length = part(config, at, 2).readUInt16BE()
      units.push(part(config, at + 2, length))
      at += 2 + length
    }
  }
  return { lengthBytes: (part(config, 4, 1)[0]! & 3) + 1, units }
}

/** The samples of a segment. Offsets count from its beginning. */
export function* readSegment(segment: Buffer): Generator<SampleRun> {
  for (const { type, body } of boxesOf(segment)) {
    if (type !== 'moof') continue
    const moofOffset = body.byteOffset - segment.byteOffset - boxHeaderBytes
    for (const child of boxesOf(body)) if (child.type === 'traf') yield readRun(child.body, moofOffset)
  }
}

const boxHeaderBytes = 8
const bytesPerSample = 16
const nonSyncSample = 0x10000

function readRun(traf: Buffer, moofOffset: number): SampleRun {
  const run = inside(traf, 'trun')
  const table = part(run, 12, bytesPerSample * part(run, 4, 4).readUInt32BE())
  let decodeTime = readLong(part(inside(traf, 'tfdt'), 4, 8))
  const samples: Sample[] = []
  for (let at = 0; at < table.length; at += bytesPerSample) {
    const duration = table.readUInt32BE(at)
    samples.push({
      decodeTime,
      duration,
      size: table.readUInt32BE(at + 4),
      isKeyFrame: (table.readUInt32BE(at + 8) & nonSyncSample) === 0,
      compositionOffset: table.readInt32BE(at + 12),
    })
    decodeTime += duration
  }
  const trackId = part(inside(traf, 'tfhd'), 4, 4).readUInt32BE()
  return { trackId, offset: moofOffset + part(run, 8, 4).readInt32BE(), samples }
}

/** The largest of several sizes of the video. Undefined if all are the same. */
export function largestFrame(epochs: InitTracks[]): Size | undefined {
  const sizes = new Map(
    epochs.flatMap(({ video }) => (video ? [[`${video.width}x${video.height}`, video]] : [])),
  )
  const [largest] = [...sizes.values()].sort((a, b) => b.width * b.height - a.width * a.height)
  return largest && sizes.size > 1 ? { width: largest.width, height: largest.height } : undefined
}
