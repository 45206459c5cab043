import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { run } from '../lib/run.ts'
import { chooseRate } from './frame-rate.ts'
import { probe, type SourceMedia } from './probe.ts'

const tools = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
let folder: string

/** The files of all tests. One run of ffmpeg makes them, because its start takes longer than the work. */
const fixtures: { name: string; inputs: string[]; options: string[] }[] = []

const at = (name: string) => path.join(folder, name)
const ffmpeg = (...args: string[]) =>
  run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args], { cwd: folder })

/** Registers a file that contains a stream of each input, which is a graph of lavfi. */
function fixture(name: string, inputs: string[], ...options: string[]): string {
  fixtures.push({ name, inputs, options })
  return name
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-probe-'))
  const graphs = [...new Set(fixtures.flatMap(({ inputs }) => inputs))]
  await ffmpeg(
    ...graphs.flatMap((graph) => ['-f', 'lavfi', '-i', graph]),
    ...fixtures.flatMap(({ name, inputs, options }) => [
      ...inputs.flatMap((graph) => ['-map', String(graphs.indexOf(graph))]),
      ...options,
      name,
    ]),
  )
})
after(() => rm(folder, { recursive: true, force: true }))

const PICTURE = 'testsrc2=s=160x120:r=25:d=1'
const SOUND = 'sine=d=1:r=48000'
const X264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']

type Expected = Partial<Omit<SourceMedia, 'picture' | 'sound'>> & {
  picture?: object | undefined
  sound?: object | undefined
}

function isRead(title: string, name: string, inputs: string[], options: string[], expected: Expected): void {
  fixture(name, inputs, ...options)
  test(title, async () => {
    const media = await probe(tools, at(name))
    assert.partialDeepStrictEqual(media, expected)
    for (const kind of ['picture', 'sound'] as const)
      if (kind in expected && !expected[kind]) assert.equal(media[kind], undefined)
  })
}

describe('the probe reads codecs and containers', { concurrency: 2 }, () => {
  const size = { width: 160, height: 120, rate: { num: 25, den: 1 } }
  const both = [PICTURE, SOUND]
  isRead('H.264 and AAC in mp4', 'a.mp4', both, [...X264, '-c:a', 'aac'], {
    container: 'mov',
    durationSeconds: 1,
    picture: { ...size, codec: 'h264', isInterlaced: false, dynamicRange: 'sdr', sourceRate: 25 },
    sound: { codec: 'aac', sampleRate: 48_000, channels: 1, index: 1 },
  })
  isRead('HEVC of 10 bits in mkv', 'b.mkv', [PICTURE], ['-c:v', 'libx265', '-pix_fmt', 'yuv420p10le'], {
    container: 'matroska',
    picture: { ...size, codec: 'hevc' },
    sound: undefined,
  })
  isRead('VP8 in webm', 'c.webm', both, ['-c:v', 'libvpx', '-c:a', 'libopus'], {
    container: 'matroska',
    picture: { ...size, codec: 'vp8' },
    sound: { codec: 'opus', sampleRate: 48_000 },
  })
  isRead(
    'VP9 in webm',
    'd.webm',
    [PICTURE],
    ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'],
    {
      picture: { ...size, codec: 'vp9' },
    },
  )
  isRead('AV1 in mp4', 'e.mp4', [PICTURE], ['-c:v', 'libsvtav1', '-preset', '12', '-pix_fmt', 'yuv420p'], {
    picture: { ...size, codec: 'av1' },
  })
  isRead('MPEG-4 and MP3 in avi', 'f.avi', both, ['-c:v', 'mpeg4', '-c:a', 'libmp3lame'], {
    container: 'avi',
    picture: { ...size, codec: 'mpeg4' },
    sound: { codec: 'mp3', sampleRate: 48_000, channels: 1 },
  })
  isRead('ProRes 4:2:2 and PCM in mov', 'g.mov', both, ['-c:v', 'prores', '-c:a', 'pcm_s16le'], {
    picture: { ...size, codec: 'prores' },
    sound: { codec: 'pcm_s16le', sampleRate: 48_000, channels: 1 },
  })
  isRead('MJPEG in mov', 'h.mov', [PICTURE], ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p'], {
    picture: { ...size, codec: 'mjpeg' },
  })
  isRead('Theora in ogg', 'i.ogv', both, ['-c:v', 'libtheora', '-c:a', 'flac'], {
    container: 'ogg',
    picture: { ...size, codec: 'theora' },
    sound: { codec: 'flac', sampleRate: 48_000, channels: 1 },
  })
  isRead('MPEG-2 in a transport stream', 'j.ts', both, ['-c:v', 'mpeg2video', '-c:a', 'mp2'], {
    container: 'mpegts',
    picture: { ...size, codec: 'mpeg2video' },
    sound: { codec: 'mp2', sampleRate: 48_000, channels: 1 },
  })
  isRead('H.264 in flv', 'k.flv', both, [...X264, '-c:a', 'aac'], {
    container: 'flv',
    picture: { ...size, codec: 'h264' },
  })
  for (const [name, codec] of [
    ['l.mp3', 'mp3'],
    ['l.m4a', 'aac'],
    ['l.wav', 'pcm_s16le'],
    ['l.flac', 'flac'],
  ] as const)
    isRead(`audio only: ${name.slice(2)}`, name, [SOUND], [], {
      picture: undefined,
      sound: { codec, sampleRate: 48_000, channels: 1 },
    })
})

