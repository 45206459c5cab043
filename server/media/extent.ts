import type { Programs } from './ffmpeg.ts'
import {
  MEDIA_ENTRIES,
  type ProbeOptions,
  probeJson,
  readMedia,
  type SourceMedia,
  Unreadable,
} from './probe.ts'

/** Where the source really ends, and whether it is seekable. Times count from where the output of ffmpeg begins. */
export type Extent = {
  videoStartSeconds: number | undefined
  videoEndSeconds: number | undefined
  audioEndSeconds: number | undefined
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

/** Without a working index, ffprobe reads the entire file. Copying the file instead costs no more than that. */
const CPU_SECONDS = 5
const PAST_ANY_END = '10000000%'
/** If less than this is missing at the end, copying the file is not worthwhile. */
const TRUNCATED_SECONDS = 1
/** In an mp4 with a `sidx`, ffmpeg seeks to one fragment too early. A failed seek ends at the start of the file. */
const MAX_LATER_KEY_FRAMES = 2
const PACKET_ENTRIES = 'stream_tags=DURATION:packet=stream_index,pts_time,dts_time,duration_time,flags'
const ENTRIES = `format=start_time,duration:stream=index,start_time,duration:${PACKET_ENTRIES}`
/** In addition to those of the media. */
const EXTENT_ENTRIES = `stream=duration:${PACKET_ENTRIES}`

const NOT_SEEKABLE: Extent = {
  videoStartSeconds: undefined,
  videoEndSeconds: undefined,
  audioEndSeconds: undefined,
  isSeekable: false,
}

/**
 * Seeks past the end and reads the packets there. A working index leads to the last key frame, so only one group of
 * pictures is read, whatever the size of the file.
 */
export async function findExtent(
  tools: Programs,
  input: string,
  media: SourceMedia,
  options: ProbeOptions = {},
): Promise<Extent> {
  if (!mayBeSeekable(media)) return NOT_SEEKABLE
  try {
    const header = await readPackets(tools, input, { interval: PAST_ANY_END, entries: ENTRIES }, options)
    return await extentOf(tools, input, { media, header: header.output }, options)
  } catch (error) {
    if (error instanceof Unreadable) return NOT_SEEKABLE
    throw error
  }
}

/**
 * Other containers have no index, or one that ffmpeg does not follow exactly. A file without a duration (a webm that a
 * browser recorded) has no index either, and ffmpeg would read all of it.
 */
const mayBeSeekable = ({ container, durationSeconds }: SourceMedia) =>
  durationSeconds !== undefined && ['mov', 'matroska'].includes(container)

const readPackets = (
  tools: Programs,
  input: string,
  { interval, entries }: { interval: string; entries: string },
  options: ProbeOptions,
) =>
  probeJson(tools, input, ['-read_intervals', interval, '-show_entries', entries], {
    cpuSeconds: CPU_SECONDS,
    ...options,
  })

/**
 * Finds out with a single run of ffprobe what an MP4 contains and where it ends. Undefined if that takes more runs:
 * the file may be of another kind, or have no index.
 */
export async function probeMp4(
  tools: Programs,
  input: string,
  options: ProbeOptions = {},
): Promise<{ media: SourceMedia; extent: Extent } | undefined> {
  try {
    const entries = `${MEDIA_ENTRIES}:${EXTENT_ENTRIES}`
    const probed = await readPackets(tools, input, { interval: PAST_ANY_END, entries }, options)
    const media = await readMedia(tools, input, probed, options)
    if (!mayBeSeekable(media)) return undefined
    return { media, extent: await extentOf(tools, input, { media, header: probed.output }, options) }
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

/** When the video stream starts, counted from where the output of ffmpeg begins. Reads the header alone. */
export async function findVideoStart(
  tools: Programs,
  input: string,
  index: number,
  options: ProbeOptions,
): Promise<number | undefined> {
  const entries = ['-show_entries', 'format=start_time:stream=index,start_time']
  const { output } = await probeJson(tools, input, entries, options)
  const { format, streams } = output as Header
  const start = seconds(streams?.find((stream) => stream.index === index)?.start_time)
  return start === undefined ? undefined : start - (seconds(format?.start_time) ?? 0)
}

async function extentOf(
  tools: Programs,
  input: string,
  { media, header }: { media: SourceMedia; header: Header },
  options: ProbeOptions,
): Promise<Extent> {
  const { picture: video, sound: audio } = media
  const main = video ?? audio
  if (!main) return NOT_SEEKABLE
  const packets = header.packets ?? []
  if (!startsAtLastKeyFrame(packets, main.index)) return NOT_SEEKABLE
  const frameSeconds = video ? video.rate.den / video.rate.num : 0
  const videoEnd = video && lastEnd(packets, video.index, frameSeconds)
  let audioEnd = audio && lastEnd(packets, audio.index, 0)
  if (audio && audioEnd === undefined) {
    // The audio ends before the last key frame of the video. Only the header says where.
    const declared = declaredEnd(header, audio.index)
    if (declared === undefined) return NOT_SEEKABLE
    const interval = `${Math.max(0, declared - 2)}%${declared + 2}`
    const near = await readPackets(tools, input, { interval, entries: ENTRIES }, options)
    audioEnd = lastEnd((near.output as Header).packets ?? [], audio.index, 0)
    if (audioEnd === undefined) return NOT_SEEKABLE
  }
  if (isTruncated(header, media, Math.max(videoEnd ?? 0, audioEnd ?? 0))) return NOT_SEEKABLE
  const start = seconds(header.format?.start_time) ?? 0
  const videoStart = seconds(header.streams?.find(({ index }) => index === video?.index)?.start_time)
  return {
    videoStartSeconds: videoStart === undefined ? undefined : videoStart - start,
    videoEndSeconds: videoEnd === undefined ? undefined : videoEnd - start,
    audioEndSeconds: audioEnd === undefined ? undefined : audioEnd - start,
    isSeekable: true,
  }
}

function startsAtLastKeyFrame(packets: Packet[], index: number): boolean {
  const [first, ...later] = packets.filter((packet) => packet.stream_index === index)
  if (!first?.flags?.includes('K')) return false
  return later.filter((packet) => packet.flags?.includes('K')).length <= MAX_LATER_KEY_FRAMES
}

/** The latest end in presentation order. A packet with the flag D is outside the edit list and is not shown. */
function lastEnd(packets: Packet[], index: number, defaultSeconds: number): number | undefined {
  let end: number | undefined
  for (const packet of packets) {
    const at = seconds(packet.pts_time) ?? seconds(packet.dts_time)
    if (packet.stream_index !== index || at === undefined || packet.flags?.includes('D')) continue
    end = Math.max(end ?? Number.NEGATIVE_INFINITY, at + (seconds(packet.duration_time) ?? defaultSeconds))
  }
  return end
}

function isTruncated(header: Header, media: SourceMedia, end: number): boolean {
  const declared = [media.picture, media.sound].flatMap(
    (stream) => (stream && declaredEnd(header, stream.index)) ?? [],
  )
  const total = (seconds(header.format?.start_time) ?? 0) + (seconds(header.format?.duration) ?? 0)
  return end < (declared.length > 0 ? Math.max(...declared) : total) - TRUNCATED_SECONDS
}

function declaredEnd(header: Header, index: number): number | undefined {
  const stream = header.streams?.find((one) => one.index === index)
  const duration = seconds(stream?.duration)
  if (duration !== undefined) return (seconds(stream?.start_time) ?? 0) + duration
  // Matroska declares the end as a clock time: 00:00:06.023000000.
  const [hours, minutes, rest] = (stream?.tags?.DURATION ?? '').split(':').map(Number)
  return seconds(hours! * 3600 + minutes! * 60 + rest!)
}

function seconds(text: string | number | undefined): number | undefined {
  const number = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(number) && Math.abs(number) < 1e9 ? number : undefined
}
