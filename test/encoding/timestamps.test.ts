import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { kinora, type Service, temporaryFolder } from '../support/harness.ts'
import { openChunkEncoder } from '../support/media/chunk-encoder.ts'
import {
  addHoursInFlv,
  flipHoursInTs,
  isVideoTag,
  tagsInFlv,
  timestampsInTs,
} from '../support/media/damage-timestamps.ts'
import { download, ffmpeg } from '../support/media/media.ts'
import {
  aac,
  decodeMedia,
  lavfi,
  numberedFrames,
  splitArgs,
  toneAt,
  videoWithTone,
  x264,
} from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, uploadVideo } from '../support/videos.ts'

// A file may claim a duration of hours. The cost of its encoding depends on the frames that it contains.

let folder: string
let service: Service
let encoder: Awaited<ReturnType<typeof openChunkEncoder>>
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const encoded = [...x264, ...aac, ...splitArgs('-map 0 -map 1')]
  const outputs = ['ts', 'flv'].flatMap((format) => [...encoded, join(folder, `intact.${format}`)])
  await ffmpeg(...videoWithTone(), ...outputs)
  encoder = await openChunkEncoder(await temporaryFolder({ after() {} }))
  service = await kinora({ after: (end) => ends.push(end) }, withoutThumbnails())
})
after(async () => {
  for (const end of ends) await end()
})

/** Copies 3 s of video with a tone at 25 fps, and damages the copy with `change`. */
async function makeDamaged(name: string, change: (bytes: Buffer) => void): Promise<string> {
  const path = join(folder, name)
  const bytes = await readFile(join(folder, `intact${extname(name)}`))
  change(bytes)
  await writeFile(path, bytes)
  return path
}

const make = async (name: string, ...args: string[]) => {
  const path = join(folder, name)
  await ffmpeg(...args, path)
  return path
}

/** Shifts the last two thirds of the tags. */
const shiftRest = (bytes: Buffer) => {
  const tags = tagsInFlv(bytes)
  for (const tag of tags.slice(tags.length / 3)) addHoursInFlv(bytes, tag)
}

describe('a file with damaged timestamps plays in its real duration', { concurrency: 2 }, () => {
  const cases: Record<string, () => Promise<string>> = {
    'a transport stream with one presentation timestamp 6.6 hours late': () =>
      makeDamaged('one.ts', (bytes) => flipHoursInTs(bytes, timestampsInTs(bytes)[40]!.pts)),
    'a transport stream with its last presentation timestamp 6.6 hours late': () =>
      makeDamaged('last.ts', (bytes) => flipHoursInTs(bytes, timestampsInTs(bytes).at(-1)!.pts)),
    'an FLV with one tag 2.3 hours late': () =>
      makeDamaged('one.flv', (bytes) => {
        const videoTags = tagsInFlv(bytes).filter((tag) => isVideoTag(bytes, tag))
        addHoursInFlv(bytes, videoTags[40]!)
      }),
    'an FLV with a gap of 2.3 hours': () => makeDamaged('rest.flv', shiftRest),
    'an MKV with a gap of 2.3 hours in video and audio': async () =>
      make('rest.mkv', '-i', await makeDamaged('pause.flv', shiftRest), '-c', 'copy'),
    'an MP4 with a gap of 2.3 hours in video and audio': async () =>
      make('rest.mp4', '-i', await makeDamaged('gap.flv', shiftRest), '-c', 'copy'),
  }
  for (const [source, makeSource] of Object.entries(cases))
    test(`${source} plays`, async () => {
      const videoId = await uploadVideo(service, await makeSource(), { mp4Support: false })
      await assertEncoded(service, videoId, ['hls 240p'])
      const { joined } = await download(service.url, videoId, '240p', folder)
      const sound = await download(service.url, videoId, 'sound', folder)
      const { numbers, samples } = await decodeMedia(joined, sound.joined)
      assert.ok(Math.abs(numbers.length - 75) <= 2, `${numbers.length} frames`)
      // Near the damage, a frame may be missing and another may be shown longer.
      const wrong = numbers.filter((number, i) => Math.abs(number - i) > 2)
      assert.ok(wrong.length <= 3, `${numbers}`)
      for (const seconds of [0.5, 1.5, 2.5])
        assert.ok(Math.abs(toneAt(samples, seconds).hertz - 440) < 10, `the tone at ${seconds} s`)
    })
})

describe('the number of encoded frames is in proportion to the frames of the file', {
  concurrency: 2,
}, () => {
  const x264Passthrough = splitArgs('-fps_mode passthrough -c:v libx264 -preset ultrafast')
  /** Compressed losslessly, because this takes an eighth of the time. */
  const silence = (seconds: number) => [
    ...lavfi(`anullsrc=r=8000:cl=mono:n=4096:d=${seconds}`),
    ...splitArgs('-c:a flac'),
  ]
  const plan = async (path: string) => (await encoder.plan(path.replaceAll(/\W/g, ''), path)).plan
  const secondsOf = ({ frames, rate }: { frames: number; rate: { num: number; den: number } }) =>
    (frames * rate.den) / rate.num

  test('two frames 20 hours apart are shown one after the other', async () => {
    for (const name of ['far.mp4', 'far.mkv']) {
      const far = lavfi('color=s=64x48:r=25:d=1,setpts=N*72000/TB')
      const { frames } = await plan(await make(name, ...far, '-frames:v', '2', ...x264Passthrough))
      assert.ok(frames <= 50, `${frames} frames of ${name}`)
    }
  })

  test('a file whose timestamps jump at every frame is rejected', async () => {
    const jumps = lavfi('color=s=64x48:r=25:d=28,setpts=N*70/TB')
    await assert.rejects(
      plan(await make('jumps.mkv', ...jumps, ...x264Passthrough)),
      /^Unreadable: The file states a duration of 14 hours, but contains only 700 frames\.$/,
    )
  })

  test('a slide show without audio keeps its timestamps', async () => {
    const slides = lavfi('testsrc2=s=64x48:r=1/30:d=600')
    const slideShow = await plan(await make('slides.mp4', ...slides, ...x264Passthrough))
    assert.deepEqual(slideShow.rate, { num: 1, den: 1 })
    assert.ok(Math.abs(secondsOf(slideShow) - 600) <= 30, `${secondsOf(slideShow)} s`)
  })

  test('a screen recording that is still for ten minutes keeps its timestamps and frame rate', async () => {
    const idle = "setpts='if(gt(N,125),PTS+600/TB,PTS)'"
    const screen = lavfi(`${numberedFrames({ size: '64x48', seconds: 10 })},${idle}`)
    const path = await make('screen.mkv', ...screen, ...silence(610), ...x264Passthrough)
    const recording = await plan(path)
    assert.ok(Math.abs(secondsOf(recording) - 610) < 1)
    // The limit is 60 output frames for each of the 250 frames.
    assert.deepEqual(recording.rate, { num: 24, den: 1 })
  })

  test('an hour of audio over one image is encoded at one frame per second', async () => {
    const cover = lavfi('color=s=64x48:r=25:d=0.04')
    const path = await make('cover.mkv', ...cover, ...silence(3600), ...splitArgs('-c:v libx264'))
    const song = await plan(path)
    assert.ok(Math.abs(song.frames - 3_600) <= 2, `${song.frames}`)
  })
})
