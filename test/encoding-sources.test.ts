import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { kinora, type Service, temporaryFolder } from './harness.ts'
import { download, durationsIn, ffprobe, uploadVideo, waitForEncoding } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import { groups, type Source, silent } from './source-table.ts'
import {
  frames,
  lavfi,
  makeSource,
  numberedFrames,
  readAudio,
  readBrightness,
  readFrameNumbers,
  rotateClockwise,
  sampleRate,
  splitArgs,
  toneAt,
  truncateFile,
  vp8,
} from './sources.ts'

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

async function send({ file, steps, isTurned, part }: Source): Promise<string> {
  const path = await makeSource(join(folder, file), ...steps)
  if (isTurned) await writeFile(path, rotateClockwise(await readFile(path)))
  if (part) await truncateFile(path, part)
  return uploadVideo(service, path, { mp4Support: false })
}

// Enough to keep the encoders busy. With all of them at once, each would wait for the chunks of all the others.
for (const [title, group] of Object.entries(groups))
  describe(title, { concurrency: 4 }, () => {
    for (const [name, source] of Object.entries(group)) test(name, () => check(source))
  })

async function check(source: Source): Promise<void> {
  const { qualities = ['240p'] } = source
  const videoId = await send(source)
  const encoding = await waitForEncoding(service, videoId)
  assert.deepEqual(
    encoding.qualities.map(({ quality, status, failure }) => failure ?? `${quality} ${status}`),
    qualities.map((quality) => `${quality} encoded`),
  )
  const ends = await Promise.all(qualities.map((quality) => checkPicture(source, videoId, quality)))
  const master = await (await fetch(`${service.url}/vod/${videoId}/hls/manifest.m3u8`)).text()
  assert.equal(master.includes('TYPE=AUDIO'), source.hertz !== undefined)
  if (source.hertz) await checkSound(source.hertz, videoId, ends[0]!)
}

/** How long it is. */
async function checkPicture(source: Source, videoId: string, quality: string): Promise<number> {
  const { rate, shows, within = 0, size = '320x240', qualities } = source
  const { playlist, joined } = await download(service.url, videoId, quality, folder)
  const { numbers, warnings } = await readFrameNumbers(joined)
  assert.equal(warnings, '', `${quality} cannot be decoded without a complaint`)
  const entries = 'stream=width,height,sample_aspect_ratio,pix_fmt,r_frame_rate'
  const [stream] = await ffprobe(joined, '-select_streams', 'v', '-show_entries', entries)
  const isTop = quality === (qualities?.at(-1) ?? quality)
  assert.equal(stream, [...(isTop ? size : '240x426').split('x'), '1:1', 'yuv420p', rate].join())
  if (source.levels) await checkLevels(joined, source.levels)
  else {
    // The last frames of what is cut off are half there.
    const isRight = (number: number | undefined, i: number) => Math.abs((number ?? -9) - shows[i]!) <= within
    const known = source.part ? numbers.slice(0, numbers.length - 25) : shows.map((_, i) => numbers[i])
    const wrong = known.flatMap((number, i) =>
      isRight(number, i) ? [] : [`${i}: ${number} for ${shows[i]}`],
    )
    assert.deepEqual(wrong, [])
    if (source.part)
      assert.ok(numbers.length > shows.length * (source.part - 0.15), `${numbers.length} frames`)
    else assert.equal(numbers.length, shows.length)
  }
  const [num = 0, den = 1] = rate.split('/').map(Number)
  const seconds = durationsIn(playlist).reduce((a, b) => a + b, 0)
  assert.ok(Math.abs(seconds - (numbers.length * den) / num) < 1e-4, `${seconds} s`)
  return seconds
}

async function checkLevels(path: string, wanted: number[]): Promise<void> {
  const [picture = []] = await readBrightness(path, `${wanted.length}x2`, splitArgs('-ss 2.5'))
  const isRight = picture.every((level, i) => Math.abs(level - wanted[i % wanted.length]!) <= 6)
  assert.ok(isRight, `levels ${picture} instead of ${wanted}`)
  const entries = 'stream=color_range,color_space,color_transfer,color_primaries'
  const [tags = ''] = await ffprobe(path, '-select_streams', 'v', '-show_entries', entries)
  assert.match(tags, /^(tv|unknown)(,(bt709|unknown)){3}$/)
}

async function checkSound(wanted: number, videoId: string, pictureSeconds: number): Promise<void> {
  const { joined } = await download(service.url, videoId, 'sound', folder)
  const { samples, warnings } = await readAudio(joined)
  assert.equal(warnings, '', 'the sound cannot be decoded without a complaint')
  const seconds = samples.length / sampleRate
  assert.ok(Math.abs(seconds - pictureSeconds) < 0.022, `${seconds} s of sound to ${pictureSeconds} s`)
  // In the second chunk, if there is one.
  const { hertz, level } = toneAt(samples, Math.min(2.5, seconds / 2))
  assert.ok(Math.abs(hertz - wanted) < 6 && level > 0.03, `${hertz} Hz, ${level}`)
}

test('a picture that changes its size in the middle goes on in the size it began with', async () => {
  const [small, large] = [join(folder, 'small.webm'), join(folder, 'large.webm')]
  await makeSource(small, [...lavfi(numberedFrames()), ...vp8])
  await makeSource(large, [...lavfi(numberedFrames({ size: '640x480' })), ...vp8])
  const list = join(folder, 'list.txt')
  await writeFile(list, `file ${small}\nfile ${large}\nfile ${small}\n`)
  const source: Source = {
    ...{ ...silent, file: 'sizes.webm', shows: frames(225, (i) => i % 75) },
    steps: [['-f', 'concat', '-safe', '0', '-i', list, '-c', 'copy']],
  }
  await check(source)
})
