import type { Programs } from './ffmpeg.ts'
import { inputLimits } from './limits.ts'
import { askFfprobe, type ProbeOptions, type SourceMedia, Unreadable } from './probe.ts'
import { type Repair, repairFilter, repairInput } from './repair.ts'

/** Where the source really ends, and whether one can seek in it. Seconds, 0 being where ffmpeg's output begins. */
export type Extent = {
  pictureStartSeconds: number | undefined
  pictureEndSeconds: number | undefined
  soundEndSeconds: number | undefined
  isSeekable: boolean
}

type Packet = {
  stream_index: number
  pts_time?: string
  dts_time?: string
  duration_time?: string
  flags?: string
}
type Header = {
  format?: { start_time?: string; duration?: string }
  streams?: { index: number; start_time?: string; duration?: string; tags?: { DURATION?: string } }[]
  packets?: Packet[]
}

/** Without an index that works, ffprobe reads the file from end to end; a copy costs no more than that. */
const CPU_SECONDS = 5
const PAST_ANY_END = '10000000%'
/** Less that is missing at the end is not worth a copy of the file. */
const CUT_OFF_SECONDS = 1
/** ffmpeg lands one fragment early in an mp4 with a `sidx`; a seek that failed lands at the start. */
const MAX_LATER_KEY_FRAMES = 2
const ENTRIES =
  'format=start_time,duration:stream=index,start_time,duration:stream_tags=DURATION:packet=stream_index,pts_time,dts_time,duration_time,flags'

const NOT_SEEKABLE: Extent = {
  pictureStartSeconds: undefined,
  pictureEndSeconds: undefined,
  soundEndSeconds: undefined,
  isSeekable: false,
}

/**
 * Seeks behind the end and reads what is there: an index that works leads to the last key frame, so that a file of
 * any size costs the reading of one group of pictures.
 */
export async function findExtent(
  tools: Programs,
  input: string,
  media: SourceMedia,
  options: ProbeOptions = {},
): Promise<Extent> {
  const main = media.picture ?? media.sound
  // Other containers have no index, or one that ffmpeg does not follow exactly. Without a duration (a webm that a
  // browser recorded) there is no index either, and ffmpeg would read the file from end to end.
  if (!main || media.durationSeconds === undefined || !['mov', 'matroska'].includes(media.container))
    return NOT_SEEKABLE
  const read = async (interval: string) =>
    (
      await askFfprobe(tools, input, ['-read_intervals', interval, '-show_entries', ENTRIES], {
        cpuSeconds: CPU_SECONDS,
        ...options,
      })
    ).answer as Header

  try {
    const header = await read(PAST_ANY_END)
    const packets = header.packets ?? []
    if (!isLedToKeyFrame(packets, main.index)) return NOT_SEEKABLE
    const frameSeconds = media.picture ? media.picture.rate.den / media.picture.rate.num : 0
    const pictureEnd = media.picture && lastEnd(packets, media.picture.index, frameSeconds)
    let soundEnd = media.sound && lastEnd(packets, media.sound.index, 0)
    if (media.sound && soundEnd === undefined) {
      // It ends before the last key frame of the picture: where, only the header can tell.
      const told = toldEnd(header, media.sound.index)
      if (told === undefined) return NOT_SEEKABLE
      const near = await read(`${Math.max(0, told - 2)}%${told + 2}`)
      soundEnd = lastEnd(near.packets ?? [], media.sound.index, 0)
      if (soundEnd === undefined) return NOT_SEEKABLE
    }
    if (isCutOff(header, media, Math.max(pictureEnd ?? 0, soundEnd ?? 0))) return NOT_SEEKABLE
    const start = seconds(header.format?.start_time) ?? 0
    const pictureStart = seconds(
      header.streams?.find(({ index }) => index === media.picture?.index)?.start_time,
    )
    return {
      pictureStartSeconds: pictureStart === undefined ? undefined : pictureStart - start,
      pictureEndSeconds: pictureEnd === undefined ? undefined : pictureEnd - start,
      soundEndSeconds: soundEnd === undefined ? undefined : soundEnd - start,
      isSeekable: true,
    }
  } catch (error) {
    if (error instanceof Unreadable) return NOT_SEEKABLE
    throw error
  }
}

function isLedToKeyFrame(packets: Packet[], index: number): boolean {
  const [first, ...later] = packets.filter((packet) => packet.stream_index === index)
  if (!first?.flags?.includes('K')) return false
  return later.filter((packet) => packet.flags?.includes('K')).length <= MAX_LATER_KEY_FRAMES
}