describe('the probe reads video streams', { concurrency: 2 }, () => {
  const source = (spec: string) => [`testsrc2=${spec}`]
  for (const [sourceRate, num, den] of [
    ['24000/1001', 24_000, 1001],
    ['30000/1001', 30_000, 1001],
    ['60000/1001', 60_000, 1001],
    ['24', 24, 1],
    ['50', 50, 1],
    ['25/2', 25, 2],
    ['18', 18, 1],
    ['120', 60, 1],
    ['120000/1001', 60_000, 1001],
    ['144', 48, 1],
  ] as const)
    for (const container of ['mp4', 'mkv'])
      isRead(
        `${sourceRate} frames a second in ${container} become ${num}/${den}`,
        `r${sourceRate.replace('/', '-')}.${container}`,
        source(`s=64x48:d=1:r=${sourceRate}`),
        [...X264, '-r', sourceRate],
        { picture: { rate: { num, den } } },
      )
  const gaps = "select='not(eq(mod(n,7),3))'"
  isRead('30 frames a second with gaps', 'vfr.mkv', source('s=64x48:r=30:d=2'), [...X264, '-vf', gaps], {
    picture: { rate: { num: 30, den: 1 } },
  })
  isRead('a single frame', 'one.mkv', source('s=64x48:r=25:d=1'), [...X264, '-frames:v', '1'], {
    picture: { width: 64, rate: { num: 25, den: 1 } },
  })
  isRead('odd sizes', 'odd.mkv', [PICTURE], ['-vf', 'scale=161:99,setsar=1', '-c:v', 'ffv1'], {
    picture: { width: 161, height: 99 },
  })
  isRead('pixels that are not square', 'sar.mp4', source('s=180x144:d=1'), [...X264, '-vf', 'setsar=64/45'], {
    picture: { width: 256, height: 144 },
  })
  isRead(
    'an interlaced transport stream keeps its frame rate',
    'tff.ts',
    [PICTURE],
    [...X264, '-x264-params', 'tff=1'],
    {
      picture: { isInterlaced: true, rate: { num: 25, den: 1 } },
    },
  )
  isRead('PQ', 'pq.mp4', [PICTURE], [...X264, '-x264-params', 'transfer=smpte2084'], {
    picture: { dynamicRange: 'pq' },
  })
  isRead('HLG', 'hlg.mp4', [PICTURE], [...X264, '-x264-params', 'transfer=arib-std-b67'], {
    picture: { dynamicRange: 'hlg' },
  })

  test('the peak is read from the container for PQ, not for HLG', async () => {
    const box = Buffer.alloc(12)
    box.writeUInt32BE(12)
    box.write('clli', 4, 'latin1')
    box.writeUInt16BE(1_234, 8)
    box.writeUInt16BE(400, 10)
    for (const [transfer, plain, peakNits] of [
      ['smpte2084', 'pq.mp4', 1_234],
      ['arib-std-b67', 'hlg.mp4', undefined],
    ] as const) {
      const file = at(`${transfer}.mp4`)
      await writeFile(file, addToSampleEntry(await readFile(at(plain)), box))
      assert.equal((await probe(tools, file)).picture?.peakNits, peakNits)
      await ffmpeg('-i', file, '-c', 'copy', `${transfer}.mkv`)
      assert.equal((await probe(tools, at(`${transfer}.mkv`))).picture?.peakNits, peakNits)
    }
  })

  fixture('side.mp4', [PICTURE], ...X264)
  test('a rotated video has its displayed size', async () => {
    const file = at('side.mp4')
    const bytes = await readFile(file)
    const matrix = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000]
    for (const [i, word] of matrix.entries()) bytes.writeInt32BE(word, bytes.indexOf('tkhd') + 44 + 4 * i)
    await writeFile(file, bytes)
    assert.partialDeepStrictEqual((await probe(tools, file)).picture, { width: 120, height: 160 })
  })

  fixture('tag.mkv', [PICTURE], ...X264, '-metadata:s:v', 'rotate=90')
  test('a rotate tag has no effect, because ffmpeg ignores it', async () => {
    assert.partialDeepStrictEqual((await probe(tools, at('tag.mkv'))).picture, { width: 160, height: 120 })
    await ffmpeg('-i', 'tag.mkv', '-frames:v', '1', 'tag.png')
    assert.equal((await readFile(at('tag.png'))).readUInt32BE(16), 160)
  })
})

