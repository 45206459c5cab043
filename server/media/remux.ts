import { inputLimits } from './limits.ts'
import type { SourceMedia } from './probe.ts'
import { type Repair, repairFilter, repairInput } from './repair.ts'

/** Muxes encoded tracks without encoding. The index is in front, so that playback can start during the download. */
export function mp4Args(files: { video: string; audio: string | undefined; output: string }): string[] {
  const { video, audio, output } = files
  return [
    ...['-hide_banner', '-nostdin', '-y', '-loglevel', 'error'],
    ...['-i', video, ...(audio === undefined ? [] : ['-i', audio])],
    ...['-map', '0:v', ...(audio === undefined ? [] : ['-map', '1:a'])],
    ...['-c', 'copy', '-fflags', '+bitexact', '-movflags', '+faststart', '-f', 'mp4', output],
  ]
}

/** Audio codecs that Matroska has an id for. Others (pcm_bluray, s302m, aac_latm, nellymoser) are decoded. */
const MATROSKA_AUDIO = new Set([
  ...['aac', 'mp1', 'mp2', 'mp3', 'ac3', 'eac3', 'dts', 'truehd', 'mlp'],
  ...['vorbis', 'opus', 'flac', 'alac', 'speex'],
  ...['wmav1', 'wmav2', 'wmapro', 'wmalossless', 'adpcm_ms', 'adpcm_ima_wav', 'adpcm_swf'],
  ...['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le', 'pcm_mulaw', 'pcm_alaw'],
])
/** Codecs that mp4 supports and mov does not. mov supports more of all others. */
const MP4_ONLY = new Set(['vp9', 'av1', 'opus', 'flac', 'truehd'])

/**
 * Copies the video and audio stream of a source without a working index into a file that has one. The readable part of a
 * truncated source is copied. A repair removes jumps from the timestamps.
 */
export function remuxArgs(options: {
  input: string
  output: string
  media: SourceMedia
  isServed?: boolean
  repair?: Repair | undefined
  /** For H.264 and AAC, whatever container they come from. */
  isMp4?: boolean
  /** What comes later is left out. */
  untilSeconds?: number | undefined
}): string[] {
  const { input, output, media, repair, isMp4 = false, untilSeconds } = options
  const { picture: video, sound: audio } = media
  const streams = [video, audio].filter((stream) => stream !== undefined)
  // mov keeps the rotation. Matroska cannot store it before ffmpeg 6.1, and only mov sources have one.
  const isMov = isMp4 || media.container === 'mov'
  const format = isMp4
    ? 'mp4'
    : !isMov
      ? 'matroska'
      : streams.some(({ codec }) => MP4_ONLY.has(codec))
        ? 'mp4'
        : 'mov'
  const isIndexed = media.container === 'mov' || media.container === 'matroska'
  const repairs = (stream: { index: number } | undefined) => {
    const found = stream && repair?.get(stream.index)
    return found ? [repairFilter(found)] : []
  }
  // DivX in AVI packs two frames into one packet, which only AVI supports.
  const unpack = media.container === 'avi' && video?.codec === 'mpeg4' ? ['mpeg4_unpack_bframes'] : []
  const filters = { v: [...unpack, ...repairs(video)].join(','), a: repairs(audio).join(',') }
  return [
    ...['-v', 'error', '-nostdin', '-y'],
    ...['-err_detect', 'ignore_err'],
    // AVI and MPEG program streams lack presentation times, which Matroska requires.
    ...(isIndexed ? [] : ['-fflags', '+genpts']),
    ...(repair ? repairInput : []),
    ...inputLimits(options),
    ...['-i', input],
    ...streams.flatMap(({ index }) => ['-map', `0:${index}`]),
    ...['-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c', 'copy'],
    ...(filters.v ? ['-bsf:v', filters.v] : []),
    ...(filters.a ? ['-bsf:a', filters.a] : []),
    // Video packets are queued until the first audio is decoded, and the audio may begin late.
    ...(audio && !isMov && !MATROSKA_AUDIO.has(audio.codec)
      ? ['-c:a', 'pcm_s16le', '-max_muxing_queue_size', '10000']
      : []),
    ...(untilSeconds === undefined ? [] : ['-t', untilSeconds.toFixed(6)]),
    ...['-f', format, output],
  ]
}
