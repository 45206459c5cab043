import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { run } from '../lib/run.ts'
import { readAdts } from './adts.ts'
import { type AudioChunk, cutAudio, encodeAudioArgs, leadingFramesOf } from './audio.ts'
import { audioInit } from './audio-boxes.ts'
import { audioSampleRate, frameSamples } from './audio-format.ts'
import { codecOf, splitFragments } from './boxes.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sound-'))
})
after(() => rm(folder, { recursive: true }))

const at = (name: string) => join(folder, name)
const ffmpeg = (...args: string[]) => run('ffmpeg', ['-v', 'error', '-y', ...args])

/** Uncompressed 16-bit audio. Each function returns the samples of one channel by time in seconds. */
async function writeSource(
  name: string,
  rate: number,
  seconds: number,
  ...channels: ((t: number, n: number) => number)[]
) {
  const samples = Buffer.alloc(rate * seconds * channels.length * 2)
  for (let n = 0; n < rate * seconds; n++) {
    for (const [c, channel] of channels.entries()) {
      samples.writeInt16LE(Math.round(channel(n / rate, n) * 32767), (n * channels.length + c) * 2)
    }
  }
  await writeFile(at('raw'), samples)
  await ffmpeg('-f', 's16le', '-ar', `${rate}`, '-ac', `${channels.length}`, '-i', at('raw'), at(name))
  return at(name)
}

/** Encodes each range between two borders separately, joins the results, and returns the decoded left channel. */
async function encode(input: string, borders: number[], more: Partial<AudioChunk> = {}) {
  const parts: Buffer[] = []
  for (const [i, fromFrame] of borders.slice(0, -1).entries()) {
    const frames = borders[i + 1]! - fromFrame
    const chunk = {
      input,
      inputOptions: [],
      stream: 0,
      fromFrame,
      frames,
      offsetSeconds: 0,
      output: at('c.aac'),
    }
    await run('ffmpeg', encodeAudioArgs({ ...chunk, ...more }))
    const adts = await readFile(at('c.aac'))
    if (i === 0) parts.push(audioInit(readAdts(adts).config))
    const half = Math.ceil(frames / 2)
    const segments = [
      { fromFrame, frames: half },
      { fromFrame: fromFrame + half, frames: frames - half },
    ]
    parts.push(...cutAudio(adts, { fromFrame, leadingFrames: leadingFramesOf(fromFrame) }, segments))
  }
  await writeFile(at('joined.mp4'), Buffer.concat(parts))
  const { stderr } = await run('ffmpeg', [
    '-v',
    'warning',
    '-y',
    '-i',
    at('joined.mp4'),
    '-f',
    'f32le',
    at('pcm'),
  ])
  assert.equal(stderr, '')
  return leftOf(at('pcm'))
}

async function leftOf(path: string): Promise<Float32Array> {
  const samples = new Float32Array(new Uint8Array(await readFile(path)).buffer)
  return samples.filter((_, n) => n % 2 === 0)
}

/** The position of the loudest sample near an expected one. */
function peakNear(sound: Float32Array, expected: number): number {
  let best = expected - 400
  for (let n = best; n < expected + 400; n++) if (Math.abs(sound[n]!) > Math.abs(sound[best]!)) best = n
  return best
}

const loudest = (sound: Float32Array, from: number, to: number) =>
  sound.subarray(from, to).reduce((most, value) => Math.max(most, Math.abs(value)), 0)

/** The mean squared error of each AAC frame. */
const errorsOf = (sound: Float32Array, source: Float32Array) =>
  Array.from({ length: Math.floor(Math.min(sound.length, source.length) / frameSamples) }, (_, frame) => {
    let sum = 0
    for (let n = frame * frameSamples; n < (frame + 1) * frameSamples; n++)
      sum += (sound[n]! - source[n]!) ** 2
    return sum / frameSamples
  })

const oneChunk = [0, 1400]
const fourChunks = [0, 351, 700, 1051, 1400]
const tones = (t: number) =>
  [220, 440.3, 1000.7, 3010, 6020].reduce((sum, hz, i) => sum + 0.1 * Math.sin(2 * Math.PI * hz * t + i), 0)
const sweep = (t: number) => 0.4 * Math.sin(2 * Math.PI * (100 * t + 130 * t * t))

test('the ffmpeg arguments of a chunk seek to its lead and limit its samples', () => {
  const common = {
    input: 'in.mp4',
    inputOptions: ['-protocol_whitelist', 'file'],
    stream: 1,
    output: 'out.aac',
  }
  assert.equal(
    encodeAudioArgs({ ...common, fromFrame: 1000, frames: 100, offsetSeconds: 0.08 }).join(' '),
    '-hide_banner -nostdin -v error -y -threads 1 -protocol_whitelist file -ss 20.880000 -i in.mp4 -map 0:1 ' +
      '-filter_threads 1 -af aresample=48000:async=1:min_comp=0:first_pts=0,' +
      'aformat=sample_fmts=fltp:channel_layouts=stereo,apad,atrim=end_sample=131072 ' +
      '-c:a aac -b:a 128000 -threads 1 -f adts out.aac',
  )
  assert.equal(leadingFramesOf(1000), 26)
  const first = encodeAudioArgs({ ...common, fromFrame: 0, frames: 90, offsetSeconds: 0 })
  assert.ok(!first.includes('-ss'))
  assert.equal(leadingFramesOf(0), 1)
})

