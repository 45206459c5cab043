import type { Programs } from './ffmpeg.ts'
import { type ProbeOptions, runFfprobe } from './probe.ts'
import { createRepair, type Packet, type Repair } from './repair.ts'
import type { SourceMedia } from './source-media.ts'

/** The real amount of media in a file, counted packet by packet. Timestamps may claim more. */
export type Content = {
  /** Frames of the video stream. */
  frames: number
  audioSeconds: number
  /** The longest time without a packet, neither video nor audio. */
  maxGapSeconds: number
  /** How to remove jumps from the timestamps. Undefined if that is not possible. */
  repair: Repair | undefined
}

/** Durations up to this are always plausible. */
const FREE_SECONDS = 60
/** A slide is shown for seconds, a frame of a screen recording for minutes. On average, a minute is plausible. */
const MAX_SECONDS_PER_FRAME = 60
/** Voice-activated recorders skip silence. */
const MAX_SECONDS_PER_AUDIO_SECOND = 10
/** No codec needs fewer bytes for silence (Opus: 50). */
const MIN_AUDIO_BYTES_PER_SECOND = 32
/** In a source with audio, a longer gap is damage or an unwanted pause. */
const MAX_GAP_SECONDS = 60

/**
 * With fewer bytes per second, the timestamps may claim more than the file holds. Such a file is small, so its packets are
 * counted quickly. Video with audio is below 64 kbit/s only if almost nothing moves. Speech has 16 kbit/s.
 */
const MIN_BYTES_PER_SECOND = { video: 8_000, audioOnly: 2_000 }

/** Whether the packets have to be counted before the timestamps can be trusted. */
export function isSuspicious(media: SourceMedia, endSeconds: number, bytes: number): boolean {
  if (endSeconds <= FREE_SECONDS) return false
  const perSecond = media.picture ? MIN_BYTES_PER_SECOND.video : MIN_BYTES_PER_SECOND.audioOnly
  const declared = media.durationSeconds ?? endSeconds
  return bytes < endSeconds * perSecond || endSeconds > 1.1 * declared + FREE_SECONDS
}

export function isPlausible(media: SourceMedia, endSeconds: number, content: Content): boolean {
  const { frames, audioSeconds, maxGapSeconds } = content
  const max = Math.max(
    FREE_SECONDS,
    frames * MAX_SECONDS_PER_FRAME,
    audioSeconds * MAX_SECONDS_PER_AUDIO_SECOND,
  )
  return endSeconds <= max && (!media.sound || maxGapSeconds <= MAX_GAP_SECONDS)
}

/** The maximum number of frames to encode. A repeated frame costs less than a new one, but it is not free. */
export const maxFrames = ({ frames }: Pick<Content, 'frames'>, framesPerSecond: number) =>
  Math.max(FREE_SECONDS * framesPerSecond, frames * MAX_SECONDS_PER_FRAME)

const ENTRIES = 'packet=stream_index,pts_time,dts_time,duration_time,size,pos'
/** ffprobe reads 70,000 packets per second. Few packets are smaller than 10 bytes. */
const MIN_SCANNED_BYTES_PER_CPU_SECOND = 50_000

/** Counts the packets of a file, which reads all of it. */
export async function scanContent(
  tools: Programs,
  input: string,
  media: SourceMedia,
  options: ProbeOptions & { bytes: number },
): Promise<Content> {
  const { picture: video, sound: audio } = media
  const content = { frames: 0, audioSeconds: 0, maxGapSeconds: 0 }
  const repair = createRepair()
  let end = Number.POSITIVE_INFINITY
  const add = (packet: Packet) => {
    const isAudio = packet.stream === audio?.index
    if (!isAudio && packet.stream !== video?.index) return
    if (isAudio)
      content.audioSeconds += Math.min(packet.seconds ?? 0, packet.bytes / MIN_AUDIO_BYTES_PER_SECOND)
    else content.frames += 1
    const at = packet.pts ?? packet.dts
    if (at !== undefined) {
      content.maxGapSeconds = Math.max(content.maxGapSeconds, at - end)
      end = Math.max(end === Number.POSITIVE_INFINITY ? at : end, at)
    }
    repair.add(packet)
  }
  let rest = ''
  await runFfprobe(tools, input, ['-show_entries', ENTRIES, '-of', 'compact=p=0'], {
    ...options,
    cpuSeconds: 30 + options.bytes / MIN_SCANNED_BYTES_PER_CPU_SECOND,
    onStdout(text) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) add(readPacket(line))
    },
  })
  return { ...content, repair: repair.finish() }
}

function readPacket(line: string): Packet {
  const fields = new Map(line.split('|').map((field) => field.split('=', 2) as [string, string]))
  const number = (name: string) => {
    const value = Number(fields.get(name) ?? Number.NaN)
    return Number.isFinite(value) ? value : undefined
  }
  return {
    stream: number('stream_index') ?? -1,
    pts: number('pts_time'),
    dts: number('dts_time'),
    seconds: number('duration_time'),
    bytes: number('size') ?? 0,
    position: number('pos'),
  }
}
