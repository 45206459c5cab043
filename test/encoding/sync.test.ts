import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { sharedKinora, temporaryFolder } from '../support/harness.ts'
import { download, ffmpeg } from '../support/media/media.ts'
import { aac, lavfi, sampleRate, splitArgs, x264 } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, uploadVideo } from '../support/videos.ts'

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

/** Decodes several pairs of files in one run of ffmpeg: the video to a few pixels per frame, the audio to one channel. */
async function decodePairs(pairs: { video: string; audio: string }[]) {
  const pixels = splitArgs('-fps_mode passthrough -vf scale=4:3:flags=area,format=yuv444p -f rawvideo')
  const mono = splitArgs(`-ac 1 -ar ${sampleRate} -f f32le`)
  const warnings = await ffmpeg(
    ...pairs.flatMap(({ video, audio }) => ['-i', video, '-i', audio]),
    ...pairs.flatMap(({ video, audio }, i) => [
      ...['-map', `${2 * i}:v`, ...pixels, `${video}.pixels`],
      ...['-map', `${2 * i + 1}:a`, ...mono, `${audio}.samples`],
    ]),
  )
  assert.equal(warnings, '')
  return Promise.all(
    pairs.map(async ({ video, audio }) => ({
      // The first byte of each frame is the luma of its first pixel. All pixels are the same.
      levels: (await readFile(`${video}.pixels`)).filter((_, i) => i % (3 * 12) === 0),
      samples: new Float32Array(new Uint8Array(await readFile(`${audio}.samples`)).buffer),
    })),
  )
}

/** Finds the frames that turn white. */
const findFlashes = (levels: Uint8Array) =>
  [...levels].flatMap((level, i) => (level > 128 && !(levels[i - 1]! > 128) ? [i] : []))

/** Finds the times at which a tone starts after silence. */
function findBeeps(samples: Float32Array): number[] {
  const found: number[] = []
  let lastHeard = Number.NEGATIVE_INFINITY
  for (let i = 0; i < samples.length; i++) {
    if (Math.abs(samples[i]!) < 0.2) continue
    if (i - lastHeard > sampleRate / 4) found.push(i / sampleRate)
    lastHeard = i
  }
  return found
}

function assertInSync({ levels, samples }: { levels: Uint8Array; samples: Float32Array }): void {
  assert.deepEqual(findFlashes(levels), flashes)
  const beepTimes = findBeeps(samples)
  assert.equal(beepTimes.length, flashes.length, `beeps at ${beepTimes}`)
  const offsets = flashes.map((frame, i) => beepTimes[i]! - frame * frameSeconds)
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
      const mp4 = join(folder, `${videoId}.mp4`)
      const response = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
      await writeFile(mp4, Buffer.from(await response.arrayBuffer()))
      const decoded = await decodePairs([
        { video: video.joined, audio: audio.joined },
        { video: mp4, audio: mp4 },
      ])
      for (const each of decoded) assertInSync(each)
      const { length } = decoded[1]!.levels
      assert.ok(Math.abs(length - frames) <= 1, `${length} frames`)
    })
})
