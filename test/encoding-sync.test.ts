import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { sharedKinora, temporaryFolder } from './harness.ts'
import { assertEncoded, download, ffmpeg, uploadVideo } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import { lavfi, readAudio, readBrightness, sampleRate, splitArgs, x264 } from './sources.ts'

const service = sharedKinora(withoutThumbnails())
const frameSeconds = 1001 / 24_000
/** The start, where chunks meet (2 s, 6 s), the middle, the last second. */
const flashes = [5, 48, 144, 720, 1420]
const frames = 1439
let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const lum = `if(${flashes.map((n) => `between(N,${n},${n + 1})`).join('+')},235,16)`
  const picture = `color=black:s=16x12:r=24000/1001:d=60,geq=lum='${lum}':cb=128:cr=128,scale=160:120`
  const times = flashes.map((n) => `between(t,${n * frameSeconds},${n * frameSeconds + 0.08})`)
  const sound = `aevalsrc='0.8*sin(2*PI*1000*t)*(${times.join('+')})':s=44100:d=60`
  const clip = ['-shortest', '-c:a', 'aac', join(folder, 'clip.mp4')]
  await ffmpeg(...lavfi(picture), ...lavfi(sound), ...splitArgs('-frames:v 1439'), ...x264, ...clip)
  for (const name of ['clip.ts', 'clip.mkv'])
    await ffmpeg('-i', join(folder, 'clip.mp4'), '-c', 'copy', join(folder, name))
})

/** When the picture turns white. */
async function findFlashes(path: string): Promise<number[]> {
  const isBright = (await readBrightness(path, '1x1')).map(([level = 0]) => level > 128)
  return isBright.flatMap((is, i) => (is && !isBright[i - 1] ? [i * frameSeconds] : []))
}

/** When a tone begins after silence. */
async function findBeeps(path: string): Promise<number[]> {
  const { samples, warnings } = await readAudio(path)
  assert.equal(warnings, '')
  const found: number[] = []
  let heard = Number.NEGATIVE_INFINITY
  for (const [i, sample] of samples.entries()) {
    if (Math.abs(sample) < 0.2) continue
    if (i - heard > sampleRate / 4) found.push(i / sampleRate)
    heard = i
  }
  return found
}

async function assertTogether(picture: string, sound: string, firstFrame = 0): Promise<void> {
  const [flashed, beeped] = [await findFlashes(picture), await findBeeps(sound)]
  assert.deepEqual(
    flashed.map((time) => Math.round(time / frameSeconds)),
    flashes.map((n) => n + firstFrame),
  )
  assert.equal(beeped.length, flashes.length, `beeps at ${beeped}`)
  const apart = flashed.map((time, i) => beeped[i]! - time)
  const shown = `apart by ${apart.map((seconds) => seconds.toFixed(4))} s`
  assert.ok(
    apart.every((seconds) => Math.abs(seconds) < frameSeconds / 2),
    shown,
  )
  // Whatever it is at the start, it does not grow.
  assert.ok(Math.max(...apart) - Math.min(...apart) < 0.004, shown)
}

describe('flash and beep stay together for a minute', { concurrency: false }, () => {
  for (const name of ['clip.mp4', 'clip.ts', 'clip.mkv'])
    test(name, async () => {
      const videoId = await uploadVideo(service, join(folder, name), { mp4Support: true })
      await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
      const picture = await download(service.url, videoId, '240p', folder)
      const sound = await download(service.url, videoId, 'sound', folder)
      await assertTogether(picture.joined, sound.joined)
      const mp4 = join(folder, `${videoId}.mp4`)
      const response = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
      await writeFile(mp4, Buffer.from(await response.arrayBuffer()))
      await assertTogether(mp4, mp4)
      const bright = await readBrightness(mp4, '1x1')
      assert.ok(Math.abs(bright.length - frames) <= 1, `${bright.length} frames`)
    })
})
