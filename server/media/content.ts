import type { Programs } from './ffmpeg.ts'
import { type ProbeOptions, runFfprobe } from './probe.ts'
import { createRepair, type Packet, type Repair } from './repair.ts'
import type { SourceMedia } from './source-media.ts'

/** What a file really holds, counted packet by packet, whatever its timestamps claim. */
export type Content = {
  /** Of the video stream. */
  frames: number
  soundSeconds: number
  /** The longest time for which there is nothing at all, neither picture nor sound. */
  maxGapSeconds: number
  /** How to remove jumps from the timestamps; undefined where that is not possible. */
  repair: Repair | undefined
}

/** This much is never questioned. */
const FREE_SECONDS = 60
/** Slides stand for seconds, the picture of a recorded screen for minutes: on average, a frame may stand for a minute. */
const MAX_SECONDS_PER_FRAME = 60
/** Recorders that are activated by voice leave out what is silent. */
const MAX_SECONDS_PER_SOUND_SECOND = 10
/** No codec takes less for silence (Opus: 50). */
const MIN_SOUND_BYTES_PER_SECOND = 32
/** Where there is sound, a longer time without picture and sound is damage, or a pause that nobody wants to see. */
const MAX_GAP_SECONDS = 60

/**
 * Below these, timestamps may claim more than the file holds, and the packets of a small file are counted quickly.
 * Video with sound has less than 64 kbit/s only where next to nothing moves; speech has 16.
 */
const MIN_BYTES_PER_SECOND = { picture: 8_000, soundOnly: 2_000 }

/** Whether the packets have to be counted before the timestamps can be believed. */
export function isSuspicious(media: SourceMedia, endSeconds: number, bytes: number): boolean {
  if (endSeconds <= FREE_SECONDS) return false
  const perSecond = media.picture ? MIN_BYTES_PER_SECOND.picture : MIN_BYTES_PER_SECOND.soundOnly
  const told = media.durationSeconds ?? endSeconds
  return bytes < endSeconds * perSecond || endSeconds > 1.1 * told + FREE_SECONDS
}

export function isPlausible(media: SourceMedia, endSeconds: number, content: Content): boolean {
  const { frames, soundSeconds, maxGapSeconds } = content
  const most = Math.max(
    FREE_SECONDS,
    frames * MAX_SECONDS_PER_FRAME,
    soundSeconds * MAX_SECONDS_PER_SOUND_SECOND,
  )
  return endSeconds <= most && (!media.sound || maxGapSeconds <= MAX_GAP_SECONDS)
}

/** How many frames may be encoded: repeating a frame costs less than a new one, but it is not free. */
export const maxFrames = ({ frames }: Pick<Content, 'frames'>, framesPerSecond: number) =>
  Math.max(FREE_SECONDS * framesPerSecond, frames * MAX_SECONDS_PER_FRAME)

const ENTRIES = 'packet=stream_index,pts_time,dts_time,duration_time,size,pos'
/** ffprobe handles 70,000 packets a second; few of them are smaller than 10 bytes. */
const MIN_SCANNED_BYTES_PER_CPU_SECOND = 50_000

/** Reads the whole file. */
export async function scanContent(
  tools: Programs,
  input: string,
  media: SourceMedia,
  options: ProbeOptions & { bytes: number },
): Promise<Content> {
  const { picture, sound } = media
  const content = { frames: 0, soundSeconds: 0, maxGapSeconds: 0 }
  const repair = createRepair()
  let end = Number.POSITIVE_INFINITY
  const add = (packet: Packet) => {
    const isSound = packet.stream === sound?.index
    if (!isSound && packet.stream !== picture?.index) return
    if (isSound)
      content.soundSeconds += Math.min(packet.seconds ?? 0, packet.bytes / MIN_SOUND_BYTES_PER_SECOND)
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
