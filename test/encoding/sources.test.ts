import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { kinora, type Service, temporaryFolder } from '../support/harness.ts'
import { download, durationsIn } from '../support/media/media.ts'
import { groups, type Source, silent } from '../support/media/source-table.ts'
import {
  type DecodedMedia,
  decodeMedia,
  frames,
  lavfi,
  makeSource,
  numberedFrames,
  readBrightness,
  rotateClockwise,
  sampleRate,
  splitArgs,
  toneAt,
  truncateFile,
  vp8,
} from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

let service: Service
let folder: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  service = await kinora({ after: (end) => ends.push(end) }, withoutThumbnails())
})
after(async () => {
  for (const end of ends) await end()
})

async function send({ file, steps, isRotated, fraction }: Source): Promise<string> {
  const path = await makeSource(join(folder, file), ...steps)
  if (isRotated) await writeFile(path, rotateClockwise(await readFile(path)))
  if (fraction) await truncateFile(path, fraction)
  return uploadVideo(service, path, { mp4Support: false })
}

// Four at a time keep the encoder busy. If all ran at once, each would wait for the chunks of all others.
for (const [title, group] of Object.entries(groups))
  describe(`encoding of sources: ${title}`, { concurrency: 4 }, () => {
    for (const [name, source] of Object.entries(group)) test(`encodes ${name}`, () => check(source))
  })

async function check(source: Source): Promise<void> {
  const { qualities = ['240p'] } = source
  const videoId = await send(source)
  const encoding = await waitForEncoding(service, videoId)
  assert.deepEqual(
    encoding.qualities.map(({ quality, status, failure }) => failure ?? `${quality} ${status}`),
    qualities.map((quality) => `${quality} encoded`),
  )
  const master = await (await fetch(`${service.url}/vod/${videoId}/hls/manifest.m3u8`)).text()
  assert.equal(master.includes('TYPE=AUDIO'), source.hertz !== undefined)
  const audio = source.hertz ? await download(service.url, videoId, 'sound', folder) : undefined
  for (const [i, quality] of qualities.entries()) {
    const { playlist, joined } = await download(service.url, videoId, quality, folder)
    const decoded = await decodeMedia(joined, i === 0 ? audio?.joined : undefined)
    assert.equal(decoded.warnings, '', `ffmpeg warns about ${quality}`)
    const isTop = i === qualities.length - 1
    assert.equal(
      decoded.format,
      `${isTop ? (source.size ?? '160x120') : '240x426'} 1/1 yuv420p ${source.rate}`,
    )
    const seconds = checkFrames(source, decoded, playlist)
    if (source.levels) await checkLevels(joined, decoded, source.levels)
    if (i === 0 && source.hertz) checkAudio(source.hertz, decoded.samples, seconds)
  }
}

/** Returns the duration in seconds. */
function checkFrames(source: Source, { numbers }: DecodedMedia, playlist: string): number {
  const { rate, frameNumbers, tolerance = 0, fraction } = source
  if (!source.levels) {
    // The last frames of a truncated file are damaged.
    const isRight = (number: number | undefined, i: number) =>
      Math.abs((number ?? -9) - frameNumbers[i]!) <= tolerance
    const known = fraction ? numbers.slice(0, numbers.length - 25) : frameNumbers.map((_, i) => numbers[i])
    const wrong = known.flatMap((number, i) =>
      isRight(number, i) ? [] : [`${i}: ${number} for ${frameNumbers[i]}`],
    )
    assert.deepEqual(wrong, [])
    if (fraction)
      assert.ok(numbers.length > frameNumbers.length * (fraction - 0.15), `${numbers.length} frames`)
    else assert.equal(numbers.length, frameNumbers.length)
  }
  const [num = 0, den = 1] = rate.split('/').map(Number)
  const seconds = durationsIn(playlist).reduce((a, b) => a + b, 0)
  assert.ok(Math.abs(seconds - (numbers.length * den) / num) < 1e-4, `${seconds} s`)
  return seconds
}

async function checkLevels(path: string, { colors }: DecodedMedia, expected: number[]): Promise<void> {
  const [frame = []] = await readBrightness(path, `${expected.length}x2`, splitArgs('-ss 2.5'))
  const isRight = frame.every((level, i) => Math.abs(level - expected[i % expected.length]!) <= 6)
  assert.ok(isRight, `levels ${frame} instead of ${expected}`)
  assert.match(colors, /^(tv|unknown)( (bt709|unknown)){3}$/)
}

function checkAudio(expected: number, samples: Float32Array, videoSeconds: number): void {
  const seconds = samples.length / sampleRate
  assert.ok(Math.abs(seconds - videoSeconds) < 0.022, `${seconds} s of audio for ${videoSeconds} s of video`)
  // The tone sounds in the middle of each second. Measured in the second chunk, if the video is long.
  const { hertz, level } = toneAt(samples, Math.min(2.5, Math.floor(seconds / 2) + 0.5))
  assert.ok(Math.abs(hertz - expected) < 6 && level > 0.03, `${hertz} Hz, ${level}`)
}

test('a video whose frame size changes keeps the size of its first frame', async () => {
  const [small, large] = [join(folder, 'small.webm'), join(folder, 'large.webm')]
  await makeSource(small, [...lavfi(numberedFrames()), ...vp8])
  await makeSource(large, [...lavfi(numberedFrames({ size: '320x240' })), ...vp8])
  const list = join(folder, 'list.txt')
  await writeFile(list, `file ${small}\nfile ${large}\nfile ${small}\n`)
  const source: Source = {
    ...silent,
    file: 'sizes.webm',
    frameNumbers: frames(225, (i) => i % 75),
    steps: [['-f', 'concat', '-safe', '0', '-i', list, '-c', 'copy']],
  }
  await check(source)
})