/** Inserts a box after `avcC`. The index is at the end of the file, so its offsets stay valid. */
function addToSampleEntry(bytes: Buffer, box: Buffer): Buffer {
  const avcC = bytes.lastIndexOf('avcC') - 4
  const at = avcC + bytes.readUInt32BE(avcC)
  for (const name of ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd', 'avc1']) {
    const start = bytes.lastIndexOf(name, avcC) - 4
    bytes.writeUInt32BE(bytes.readUInt32BE(start) + box.length, start)
  }
  return Buffer.concat([bytes.subarray(0, at), box, bytes.subarray(at)])
}

describe('the probe chooses one stream of each kind', { concurrency: 2 }, () => {
  const two = [PICTURE, SOUND, 'sine=d=1:r=44100']
  isRead('the first of two audio streams', 'two.mkv', two, [...X264, '-disposition:a', '0'], {
    sound: { index: 1 },
  })
  isRead(
    'the audio stream that is marked as default',
    'default.mkv',
    two,
    [...X264, '-disposition:a:0', '0', '-disposition:a:1', 'default'],
    { sound: { index: 2, sampleRate: 44_100 } },
  )
  isRead('5.1 audio', 'six.mp4', [SOUND], ['-af', 'pan=5.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0'], {
    sound: { channels: 6, codec: 'aac', index: 0, sampleRate: 48_000 },
  })
  const cover = ['-frames:v', '1', '-c:v', 'png', '-disposition:v', 'attached_pic']
  isRead('cover art is not a video stream', 'cover.mp3', [SOUND, PICTURE], cover, {
    picture: undefined,
    sound: { codec: 'mp3', index: 0, sampleRate: 48_000, channels: 1 },
  })
  isRead(
    'the video stream next to cover art',
    'cover.mp4',
    [PICTURE, PICTURE],
    [...['-c:v:0', 'libx264', '-c:v:1', 'png', '-frames:v:1', '1', '-disposition:v:1', 'attached_pic']],
    { picture: { codec: 'h264' } },
  )
})

test('the frame rate is chosen from the nominal and the average rate', () => {
  const rate = (r: string, average: string) => {
    const read = (text: string) => {
      const [num, den] = text.split('/').map(Number)
      return num && den ? { num, den } : undefined
    }
    const { num, den } = chooseRate(read(r), read(average))
    return `${num}/${den}`
  }
  const cases: [r: string, average: string, chosen: string][] = [
    ['1000/1', '0/0', '30/1'],
    ['0/0', '0/0', '30/1'],
    ['90000/1', '90000/1', '30/1'],
    ['1000/1', '2994/100', '30000/1001'],
    ['30/1', '0/0', '30/1'],
    ['50/1', '25/1', '25/1'],
    ['60000/1001', '30000/1001', '30000/1001'],
    ['2997/100', '2997/100', '30000/1001'],
    ['30/1', '1798200/60000', '30000/1001'],
    ['25/1', '960000/38549', '25/1'],
    ['1000/1', '273/10', '30000/1001'],
    ['1000/1', '51/10', '5/1'],
    // A screen recording at 30 with skipped frames, one with few frames, and fields.
    ['30/1', '109/7', '30/1'],
    ['60/1', '22/1', '60/1'],
    ['30/1', '2/1', '2/1'],
    ['60/1', '2998/100', '30000/1001'],
    ['1000/1', '1/10', '1/1'],
    ['1/10', '1/10', '1/1'],
    ['240/1', '240/1', '60/1'],
    ['100/1', '100/1', '50/1'],
    ['120/1', '113/1', '60000/1001'],
    ['6002/100', '6002/100', '60/1'],
    ['9007199254740991/9007199254740990', '9007199254740991/9007199254740990', '1/1'],
    ['1000000/55555', '1000000/55555', '18/1'],
  ]
  assert.deepEqual(
    cases.map(([r, average]) => [r, average, rate(r, average)]),
    cases,
  )
})

test('the file is not blamed for an ffprobe that hangs or is killed', async () => {
  const hanging = path.join(folder, 'hanging')
  const started = path.join(folder, 'started')
  await writeFile(hanging, `#!/bin/sh\ntouch '${started}'\nexec sleep 60\n`, { mode: 0o755 })
  await assert.rejects(probe({ ...tools, ffprobe: hanging }, '/x', { idleMs: 100 }), {
    name: 'RunError',
    limit: 'idle',
  })
  await rm(started, { force: true })
  const stop = new AbortController()
  const stopped = probe({ ...tools, ffprobe: hanging }, '/x', { signal: stop.signal })
  while (!existsSync(started)) await setImmediate()
  stop.abort()
  await assert.rejects(stopped, { name: 'RunError' })
})

test('the video is not blamed for a missing file or a missing ffprobe', async () => {
  await assert.rejects(probe(tools, path.join(folder, 'none')), { name: 'RunError' })
  await assert.rejects(probe({ ...tools, ffprobe: '/no/ffprobe' }, '/x'), { name: 'RunError' })
  await assert.rejects(probe(tools, 'http://127.0.0.1:1/x', { isServed: true }), { name: 'RunError' })
})
