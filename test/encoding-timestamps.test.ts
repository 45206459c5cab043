import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { addHoursInFlv, flipHoursInTs, isVideoTag, tagsInFlv, timestampsInTs } from './damage-timestamps.ts'
import { openEncoder } from './encoder.ts'
import { kinora, type Service, temporaryFolder } from './harness.ts'
import { assertEncoded, download, ffmpeg, uploadVideo } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import {
  aac,
  lavfi,
  numberedFrames,
  readAudio,
  readFrameNumbers,
  splitArgs,
  toneAt,
  videoWithTone,
  x264,
} from './sources.ts'

// What a file claims may be hours; what it costs is decided by what it holds.

let folder: string
let service: Service
let encoder: Awaited<ReturnType<typeof openEncoder>>
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  encoder = await openEncoder(await temporaryFolder({ after() {} }))
  service = await kinora({ after: (end) => ends.push(end) }, withoutThumbnails())
})
after(async () => {
  for (const end of ends) await end()
})

/** 3 s at 25 frames a second with a tone, in this container, after these changes. */
async function damaged(name: string, change: (bytes: Buffer) => void): Promise<string> {
  const path = join(folder, name)
  await ffmpeg(...videoWithTone({ size: '160x120' }), ...x264, ...aac, path)
  const bytes = await readFile(path)
  change(bytes)
  await writeFile(path, bytes)
  return path
}

const made = async (name: string, ...args: string[]) => {
  const path = join(folder, name)
  await ffmpeg(...args, path)
  return path
}

/** From a third of the tags on. */
const shiftRest = (bytes: Buffer) => {
  const tags = tagsInFlv(bytes)
  for (const tag of tags.slice(tags.length / 3)) addHoursInFlv(bytes, tag)
}

describe('a file with damaged timestamps plays as if they were not', { concurrency: 2 }, () => {
  const cases: Record<string, () => Promise<string>> = {
    'a transport stream with one presentation time that is 6.6 hours late': () =>
      damaged('one.ts', (bytes) => flipHoursInTs(bytes, timestampsInTs(bytes)[40]!.pts)),
    'a transport stream whose last presentation time is 6.6 hours late': () =>
      damaged('last.ts', (bytes) => flipHoursInTs(bytes, timestampsInTs(bytes).at(-1)!.pts)),
    'an FLV with one tag that is 2.3 hours late': () =>
      damaged('one.flv', (bytes) => {
        const pictures = tagsInFlv(bytes).filter((tag) => isVideoTag(bytes, tag))
        addHoursInFlv(bytes, pictures[40]!)
      }),
    'an FLV that goes on after 2.3 hours': () => damaged('rest.flv', shiftRest),
    'an MKV with a pause of 2.3 hours in picture and sound': async () =>
      made('rest.mkv', '-i', await damaged('pause.flv', shiftRest), '-c', 'copy'),
    'an MP4 with a pause of 2.3 hours in picture and sound': async () =>
      made('rest.mp4', '-i', await damaged('gap.flv', shiftRest), '-c', 'copy'),
  }
  for (const [title, make] of Object.entries(cases))
    test(title, async () => {
      const videoId = await uploadVideo(service, await make(), { mp4Support: false })
      await assertEncoded(service, videoId, ['hls 240p'])
      const { joined } = await download(service.url, videoId, '240p', folder)
      const { numbers } = await readFrameNumbers(joined)
      assert.ok(Math.abs(numbers.length - 75) <= 2, `${numbers.length} frames`)
      // Around the damage a frame may be missing, another be shown for longer.
      const wrong = numbers.filter((number, i) => Math.abs(number - i) > 2)
      assert.ok(wrong.length <= 3, `${numbers}`)
      const sound = await download(service.url, videoId, 'sound', folder)
      const { samples } = await readAudio(sound.joined)
      for (const seconds of [0.5, 1.5, 2.5])
        assert.ok(Math.abs(toneAt(samples, seconds).hertz - 440) < 10, `the tone at ${seconds} s`)
    })
})

describe('what is encoded is in proportion to what the file holds', { concurrency: 2 }, () => {
  const x264Passthrough = splitArgs('-fps_mode passthrough -c:v libx264 -preset ultrafast')
  const plan = async (path: string) => (await encoder.plan(path.replaceAll(/\W/g, ''), path)).plan
  const secondsOf = ({ frames, rate }: { frames: number; rate: { num: number; den: number } }) =>
    (frames * rate.den) / rate.num

  test('two frames that are 20 hours apart are shown one after the other', async () => {
    for (const name of ['far.mp4', 'far.mkv']) {
      const far = lavfi('color=s=64x48:r=25:d=1,setpts=N*72000/TB')
      const { frames } = await plan(await made(name, ...far, '-frames:v', '2', ...x264Passthrough))
      assert.ok(frames <= 50, `${frames} frames of ${name}`)
    }
  })

  test('a file whose times jump all the time is not encoded', async () => {
    const jumps = lavfi('color=s=64x48:r=25:d=28,setpts=N*70/TB')
    await assert.rejects(
      plan(await made('jumps.mkv', ...jumps, ...x264Passthrough)),
      /^Unreadable: The file claims to last 14 hours, but holds only 700 frames\.$/,
    )
  })

  test('slides of half a minute each, without sound, keep their times', async () => {
    const slides = lavfi('testsrc2=s=64x48:r=1/30:d=600')
    const made600 = await plan(await made('slides.mp4', ...slides, ...x264Passthrough))
    assert.deepEqual(made600.rate, { num: 1, den: 1 })
    assert.ok(Math.abs(secondsOf(made600) - 600) <= 30, `${secondsOf(made600)} s`)
  })

  test('a recorded screen that does not move for ten minutes keeps its times and its rate', async () => {
    const idle = "setpts='if(gt(N,125),PTS+600/TB,PTS)'"
    const screen = lavfi(`${numberedFrames({ size: '64x48', seconds: 10 })},${idle}`)
    const sound = lavfi('sine=d=610:r=8000')
    const path = await made(
      'screen.mkv',
      ...screen,
      ...sound,
      ...x264Passthrough,
      ...splitArgs('-c:a aac -b:a 16k'),
    )
    const made610 = await plan(path)
    assert.ok(Math.abs(secondsOf(made610) - 610) < 1)
    // Of 250 frames, each may be shown 60 times.
    assert.deepEqual(made610.rate, { num: 24, den: 1 })
  })

  test('an hour of sound over one picture is shown at one frame a second', async () => {
    const cover = lavfi('color=s=64x48:r=25:d=0.04')
    const sound = lavfi('sine=d=3600:r=8000')
    const path = await made(
      'cover.mkv',
      ...cover,
      ...sound,
      ...splitArgs('-c:v libx264 -c:a libmp3lame -b:a 8k'),
    )
    const made3600 = await plan(path)
    assert.ok(Math.abs(made3600.frames - 3_600) <= 2, `${made3600.frames}`)
  })
})
