import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ladderOf } from '../server/media/ladder.ts'
import { ffmpeg } from './ffmpeg.ts'

/**
 * `encoded` sources have key frames so far apart that Kinora encodes them. `copied` sources conform: closed groups of
 * pictures of 2 s, a bit rate that the quality allows, and stereo AAC.
 */
export type Kind = 'encoded' | 'copied'

export type Recipe = {
  kind: Kind
  size: '720p' | '1080p'
  seconds: number
  /** The strength of the noise in the picture. A little of it makes a test pattern as expensive as a film. */
  noise?: number
}

const sizes = { '720p': { width: 1280, height: 720 }, '1080p': { width: 1920, height: 1080 } }
const rate = { num: 25, den: 1 }
const maxLoopSeconds = 10
const keySeconds = { encoded: 10, copied: 2 }
/** AAC frames have 1,024 samples. */
const audioFramesPerSecond = 48_000 / 1024

/**
 * Makes a source of any length in seconds, because only ten seconds of it are encoded, if its length is a multiple of that: the rest repeats them. Frames stay
 * on one grid over all joints, since the loop is a whole number of frames. Ten seconds are no whole number of AAC frames,
 * so the audio has a loop of its own.
 */
export async function makeSource(folder: string, recipe: Recipe): Promise<string> {
  const { kind, size, seconds, noise = 3 } = recipe
  const { width, height } = sizes[size]
  const maxKbps = ladderOf({ width, height }, rate).at(-1)!.maxKbps
  const kbps = Math.round(maxKbps * (kind === 'copied' ? 0.9 : 4))
  const loopSeconds = seconds % maxLoopSeconds === 0 ? maxLoopSeconds : seconds
  const keyFrames = String(keySeconds[kind] * rate.num)
  const name = `${size}-${seconds}s-${kind}`
  const [video, audio, path] = ['loop.mp4', 'audio.aac', `${name}.mp4`].map((each) => join(folder, each)) as [
    string,
    string,
    string,
  ]
  const picture = `testsrc2=s=${width}x${height}:r=${rate.num},noise=alls=${noise}:allf=t`
  await ffmpeg(
    ...['-f', 'lavfi', '-i', picture, '-t', String(loopSeconds), '-pix_fmt', 'yuv420p'],
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-profile:v', 'high', '-crf', '23'],
    ...['-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`],
    ...['-g', keyFrames, '-keyint_min', keyFrames, '-sc_threshold', '0', video],
  )
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'sine=r=48000', '-t', String(loopSeconds), '-ac', '2'],
    ...['-c:a', 'aac', '-b:a', '128k', audio],
  )
  const loops = Math.round(seconds / loopSeconds)
  const adts = await readFile(audio)
  await writeFile(audio, Buffer.concat(Array.from({ length: loops + 1 }, () => adts)))
  await ffmpeg(
    ...['-stream_loop', String(loops - 1), '-i', video],
    // AAC encoders add a frame of silence at the start, which an edit list hides in nearly every file.
    ...['-itsoffset', '-0.021333', '-i', audio, '-map', '0:v', '-map', '1:a', '-c', 'copy'],
    ...['-frames:a', String(Math.ceil(seconds * audioFramesPerSecond) + 1), '-movflags', '+faststart', path],
  )
  await Promise.all([video, audio].map((each) => rm(each)))
  return path
}

/** Files from `--source FILE`, which can be given several times, and the other words. */
export function readArguments(args: string[]): { files: string[]; words: string[] } {
  const { values, positionals } = parseArgs({
    args,
    options: { source: { type: 'string', multiple: true } },
    allowPositionals: true,
  })
  return { files: values.source ?? [], words: positionals }
}
