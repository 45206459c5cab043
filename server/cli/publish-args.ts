import { inputLimits } from '../media/limits.ts'
import type { SourceMedia } from '../media/source-media.ts'

/** A file that ffmpeg can read, and what is in it. */
export type Input = { path: string; media: SourceMedia }

/** Larger pictures are scaled down, so that most machines encode them in real time. */
const maxHeight = 720
const keyFrameSeconds = 2

const encodedVideo = [
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p'],
  ...['-crf', '23', '-maxrate', '3000k', '-bufsize', '6000k'],
  // Key frames at fixed times, and no others.
  ...['-sc_threshold', '0', '-g', '100000', '-force_key_frames', `expr:gte(t,n_forced*${keyFrameSeconds})`],
]
const encodedAudio = ['-c:a', 'aac', '-b:a', '128k', '-ar', '48000', '-ac', '2']

/** The arguments of an ffmpeg that writes FLV to its standard output, in real time. */
export const publishArgs = (input: Input | undefined): string[] => [
  ...['-nostdin', '-hide_banner', '-v', 'error'],
  ...(input ? fileArgs(input) : testPictureArgs),
  ...['-f', 'flv', '-flvflags', 'no_duration_filesize', '-flush_packets', '1', 'pipe:1'],
]

/** testsrc2 contains a clock. The tone beeps every second. */
const testPictureArgs = [
  ...['-re', '-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=30'],
  ...['-re', '-f', 'lavfi', '-i', 'sine=frequency=220:beep_factor=4:sample_rate=48000'],
  ...encodedVideo,
  ...encodedAudio,
]

function fileArgs({ path, media: { picture, sound } }: Input): string[] {
  return [
    // The service decodes on one thread for each job. Here, decoding has to keep up with real time.
    ...[...inputLimits(), '-threads', '0', '-re', '-i', `file:${path}`],
    ...(picture ? ['-map', `0:${picture.index}`, ...videoArgs(picture)] : []),
    ...(sound ? ['-map', `0:${sound.index}`, ...audioArgs(sound)] : []),
  ]
}

/** FLV has no field for a rotation. */
function videoArgs({ codec, isTurned, height }: NonNullable<SourceMedia['picture']>): string[] {
  if (codec === 'h264' && !isTurned) return ['-c:v', 'copy']
  const scaled = height > maxHeight ? [`scale=-2:${maxHeight}`] : []
  // H.264 with yuv420p needs even sides.
  return ['-vf', [...scaled, 'crop=trunc(iw/2)*2:trunc(ih/2)*2'].join(','), ...encodedVideo]
}

/** FLV has no other sample rate for MP3 that is in use. */
function audioArgs({ codec, sampleRate }: NonNullable<SourceMedia['sound']>): string[] {
  const isSupported = codec === 'aac' || (codec === 'mp3' && sampleRate === 44_100)
  return isSupported ? ['-c:a', 'copy'] : encodedAudio
}
