import type { H264Config } from '../../media/h264.ts'
import {
  avcEntry,
  box,
  fullBox,
  matrix,
  nonSyncSample,
  syncSample,
  text,
  trak,
  u16,
  u32,
} from '../../media/write-boxes.ts'
import { Bytes } from './bytes.ts'
import type { AudioConfig } from './flv.ts'

// Writes fragmented MP4 (ISO/IEC 14496-12) with one video and one audio track, or with one of them.

export type Tracks = { video?: H264Config | undefined; audio?: AudioConfig | undefined }

/** Video times are in milliseconds, as in RTMP. Audio times are in samples. */
const videoTimescale = 1000

const videoTrackId = 1
const audioTrackId = 2

export type FragmentSample = {
  /** In the timescale of the track. */
  duration: number
  compositionOffset: number
  isKeyFrame: boolean
  data: Buffer
}

export type FragmentTrack = { decodeTime: number; samples: FragmentSample[] }
type FragmentTracks = { video?: FragmentTrack | undefined; audio?: FragmentTrack | undefined }

/** The codecs for playlists: `avc1.64001f,mp4a.40.2`. */
export const codecsOf = ({ video, audio }: Tracks): string =>
  [video?.codec, audio && audioCodecOf(audio)].filter(Boolean).join(',')

function audioCodecOf({ kind, record }: AudioConfig): string {
  const mp3 = 'mp4a.40.34'
  return kind === 'mp3' ? mp3 : `mp4a.40.${record[0]! >> 3}`
}

export function writeInit(tracks: Tracks): Buffer {
  const traks = [
    ...(tracks.video ? [videoTrak(tracks.video)] : []),
    ...(tracks.audio ? [audioTrak(tracks.audio)] : []),
  ]
  const ids = [...(tracks.video ? [videoTrackId] : []), ...(tracks.audio ? [audioTrackId] : [])]
  const movieHeader = fullBox(
    ...(['mvhd', 0, 0] as const),
    ...[u32(0, 0, videoTimescale, 0), u32(0x10000), u16(0x100, 0), u32(0, 0), matrix],
    ...[u32(0, 0, 0, 0, 0, 0), u32(audioTrackId + 1)],
  )
  const extends_ = box('mvex', ...ids.map((id) => fullBox('trex', 0, 0, u32(id, 1, 0, 0, 0))))
  return Buffer.concat([
    box('ftyp', text('iso6'), u32(0x200), text('iso6cmfcmp41')),
    box('moov', movieHeader, ...traks, extends_),
  ])
}

/** The bytes of the boxes around the samples: moof, mfhd and the header of mdat; then those of each track. */
const fragmentBytes = 8 + 16 + 8
const trackBytes = 8 + 16 + 20 + 20

/** A fragment with the samples of one part, which are not copied. Tracks without samples are left out. */
export function writeFragment(sequence: number, { video, audio }: FragmentTracks): Bytes {
  const tracks = [
    ...(video?.samples.length ? [{ id: videoTrackId, ...video }] : []),
    ...(audio?.samples.length ? [{ id: audioTrackId, ...audio }] : []),
  ]
  const start = tracks.reduce(
    (sum, { samples }) => sum + trackBytes + sampleBytes * samples.length,
    fragmentBytes,
  )
  let end = start
  const trafs = tracks.map((track) => {
    const dataOffset = end
    end = track.samples.reduce((sum, { data }) => sum + data.length, end)
    return traf(track, dataOffset)
  })
  const moof = box('moof', fullBox('mfhd', 0, 0, u32(sequence)), ...trafs)
  const head = Buffer.concat([moof, u32(8 + end - start), text('mdat')], start)
  return new Bytes([head, ...tracks.flatMap(({ samples }) => samples.map(({ data }) => data))])
}

/** Of a sample in the table: duration, size, flags and composition offset. */
const sampleBytes = 16

function traf({ id, decodeTime, samples }: FragmentTrack & { id: number }, dataOffset: number): Buffer {
  const defaultBaseIsMoof = 0x020000
  // The data offset, and all four fields of a sample.
  const flags = 0x000f01
  const table = Buffer.allocUnsafe(sampleBytes * samples.length)
  let at = 0
  for (const { duration, data, isKeyFrame, compositionOffset } of samples) {
    at = table.writeUInt32BE(duration, at)
    at = table.writeUInt32BE(data.length, at)
    at = table.writeUInt32BE(isKeyFrame ? syncSample : nonSyncSample, at)
    at = table.writeInt32BE(compositionOffset, at)
  }
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(decodeTime))
  return box(
    'traf',
    fullBox('tfhd', 0, defaultBaseIsMoof, u32(id)),
    fullBox('tfdt', 1, 0, time),
    fullBox('trun', 1, flags, u32(samples.length, dataOffset), table),
  )
}

function videoTrak(config: H264Config): Buffer {
  const { width, height } = config
  const entry = avcEntry(config)
  return trak({ id: videoTrackId, timescale: videoTimescale, handler: 'vide', width, height, entry })
}

function audioTrak(config: AudioConfig): Buffer {
  const { sampleRate, channels } = config
  // The field has 16 bits. The decoder configuration has the exact rate.
  const shownRate = Math.min(sampleRate, 0xffff)
  const entry = box(
    'mp4a',
    ...[Buffer.alloc(6), u16(1), u32(0, 0), u16(channels, 16, 0, 0), u16(shownRate, 0), esds(config)],
  )
  return trak({ id: audioTrackId, timescale: sampleRate, handler: 'soun', width: 0, height: 0, entry })
}

/** The decoder configuration of MPEG audio (ISO/IEC 14496-1, 7.2.6). */
function esds({ kind, record }: AudioConfig): Buffer {
  const objectType = kind === 'mp3' ? 0x6b : 0x40
  const audioStream = 0x15
  const specific = record.length > 0 ? descriptor(5, record) : Buffer.alloc(0)
  const decoder = descriptor(4, Buffer.from([objectType, audioStream, 0, 0, 0]), u32(0, 0), specific)
  const layer = descriptor(6, Buffer.from([2]))
  return fullBox('esds', 0, 0, descriptor(3, u16(0), Buffer.alloc(1), decoder, layer))
}

function descriptor(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  if (body.length > 127) throw new Error('MP4: the decoder configuration is too long')
  return Buffer.concat([Buffer.from([tag, body.length]), body])
}