/** In presentation order. A packet marked D is outside the edit list and not shown. */
function lastEnd(packets: Packet[], index: number, usualSeconds: number): number | undefined {
  let end: number | undefined
  for (const packet of packets) {
    const at = seconds(packet.pts_time) ?? seconds(packet.dts_time)
    if (packet.stream_index !== index || at === undefined || packet.flags?.includes('D')) continue
    end = Math.max(end ?? Number.NEGATIVE_INFINITY, at + (seconds(packet.duration_time) ?? usualSeconds))
  }
  return end
}

function isCutOff(header: Header, media: SourceMedia, end: number): boolean {
  const told = [media.picture, media.sound].flatMap(
    (stream) => (stream && toldEnd(header, stream.index)) ?? [],
  )
  const whole = (seconds(header.format?.start_time) ?? 0) + (seconds(header.format?.duration) ?? 0)
  return end < (told.length > 0 ? Math.max(...told) : whole) - CUT_OFF_SECONDS
}

function toldEnd(header: Header, index: number): number | undefined {
  const stream = header.streams?.find((one) => one.index === index)
  const duration = seconds(stream?.duration)
  if (duration !== undefined) return (seconds(stream?.start_time) ?? 0) + duration
  // Matroska: the end as a clock, 00:00:06.023000000.
  const [hours, minutes, rest] = (stream?.tags?.DURATION ?? '').split(':').map(Number)
  return seconds(hours! * 3600 + minutes! * 60 + rest!)
}

function seconds(told: string | number | undefined): number | undefined {
  const number = told === undefined ? Number.NaN : Number(told)
  return Number.isFinite(number) && Math.abs(number) < 1e9 ? number : undefined
}

/** Sound that Matroska has a name for. What it has none for (pcm_bluray, s302m, aac_latm, nellymoser) is decoded. */
const MATROSKA_SOUND = new Set([
  ...[
    'aac',
    'mp1',
    'mp2',
    'mp3',
    'ac3',
    'eac3',
    'dts',
    'truehd',
    'mlp',
    'vorbis',
    'opus',
    'flac',
    'alac',
    'speex',
  ],
  ...['wmav1', 'wmav2', 'wmapro', 'wmalossless', 'adpcm_ms', 'adpcm_ima_wav', 'adpcm_swf'],
  ...['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le', 'pcm_mulaw', 'pcm_alaw'],
])
/** These may be in mp4 and not in mov; for everything else mov takes more than mp4. */
const MP4_ONLY = new Set(['vp9', 'av1', 'opus', 'flac', 'truehd'])

/**
 * Arguments for ffmpeg that copy picture and sound of a source without a working index into a file that has one.
 * A source that is cut off gives what is there. With a repair, jumps are removed from the timestamps.
 */
export function remuxArgs(
  input: string,
  output: string,
  media: SourceMedia,
  options: { isServed?: boolean; repair?: Repair | undefined } = {},
): string[] {
  const { picture, sound } = media
  const streams = [picture, sound].filter((stream) => stream !== undefined)
  // Not Matroska, because ffmpeg before 6.1 has no place for the rotation there, and only mov brings one along.
  const isMov = media.container === 'mov'
  const format = !isMov ? 'matroska' : streams.some(({ codec }) => MP4_ONLY.has(codec)) ? 'mp4' : 'mov'
  const isIndexed = isMov || media.container === 'matroska'
  const { repair } = options
  const repairs = (stream: { index: number } | undefined) => {
    const found = stream && repair?.get(stream.index)
    return found ? [repairFilter(found)] : []
  }
  // DivX in AVI packs two frames into one packet, which only AVI can hold.
  const unpack = media.container === 'avi' && picture?.codec === 'mpeg4' ? ['mpeg4_unpack_bframes'] : []
  const filters = { v: [...unpack, ...repairs(picture)].join(','), a: repairs(sound).join(',') }
  return [
    ...['-v', 'error', '-nostdin', '-y'],
    ...['-err_detect', 'ignore_err'],
    // AVI and MPEG programs leave out presentation times, which Matroska refuses.
    ...(isIndexed ? [] : ['-fflags', '+genpts']),
    ...(repair ? repairInput : []),
    ...inputLimits(options),
    ...['-i', input],
    ...streams.flatMap(({ index }) => ['-map', `0:${index}`]),
    ...['-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c', 'copy'],
    ...(filters.v ? ['-bsf:v', filters.v] : []),
    ...(filters.a ? ['-bsf:a', filters.a] : []),
    // The picture waits in the queue until the first sound is decoded, which may begin late.
    ...(sound && !isMov && !MATROSKA_SOUND.has(sound.codec)
      ? ['-c:a', 'pcm_s16le', '-max_muxing_queue_size', '10000']
      : []),
    ...['-f', format, output],
  ]
}
