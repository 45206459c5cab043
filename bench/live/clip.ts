import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FlvStream, type FlvTag, flvTagType } from '../../server/live/media/flv-stream.ts'
import { withClock } from '../../test/support/live/burnt-clock.ts'

export const frameRate = 30
/** A whole number of video and audio frames, so that the clip can be repeated. Key frames are every two seconds. */
export const clipMs = 16_000
export const groupMs = 2_000
const clipKbps = 2_500

/** The size of the picture. Both clips have the bit rate and the frame rate of ordinary 720p. */
const clipSizes = {
  '720p': '1280x720',
  /** The service encodes no lower qualities of it, so it is passed through and nothing else. */
  '240p': '426x240',
} as const
export type ClipName = keyof typeof clipSizes

/** Makes a clip whose pictures show their time since its beginning. The noise makes the bit rate realistic. */
export async function makeClip(folder: string, name: ClipName, kbps = clipKbps): Promise<string> {
  const path = join(folder, `${name}.flv`)
  const size = clipSizes[name]
  const picture = `testsrc2=s=${size}:r=${frameRate},noise=alls=${name === '720p' ? 8 : 40}:allf=t`
  await promisify(execFile)('ffmpeg', [
    ...['-v', 'error', '-y', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'],
    ...['-filter_complex', withClock(picture, { size, rate: frameRate }), '-map', '[v]', '-map', '0:a'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-sc_threshold', '0'],
    ...['-g', String((frameRate * groupMs) / 1000), '-b:v', `${kbps}k`, '-maxrate', `${kbps}k`],
    ...['-bufsize', `${kbps}k`, '-c:a', 'aac', '-b:a', '128k', '-t', String(clipMs / 1000), path],
  ])
  return path
}

export type ClipTag = { kind: 'audio' | 'video'; atMs: number; payload: Buffer; isHeader: boolean }

/** The tags of a clip. Their times begin with the first picture. */
export async function readClip(path: string): Promise<ClipTag[]> {
  const tags = new FlvStream().read(await readFile(path)).filter(({ type }) => type in kinds)
  const firstMs = tags.find((tag) => kinds[tag.type] === 'video' && !isHeader(tag))?.timestamp ?? 0
  return tags
    .map((tag) => ({
      kind: kinds[tag.type]!,
      atMs: isHeader(tag) ? 0 : tag.timestamp - firstMs,
      payload: tag.payload,
      isHeader: isHeader(tag),
    }))
    .filter(({ atMs, payload }) => atMs >= 0 && atMs < clipMs && payload[1] !== endOfSequence)
}

const kinds: Record<number, 'audio' | 'video'> = { [flvTagType.audio]: 'audio', [flvTagType.video]: 'video' }

const endOfSequence = 2
/** The configuration of the decoder for H.264 or AAC. */
const isHeader = ({ payload }: FlvTag) => payload[1] === 0
