import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { run } from '../lib/run.ts'
import { ladderOf } from './ladder.ts'
import { inputLimits } from './limits.ts'
import { probe, type VideoStream } from './probe.ts'
import { toneMapping } from './tone-mapping.ts'
import { encodeVideoArgs } from './video.ts'

const tools = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
const size = { width: 320, height: 240 }
const rate = { num: 5, den: 1 }
let folder: string
let files = 0

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-hdr-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const ffmpeg = (...args: string[]) => run('ffmpeg', ['-hide_banner', '-nostdin', '-y', ...args])

type Range = 'pq' | 'hlg'
const transfers = { pq: 'smpte2084', hlg: 'arib-std-b67' }

/** One second of a lavfi graph, tagged as HDR. x265 writes the `params` into the stream. */
async function makeHdr(range: Range, graph: string, params = ''): Promise<string> {
  const file = path.join(folder, `${files++}.mp4`)
  const colors = `colorprim=bt2020:transfer=${transfers[range]}:colormatrix=bt2020nc:range=limited`
  const x265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-crf', '8', '-pix_fmt', 'yuv420p10le']
  const input = ['-f', 'lavfi', '-i', graph, '-t', '1']
  await ffmpeg('-v', 'error', ...input, ...x265, '-x265-params', `log-level=none:${colors}${params}`, file)
  return file
}

/** Gray stripes of equal width with these signal levels, from 0 to 1. */
function stripes(signals: number[]): string {
  const codes = signals.map((signal) => Math.round(64 + 876 * signal))
  const width = size.width / codes.length
  const lum = codes.reduceRight<string>(
    (rest, code, i) => (rest ? `if(lt(X,${width * (i + 1)}),${code},${rest})` : `${code}`),
    '',
  )
  return `color=s=${size.width}x${size.height}:r=5:d=1,format=yuv420p10le,geq=lum='${lum}':cb=512:cr=512`
}

/** Encodes a source like the service does. Returns its video stream and the file of the highest quality. */
async function encode(source: string): Promise<{ picture: VideoStream; output: string }> {
  const { picture } = await probe(tools, source)
  assert.ok(picture)
  const output = path.join(folder, `${files++}.mp4`)
  const rung = ladderOf(size, rate).at(-1)!
  const args = encodeVideoArgs({
    input: { path: source, options: inputLimits(), stream: picture, offsetSeconds: 0 },
    grid: { rate, frames: 5 },
    segments: [{ index: 0, fromFrame: 0, frames: 5 }],
    outputs: [{ rung, path: output }],
    overlays: [],
    canToneMap: true,
  })
  await run('ffmpeg', args)
  return { picture, output }
}

/** The coded luma of the first frame, from 16 to 235, averaged per column. */
async function readLuma(file: string, columns: number): Promise<number[]> {
  const raw = path.join(folder, `${files++}.yuv`)
  const filter = `scale=${columns}:1:flags=area,format=yuv444p`
  await ffmpeg('-v', 'error', '-i', file, '-vf', filter, '-frames:v', '1', '-f', 'rawvideo', raw)
  return [...(await readFile(raw)).subarray(0, columns)]
}

/** The signal level for a brightness in nits (SMPTE ST 2084). */
function pq(nits: number): number {
  const power = (nits / 10_000) ** (2610 / 16384)
  return ((3424 / 4096 + (2413 / 128) * power) / (1 + (2392 / 128) * power)) ** ((2523 / 4096) * 128)
}

const isWithin = (value: number, expected: number, tolerance: number) =>
  assert.ok(Math.abs(value - expected) <= tolerance, `${value}, not ${expected} within ${tolerance}`)

describe('levels', { concurrency: 2 }, () => {
  const nits = [0, 26, 100, 203, 400, 1_000, 10_000]

  test('PQ: white of 203 nits becomes nearly white, and brighter levels are above it', async () => {
    const { output } = await encode(await makeHdr('pq', stripes(nits.map(pq))))
    const luma = await readLuma(output, nits.length)
    // 18 % gray (26 nits) and SDR white (100 nits) are as bright as in SDR with a white of 203 nits, not darker.
    for (const [i, level] of [16, 109, 179, 221].entries()) isWithin(luma[i]!, level, 2)
    for (const [i, level] of luma.slice(1).entries()) assert.ok(level > luma[i]!, `${luma}`)
    isWithin(luma.at(-1)!, 235, 1)
  })

  test('HLG: white of 75 % becomes nearly white, gray stays as in SDR, and the maximum becomes white', async () => {
    const { output } = await encode(await makeHdr('hlg', stripes([0, 0.38, 0.5, 0.75, 0.9, 1])))
    const luma = await readLuma(output, 6)
    for (const [i, level] of [16, 109, 139, 221, 231, 235].entries()) isWithin(luma[i]!, level, 2)
  })

  const master = (maxNits: number) =>
    `:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(${maxNits * 10_000},1)`
  for (const [title, params, peakNits, white] of [
    ['MaxCLL', ':max-cll=600,200', 600, 222],
    ['the mastering display', master(600), 600, 222],
    ['MaxCLL before the mastering display', `:max-cll=600,200${master(4_000)}`, 600, 222],
    ['a MaxCLL of white, above which nothing is compressed', ':max-cll=203,100', 203, 235],
    ['no peak: a MaxCLL of 0', ':max-cll=0,0', undefined, 221],
  ] as const)
    test(`PQ: the peak comes from ${title}`, async () => {
      const levels = [203, peakNits ?? 10_000].map(pq)
      const { picture, output } = await encode(await makeHdr('pq', stripes(levels), `:hdr10=1${params}`))
      assert.equal(picture.peakNits, peakNits)
      const luma = await readLuma(output, 2)
      isWithin(luma[0]!, white, 2)
      isWithin(luma[1]!, 235, 1)
    })
})

describe('SDR that was converted to HDR looks the same afterwards', { concurrency: 2 }, () => {
  const colors = ['0xe8e8e8', '0xb03020', '0x30a040', '0x3050c0', '0xe8b090', '0x404040']
  const named = colors.map((color, i) => `c${i}=${color}`).join(':')
  const sdr = [
    `gradients=s=${size.width}x${size.height}:r=5:d=1:n=${colors.length}:seed=3:${named},format=yuv420p`,
    'setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709',
  ].join()

  for (const range of ['pq', 'hlg'] as const)
    test(range, async () => {
      const toHdr = `zscale=p=bt2020:m=bt2020nc:t=${transfers[range]}:npl=203,format=yuv420p10le`
      const { output } = await encode(await makeHdr(range, `${sdr},${toHdr}`))
      const { stderr } = await ffmpeg(
        ...['-i', output, '-f', 'lavfi', '-i', sdr, '-lavfi', 'ssim', '-f', 'null', '-'],
      )
      const [, ssim] = /All:([\d.]+)/.exec(stderr) ?? []
      assert.ok(Number(ssim) > 0.985, `SSIM ${ssim}`)
      const before = path.join(folder, `${range}.mkv`)
      await ffmpeg('-v', 'error', '-f', 'lavfi', '-i', sdr, '-frames:v', '1', '-c:v', 'ffv1', before)
      const [expected = 0] = await readLuma(before, 1)
      isWithin((await readLuma(output, 1))[0]!, expected, 4)
    })
})

test('SDR is not changed', () => {
  assert.deepEqual(toneMapping({ dynamicRange: 'sdr' }), [])
})
