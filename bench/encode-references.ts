import { rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ladderOf } from '../server/media/ladder.ts'
import { type Cost, ffmpeg, type Source } from './ffmpeg.ts'

/** PeerTube's maximum bit rates, in bits per pixel and frame. */
const peerBitsPerPixel: Record<string, number> = {
  '240p': 0.17,
  '360p': 0.15,
  '480p': 0.12,
  '720p': 0.11,
  '1080p': 0.1,
  '2160p': 0.08,
}

export const rungsOf = (source: Source) => ladderOf(source, source.rate)

export const peerFile = (folder: string, quality: string) => join(folder, `peer-${quality}.mp4`)

/** One ffmpeg for each quality, one after the other, each on all cores. */
export async function encodeAsPeer(source: Source, folder: string): Promise<Cost> {
  const cost = { wall: 0, cpu: 0 }
  const fps = source.rate.num / source.rate.den
  for (const { quality, width, height } of rungsOf(source)) {
    const maxrate = Math.round(width * height * fps * peerBitsPerPixel[quality]!)
    const { wall, cpu } = await ffmpeg(
      ...['-i', source.path, '-vf', `scale=${width}:${height}`, '-c:v', 'libx264', '-preset', 'veryfast'],
      ...['-crf', '23', '-maxrate', String(maxrate), '-bufsize', String(2 * maxrate), '-pix_fmt', 'yuv420p'],
      ...['-bf', '16', '-b_strategy', '1', '-g', String(Math.round(2 * fps)), '-c:a', 'aac', '-b:a', '128k'],
      ...['-movflags', '+faststart', '-f', 'mp4', peerFile(folder, quality)],
    )
    cost.wall += wall
    cost.cpu += cpu
  }
  return cost
}

/**
 * The minimum cost: x264 with the same preset, on frames that are already decoded and scaled. Runs one process on each
 * core, as the service does, because cores that share a cache slow each other down.
 */
export async function encodeMinimum(source: Source, folder: string): Promise<Cost> {
  const cost = { wall: 0, cpu: 0 }
  for (const { width, height, maxKbps } of rungsOf(source)) {
    const raw = join(folder, 'raw.yuv')
    const { num, den } = source.rate
    await ffmpeg(
      ...['-i', source.path, '-vf', `scale=${width}:${height}`, '-pix_fmt', 'yuv420p', '-f', 'rawvideo', raw],
    )
    const frames = String(Math.round((4 * num) / den))
    const runs = await Promise.all(
      Array.from({ length: availableParallelism() }, () =>
        ffmpeg(
          ...['-f', 'rawvideo', '-s', `${width}x${height}`, '-r', `${num}/${den}`, '-i', raw],
          ...['-c:v', 'libx264', '-preset', 'veryfast', '-threads', '1', '-crf', '23', '-g', frames],
          ...['-maxrate', `${maxKbps}k`, '-bufsize', `${2 * maxKbps}k`, '-f', 'null', '-'],
        ),
      ),
    )
    cost.cpu += runs.reduce((sum, { cpu }) => sum + cpu, 0) / runs.length
    await rm(raw)
  }
  cost.wall = cost.cpu / availableParallelism()
  return cost
}

/** The first 2 s of the lowest quality without a service. */
export const encodeStart = (source: string, folder: string): Promise<Cost> =>
  ffmpeg(
    ...['-i', source, '-t', '2', '-vf', 'scale=-2:240', '-c:v', 'libx264', '-preset', 'veryfast', '-an'],
    ...['-f', 'mp4', join(folder, 'start.mp4')],
  )
