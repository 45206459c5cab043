import { join } from 'node:path'
import type { Rung } from '../server/media/ladder.ts'
import { download } from './encode-kinora.ts'
import { peerFile, rungsOf } from './encode-references.ts'
import { type Source, timed } from './ffmpeg.ts'
import { atMost, type Row } from './table.ts'

type Quality = { bytes: number; ssim: number }
type Measurement = { quality: string; kinora: Quality; peer: Quality }

async function measureQuality(source: Source, rung: Rung, path: string): Promise<Quality> {
  const scale = `[1:v]scale=${rung.width}:${rung.height},setpts=PTS-STARTPTS[r];[0:v]setpts=PTS-STARTPTS[d];[d][r]ssim`
  const { stderr } = await timed('ffmpeg', [
    ...['-hide_banner', '-nostdin', '-v', 'info', '-i', path, '-i', source.path],
    ...['-filter_complex', scale, '-an', '-f', 'null', '-'],
  ])
  const { stdout } = await timed('ffprobe', [
    ...['-v', 'error', '-select_streams', 'v', '-show_entries', 'packet=size', '-of', 'csv=p=0', path],
  ])
  const bytes = stdout.split('\n').reduce((sum, line) => sum + (Number.parseInt(line, 10) || 0), 0)
  return { bytes, ssim: Number(/SSIM.*All:([\d.]+)/.exec(stderr)?.[1]) }
}

/** Compares each quality of a video with the files of `encodeAsPeer`. */
export async function qualityRows(
  url: string,
  videoId: string,
  source: Source,
  folder: string,
): Promise<Row[]> {
  const measured: Measurement[] = []
  for (const rung of rungsOf(source)) {
    const file = join(folder, 'kinora.mp4')
    await download(url, videoId, rung.quality, file)
    measured.push({
      quality: rung.quality,
      kinora: await measureQuality(source, rung, file),
      peer: await measureQuality(source, rung, peerFile(folder, rung.quality)),
    })
  }
  return toRows(measured)
}

function toRows(measured: Measurement[]): Row[] {
  const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`
  const describe = ({ ssim, bytes }: Quality) => `SSIM ${ssim.toFixed(4)}, ${kB(bytes)}`
  const rows = measured.map(({ quality, kinora, peer }) => ({
    measured: `${quality}: SSIM and size`,
    kinora: describe(kinora),
    reference: describe(peer),
    ratio: kinora.bytes / peer.bytes,
    goal: {
      text: 'SSIM not lower, size not larger',
      isMet: kinora.ssim >= peer.ssim && kinora.bytes <= peer.bytes,
    },
  }))
  const total = (of: (each: Measurement) => Quality) =>
    measured.reduce((sum, each) => sum + of(each).bytes, 0)
  const [kinora, peer] = [total((each) => each.kinora), total((each) => each.peer)]
  const ratio = kinora / peer
  const all = { measured: 'size of all qualities', kinora: kB(kinora), reference: kB(peer), ratio }
  return [...rows, { ...all, goal: atMost(1, ratio) }]
}
