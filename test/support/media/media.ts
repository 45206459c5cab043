import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs ffmpeg and returns its warnings. */
export async function ffmpeg(...args: string[]): Promise<string> {
  const { stderr } = await execute('ffmpeg', ['-hide_banner', '-nostdin', '-y', '-v', 'warning', ...args], {
    maxBuffer: 64 * 1024 * 1024,
  })
  return stderr
}

/** Runs ffprobe and returns its output by lines. */
export async function ffprobe(path: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await execute('ffprobe', ['-v', 'error', '-of', 'csv=p=0', ...args, path], {
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout.split('\n').filter(Boolean)
}

/** Returns a hash of each decoded frame. */
export async function frameHashes(path: string, ...inputOptions: string[]): Promise<string[]> {
  const { stdout } = await execute(
    'ffmpeg',
    [
      '-v',
      'error',
      ...inputOptions,
      '-i',
      path,
      '-map',
      '0:v',
      '-fps_mode',
      'passthrough',
      '-f',
      'framemd5',
      '-',
    ],
    { maxBuffer: 64 * 1024 * 1024 },
  )
  return stdout
    .split('\n')
    .filter((line) => line && !line.startsWith('#'))
    .map((line) => line.split(',').at(-1)!.trim())
}

export type Stream = { packets: { pts: number; dts: number }[]; hashes: string[] }

/**
 * Returns the packets and a hash of each decoded frame of every stream of several files. One run of ffmpeg reads them all,
 * because its start takes longer than decoding a short file.
 */
export async function readStreams(paths: string[]): Promise<{ streams: Stream[]; warnings: string }> {
  const maps = paths.flatMap((_, i) => ['-map', String(i)])
  const hashed = ['-fps_mode', 'passthrough', '-f', 'framemd5', `${paths[0]}.md5`]
  const copied = ['-c', 'copy', '-f', 'framecrc', `${paths[0]}.crc`]
  const warnings = await ffmpeg(
    ...paths.flatMap((path) => ['-i', path]),
    ...maps,
    ...hashed,
    ...maps,
    ...copied,
  )
  const frames = await readFrameList(`${paths[0]}.md5`)
  const packets = await readFrameList(`${paths[0]}.crc`)
  const count = Math.max(...packets.map(({ stream }) => stream)) + 1
  const streams = Array.from({ length: count }, (_, i) => ({
    packets: packets.filter(({ stream }) => stream === i),
    hashes: frames.filter(({ stream }) => stream === i).map(({ hash }) => hash),
  }))
  return { streams, warnings }
}

/** Returns for each file whether its first frame is a key frame. */
export async function startsWithKeyFrame(paths: string[]): Promise<boolean[]> {
  const output = `${paths[0]}.key`
  const inputs = paths.flatMap((path) => ['-i', path])
  const maps = paths.flatMap((_, i) => ['-map', `${i}:v`])
  await ffmpeg(...inputs, ...maps, '-c', 'copy', '-f', 'framecrc', output)
  const packets = await readFrameList(output)
  return paths.map((_, i) => packets.find(({ stream }) => stream === i)?.isKey ?? false)
}

/** Reads the output of the formats framemd5 and framecrc. */
async function readFrameList(path: string) {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line && !line.startsWith('#'))
  return lines.map((line) => {
    const [stream, dts, pts, , , hash = ''] = line.split(',').map((field) => field.trim())
    // Flags are printed if there are others than that of a key frame, which is the lowest bit.
    const flags = Number(/F=(0x\w+)/.exec(line)?.[1] ?? 1)
    return { stream: Number(stream), dts: Number(dts), pts: Number(pts), hash, isKey: flags % 2 === 1 }
  })
}

/** Makes a video with a moving test pattern and a silent audio stream. */
export function makeClip(
  path: string,
  options: { size?: string; rate?: string; seconds?: number; audioCodec?: string } = {},
) {
  // Silence is encoded four times as fast as a tone.
  const { size = '1280x720', rate = '24000/1001', seconds = 7, audioCodec = 'alac' } = options
  return ffmpeg(
    ...['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${rate}`, '-f', 'lavfi', '-i', 'anullsrc=r=48000'],
    ...['-t', String(seconds), '-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '20'],
    ...['-g', '60', '-bf', '2'],
    ...['-pix_fmt', 'yuv420p', '-c:a', audioCodec, path],
  )
}

/** Downloads a rendition as a player would: each segment with the init segment as one file, and all segments joined. */
export async function download(
  url: string,
  videoId: string,
  rendition: string,
  folder: string,
): Promise<{ playlist: string; joined: string; segments: string[] }> {
  const base = `${url}/vod/${videoId}/hls/${rendition}`
  const playlist = await (await fetch(`${base}/manifest.m3u8`)).text()
  const names = playlist.split('\n').filter((line) => line && !line.startsWith('#'))
  const get = async (name: string) => {
    const response = await fetch(`${base}/${name}`)
    assert.equal(response.status, 200, `${name} of ${rendition}`)
    return Buffer.from(await response.arrayBuffer())
  }
  const init = await get('init.mp4')
  const parts = await Promise.all(names.map(get))
  const joined = join(folder, `${videoId}-${rendition}.mp4`)
  await writeFile(joined, Buffer.concat([init, ...parts]))
  const segments = parts.map((_, i) => join(folder, `${videoId}-${rendition}-${i}.mp4`))
  await Promise.all(parts.map((part, i) => writeFile(segments[i]!, Buffer.concat([init, part]))))
  return { playlist, joined, segments }
}

export const durationsIn = (playlist: string) =>
  [...playlist.matchAll(/#EXTINF:([\d.]+),/g)].map(([, seconds]) => Number(seconds))
