import { inputLimits } from './limits.ts'

/** Muxes the streams of foreign files into an MP4 without encoding. Without `audio`, the audio is that of `video`, if it has any. */
export function joinArgs(files: { video: string; audio: string | undefined; output: string }): string[] {
  const { video, audio, output } = files
  return [
    ...['-hide_banner', '-nostdin', '-y', '-loglevel', 'error'],
    ...[...inputLimits(), '-i', video],
    ...(audio === undefined ? [] : [...inputLimits(), '-i', audio]),
    ...['-map', '0:v:0', '-map', audio === undefined ? '0:a:0?' : '1:a:0'],
    ...['-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-c', 'copy', '-fflags', '+bitexact', '-movflags', '+faststart', '-f', 'mp4', output],
  ]
}
