import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { sharedKinora, temporaryFolder } from './harness.ts'
import { assertEncoded, download, ffmpeg, uploadVideo } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import { aac, lavfi, readAudio, readBrightness, sampleRate, splitArgs, x264 } from './sources.ts'

const service = sharedKinora(withoutThumbnails())
const frameSeconds = 1001 / 24_000
/** Frame numbers at the start, at the chunk boundaries (2 s, 6 s), in the middle and in the last second. */
const flashes = [5, 48, 144, 720, 1420]
const frames = 1439
let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const lum = `if(${flashes.map((n) => `between(N,${n},${n + 1})`).join('+')},235,16)`
  const video = `color=black:s=16x12:r=24000/1001:d=60,geq=lum='${lum}':cb=128:cr=128,scale=160:120`
  const times = flashes.map((n) => `between(t,${n * frameSeconds},${n * frameSeconds + 0.08})`)
  const audio = `aevalsrc='0.8*sin(2*PI*1000*t)*(${times.join('+')})':s=44100:d=60`
  const clip = ['-shortest', ...aac, join(folder, 'clip.mp4')]
  await ffmpeg(...lavfi(video), ...lavfi(audio), ...splitArgs('-frames:v 1439'), ...x264, ...clip)
  for (const name of ['clip.ts', 'clip.mkv'])
    await ffmpeg('-i', join(folder, 'clip.mp4'), '-c', 'copy', join(folder, name))
})

/** Finds the times at which the frames turn white. */
async function findFlashes(path: string): Promise<number[]> {
  const isBright = (await readBrightness(path, '1x1')).map(([level = 0]) => level > 128)
  return isBright.flatMap((is, i) => (is && !isBright[i - 1] ? [i * frameSeconds] : []))
}

/** Finds the times at which a tone starts after silence. */
async function findBeeps(path: string): Promise<number[]> {
  const { samples, warnings } = await readAudio(path)
  assert.equal(warnings, '')
  const found: number[] = []
  let lastHeard = Number.NEGATIVE_INFINITY
  for (const [i, sample] of samples.entries()) {
    if (Math.abs(sample) < 0.2) continue
    if (i - lastHeard > sampleRate / 4) found.push(i / sampleRate)
    lastHeard = i
  }
  return found
}

async function assertInSync(video: string, audio: string, firstFrame = 0): Promise<void> {
  const [flashTimes, beepTimes] = [await findFlashes(video), await findBeeps(audio)]
  assert.deepEqual(
    flashTimes.map((time) => Math.round(time / frameSeconds)),
    flashes.map((n) => n + firstFrame),
  )
  assert.equal(beepTimes.length, flashes.length, `beeps at ${beepTimes}`)
  const offsets = flashTimes.map((time, i) => beepTimes[i]! - time)
  const message = `offsets of ${offsets.map((seconds) => seconds.toFixed(4))} s`
  assert.ok(
    offsets.every((seconds) => Math.abs(seconds) < frameSeconds / 2),
    message,
  )
  // The offset does not grow over time.
  assert.ok(Math.max(...offsets) - Math.min(...offsets) < 0.004, message)
}

describe('audio and video stay in sync for a minute', { concurrency: false }, () => {
  for (const name of ['clip.mp4', 'clip.ts', 'clip.mkv'])
    test(`flashes and beeps of ${name} stay together`, async () => {
      const videoId = await uploadVideo(service, join(folder, name), { mp4Support: true })
      await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
      const video = await download(service.url, videoId, '240p', folder)
      const audio = await download(service.url, videoId, 'sound', folder)
      await assertInSync(video.joined, audio.joined)
      const mp4 = join(folder, `${videoId}.mp4`)
      const response = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
      await writeFile(mp4, Buffer.from(await response.arrayBuffer()))
      await assertInSync(mp4, mp4)
      const bright = await readBrightness(mp4, '1x1')
      assert.ok(Math.abs(bright.length - frames) <= 1, `${bright.length} frames`)
    })
})
