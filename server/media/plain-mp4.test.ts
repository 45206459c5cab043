import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { run } from '../lib/run.ts'
import { probeMp4 } from './extent.ts'
import { readMp4Index } from './mp4-index.ts'
import { readPlainMp4 } from './plain-mp4.ts'

const programs = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plain-mp4-'))
})

after(() => rm(folder, { recursive: true, force: true }))

type Recipe = {
  size?: string
  rate?: string
  audio?: string[]
  video?: string[]
  output?: string[]
  name?: string
}

async function make({ size = '128x72', rate = '25', ...recipe }: Recipe): Promise<string> {
  const path = join(folder, recipe.name ?? 'source.mp4')
  const { audio = ['-c:a', 'aac', '-ac', '2'], video = ['-bf', '2'], output = [] } = recipe
  await run('ffmpeg', [
    ...['-y', '-v', 'error', '-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${rate}:d=3.2`],
    ...[
      '-f',
      'lavfi',
      '-i',
      'sine=r=48000:d=3',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-pix_fmt',
      'yuv420p',
    ],
    ...[...video, ...audio, ...output, path],
  ])
  return path
}

async function readPlain(path: string) {
  const bytes = await readFile(path)
  const tracks = await readMp4Index(async (from, size) => bytes.subarray(from, from + size), bytes.length)
  return tracks && readPlainMp4(tracks, bytes.length)
}

const plain: Record<string, Recipe> = {
  'with B-frames and stereo AAC': {},
  'without B-frames': { video: ['-bf', '0'] },
  'with B-frames that others refer to': { video: ['-preset', 'medium', '-bf', '5', '-b_strategy', '2'] },
  'with the index in front': { output: ['-movflags', '+faststart'] },
  'of QuickTime': { name: 'source.mov' },
  'at 29.97 frames per second': { rate: '30000/1001' },
  'at 23.976 frames per second, written as 2997/125': { rate: '2997/125' },
  'at 50 frames per second': { rate: '50' },
  'at 120 frames per second': { rate: '120' },
  'at 12 frames per second': { rate: '12' },
  'with a cropped picture': { size: '130x74' },
  'without audio': { audio: ['-an'] },
  'with audio of 44.1 kHz': { audio: ['-c:a', 'aac', '-ac', '2', '-ar', '44100'] },
  'with the colors of HD': {
    video: ['-colorspace', 'bt709', '-color_trc', 'bt709', '-color_primaries', 'bt709'],
  },
  'with the colors of SD': { video: ['-colorspace', 'smpte170m', '-color_trc', 'smpte170m'] },
  'with audio that starts later': { audio: ['-c:a', 'aac', '-ac', '2', '-af', 'asetpts=PTS+0.4/TB'] },
}

for (const [name, recipe] of Object.entries(plain))
  test(`the index of a file ${name} says what ffprobe says`, async () => {
    const path = await make(recipe)
    const [found, expected] = [await readPlain(path), await probeMp4(programs, path)]
    assert.ok(found && expected)
    const { durationSeconds, bitrateKbps, ...media } = found.media
    assert.deepEqual(media, (({ durationSeconds, bitrateKbps, ...rest }) => rest)(expected.media))
    assert.ok(Math.abs(durationSeconds! - expected.media.durationSeconds!) < 0.03, `${durationSeconds}`)
    assert.ok(Math.abs(bitrateKbps! / expected.media.bitrateKbps! - 1) < 0.02, `${bitrateKbps}`)
    for (const key of ['videoStartSeconds', 'videoEndSeconds', 'audioEndSeconds'] as const)
      assert.ok(
        // ffprobe counts the last AAC frame of a stream that starts later as a whole.
        Math.abs((found.extent[key] ?? 0) - (expected.extent[key] ?? 0)) <
          (key === 'audioEndSeconds' ? 0.022 : 0.001),
        `${key}: ${found.extent[key]} instead of ${expected.extent[key]}`,
      )
    assert.equal(found.extent.isSeekable, expected.extent.isSeekable)
  })

const unusual: Record<string, Recipe> = {
  'interlaced video': { video: ['-flags', '+ildct+ilme', '-x264-params', 'tff=1'] },
  'a variable frame rate': { output: ['-vf', "select='not(eq(n,7))'", '-fps_mode', 'vfr'] },
  'other pixels than square ones': { output: ['-vf', 'setsar=4/3'] },
  'a high dynamic range': {
    video: ['-colorspace', 'bt2020nc', '-color_trc', 'smpte2084', '-color_primaries', 'bt2020'],
  },
  'mono audio': { audio: ['-c:a', 'aac', '-ac', '1'] },
  'other audio': { audio: ['-c:a', 'ac3'] },
  'two audio tracks': { audio: ['-map', '0:v', '-map', '1:a', '-map', '1:a', '-c:a', 'aac', '-ac', '2'] },
  'MPEG-4 video': { video: ['-c:v', 'mpeg4'] },
  fragments: { output: ['-movflags', 'frag_keyframe+empty_moov'] },
  'video that starts later': { output: ['-vf', 'setpts=PTS+0.5/TB'] },
  'no video': { video: ['-vn'] },
}

for (const [name, recipe] of Object.entries(unusual))
  test(`a file with ${name} is left to ffprobe`, async () => {
    assert.equal(await readPlain(await make(recipe)), undefined)
  })

test('a rotated file is left to ffprobe', async () => {
  const path = await make({})
  const rotated = join(folder, 'rotated.mp4')
  await run('ffmpeg', ['-y', '-v', 'error', '-i', path, '-c', 'copy', '-metadata:s:v', 'rotate=90', rotated])
  assert.equal(await readPlain(rotated), undefined)
})