for (const rate of [48000, 44100]) {
  test(`clicks at ${rate} Hz stay at their sample in one chunk and in four chunks`, async () => {
    const isClick = (n: number) => n % (rate / 2) === 5000
    const click = (_: number, n: number) => (isClick(n) ? 0.9 : 0)
    const source = await writeSource('clicks.wav', rate, 30, click, click)
    for (const borders of [oneChunk, fourChunks]) {
      const sound = await encode(source, borders)
      assert.equal(sound.length, 1400 * frameSamples)
      for (let half = 0; half < 59; half++) {
        const expected = Math.round(((half * rate) / 2 + 5000) * (audioSampleRate / rate))
        assert.ok(Math.abs(peakNear(sound, expected) - expected) <= 1, `click ${half}`)
      }
    }
  })
}

for (const [name, rate, more] of [
  ['joins.wav', 44100, {}],
  ['joins.mp4', 44100, {}],
  ['joins.mkv', 48000, { coarseStartSeconds: 0 }],
  ['joins.flv', 44100, { coarseStartSeconds: 0 }],
] as const) {
  test(`four chunks of ${name} join without a difference to one chunk`, async () => {
    const borders = [0, 131, 272, 403, 540]
    const wav = await writeSource('source.wav', rate, 12, tones, sweep)
    await ffmpeg('-i', wav, '-b:a', '256k', ...(name.endsWith('wav') ? [] : ['-c:a', 'aac']), at(name))
    const sameTime = 'aresample=48000:async=1:min_comp=0:first_pts=0'
    await ffmpeg('-i', at(name), '-af', sameTime, '-f', 'f32le', at('source.pcm'))
    const source = await leftOf(at('source.pcm'))
    const whole = errorsOf(await encode(at(name), [0, 540], more), source).toSorted((a, b) => a - b)
    const chunks = errorsOf(await encode(at(name), borders, more), source)
    const most = 2 * whole[Math.floor(0.98 * whole.length)]!
    for (const border of borders.slice(1, -1)) {
      for (const error of chunks.slice(border - 2, border + 3)) {
        assert.ok(error < most, `frame ${border}: ${error} where ${most} is the most`)
      }
    }
    assert.ok(most < 0.0002, `${most}`)
  })
}

test('the joined file has one AAC track without gap or overlap', async () => {
  const source = await writeSource('track.wav', 48000, 3, tones)
  await encode(source, [0, 40, 90, 140])
  const probe = ['-v', 'warning', '-show_packets', '-show_streams', '-of', 'json', at('joined.mp4')]
  const { stdout, stderr } = await run('ffprobe', probe)
  const { packets, streams } = JSON.parse(stdout)
  assert.equal(stderr, '')
  assert.equal(streams.length, 1)
  const { codec_name, profile, sample_rate, channels } = streams[0]
  assert.deepEqual([codec_name, profile, sample_rate, channels], ['aac', 'LC', '48000', 2])
  // ffprobe 5.1 gives no duration for the first packet of any fragmented file.
  assert.deepEqual(
    packets.map(({ pts, duration }: { pts: number; duration?: number }) => [pts, duration ?? frameSamples]),
    Array.from({ length: 140 }, (_, n) => [n * frameSamples, frameSamples]),
  )
  const { init, fragments } = await splitFragments(at('joined.mp4'))
  assert.equal(codecOf((await readFile(at('joined.mp4'))).subarray(0, init.to)), 'mp4a.40.2')
  assert.deepEqual(
    fragments.map(({ samples, decodeTime }) => [decodeTime / frameSamples, samples]),
    [0, 20, 40, 65, 90, 115].map((from, i) => [from, i < 2 ? 20 : 25]),
  )
})

test('silence fills the time before late audio and after audio that ends early', async () => {
  const tone = await writeSource('short.wav', 44100, 2, tones)
  const picture = ['-f', 'lavfi', '-i', 'color=s=64x64:r=25:d=6']
  await ffmpeg(
    ...picture,
    '-itsoffset',
    '2',
    '-i',
    tone,
    '-c:a',
    'pcm_s16le',
    '-c:v',
    'mpeg4',
    at('late.mov'),
  )
  // The last chunk is after the end of the audio.
  const sound = await encode(at('late.mov'), [0, 50, 150, 230, 280], { stream: 1, channels: 1 })
  assert.equal(sound.length, 280 * frameSamples)
  assert.ok(loudest(sound, 0, 2 * audioSampleRate - 2048) < 0.001)
  assert.ok(loudest(sound, 2 * audioSampleRate, 2 * audioSampleRate + 2048) > 0.2)
  assert.ok(loudest(sound, 4 * audioSampleRate - 2048, 4 * audioSampleRate) > 0.2)
  assert.ok(loudest(sound, 4 * audioSampleRate + 2048, sound.length) < 0.001)
})

test('the timeline can start inside the source', async () => {
  const source = await writeSource('offset.wav', 44100, 3, (_, n) => (n === 66150 ? 0.9 : 0))
  const sound = await encode(source, [0, 30, 60], { offsetSeconds: 0.9, channels: 1 })
  const expected = (1.5 - 0.9) * audioSampleRate
  assert.ok(Math.abs(peakNear(sound, expected) - expected) <= 1)
})

test('every number of channels and every rate becomes stereo at 48 kHz', async () => {
  for (const [channels, rate] of [
    [1, 8000],
    [1, 44100],
    [2, 192000],
    [3, 22050],
    [6, 48000],
    [8, 96000],
    [12, 48000],
  ] as const) {
    const tone = (t: number) => 0.1 * Math.sin(2 * Math.PI * 500 * t)
    const source = await writeSource('layout.wav', rate, 1, ...Array<typeof tone>(channels).fill(tone))
    const sound = await encode(source, [0, 20, 40], { channels })
    assert.equal(sound.length, 40 * frameSamples)
    assert.ok(loudest(sound, 4096, 30 * frameSamples) > 0.09, `${channels} channels at ${rate} Hz`)
  }
})
