import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { copyChunk } from '../../server/encoding/chunks/copy-chunk.ts'
import type { ClaimedChunk } from '../../server/encoding/chunks/encode-chunk-store.ts'
import type { PassSegment } from '../../server/encoding/chunks/encoded-rendition.ts'
import { openFileBytes } from '../../server/encoding/source/source-bytes.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { readCopiedAudio } from '../../server/media/copied-audio.ts'
import { countSegments } from '../../server/media/grid.ts'
import { readMp4Index } from '../../server/media/mp4-index.ts'
import { temporaryFolder } from '../support/harness.ts'
import { openChunkEncoder, type Work } from '../support/media/chunk-encoder.ts'
import { ffmpeg } from '../support/media/media.ts'
import { lavfi, numberedFrames, splitArgs, tone } from '../support/media/sources.ts'

// Which sources are copied. What looks as if it could be copied, but cannot, is encoded.

let folder: string
let encoder: Awaited<ReturnType<typeof openChunkEncoder>>
let videos = 0

before(async () => {
  folder = await temporaryFolder({ after() {} })
  encoder = await openChunkEncoder(join(folder, 'data'), { copiesSources: true })
})

const seconds = 9
const video = (options: Parameters<typeof numberedFrames>[0] = {}) =>
  lavfi(numberedFrames({ size: '480x360', seconds, ...options }))
const audio = tone(440, seconds)
const x264 = (params = 'keyint=50') => [
  ...splitArgs('-c:v libx264 -preset ultrafast -pix_fmt yuv420p -x264-params'),
  `bframes=3:b-adapt=0:scenecut=0:${params}`,
]
const aac = splitArgs('-c:a aac -ac 2 -b:a 96k')
const copy = splitArgs('-c copy')

type Step = (input: string) => string[]
type Source = { name: string; file?: string; steps: (string[] | Step)[]; video?: true; audio?: true }

async function make({ name, file = 'a.mp4', steps }: Source): Promise<string> {
  let path = ''
  for (const [i, step] of steps.entries()) {
    const input = path
    path = join(folder, `${name.replaceAll(/\W/g, '-')}-${i}-${file}`)
    await ffmpeg(...(Array.isArray(step) ? step : step(input)), path)
  }
  return path
}

const copies = ({ plan }: Work) => ({
  ...(plan.copiesVideo && { video: true }),
  ...(plan.copiesAudio && { audio: true }),
})

const both = { video: true, audio: true } as const
const cut =
  (...args: string[]): Step =>
  (input) => [...args, '-i', input, ...copy]
const noise = splitArgs('-f lavfi -i nullsrc=s=480x360:r=25:d=3,geq=random(1)*255:128:128')

const sources: Source[] = [
  {
    name: 'B-frames and closed groups of pictures',
    steps: [[...video(), ...audio, ...x264(), ...aac]],
    ...both,
  },
  { name: 'QuickTime', file: 'a.mov', steps: [[...video(), ...audio, ...x264(), ...aac]], ...both },
  {
    name: 'the index in front',
    steps: [[...video(), ...audio, ...x264(), ...aac, '-movflags', '+faststart']],
    ...both,
  },
  { name: 'no audio', steps: [[...video(), ...x264()]], video: true },
  { name: '44.1 kHz', steps: [[...video(), ...tone(440, seconds, 44_100), ...x264(), ...aac]], ...both },
  {
    name: 'open groups of pictures',
    steps: [[...video(), ...audio, ...x264('keyint=50:open-gop=1'), ...aac]],
    audio: true,
  },
  {
    name: 'an edit list that cuts off the start',
    steps: [[...video(), ...audio, ...x264(), ...aac], cut('-ss', '1.3')],
  },
  {
    name: 'an open group of pictures at the start',
    steps: [[...video(), ...x264('keyint=50:open-gop=1')], cut('-ss', '4.1')],
  },
  {
    name: 'frames at irregular times',
    steps: [
      [
        ...video({ filter: "settb=1/1000,setpts='PTS+0.45*mod(N\\,3)/25/TB'" }),
        ...x264(),
        '-fps_mode',
        'passthrough',
        '-enc_time_base',
        '1/1000',
      ],
    ],
  },
  {
    name: 'a first frame that is no key frame',
    steps: [[...video(), ...x264()], (input) => ['-i', input, ...copy, '-bsf:v', 'noise=drop=eq(n\\,0)']],
  },
  { name: 'key frames 10 s apart', steps: [[...video({ seconds: 12 }), ...x264('keyint=250')]] },
  {
    name: 'audio that starts late',
    steps: [[...video(), '-itsoffset', '0.5', ...audio, ...x264(), ...aac]],
    video: true,
  },
  { name: 'audio that ends early', steps: [[...video(), ...tone(440, 7), ...x264(), ...aac]], video: true },
  {
    name: 'audio that goes on for longer',
    steps: [[...video({ seconds: 5 }), ...tone(440, 8), ...x264(), ...aac]],
    audio: true,
  },
  { name: 'mono', steps: [[...video(), ...audio, ...x264(), ...aac, '-ac', '1']], video: true },
  { name: '5.1', steps: [[...video(), ...audio, ...x264(), ...aac, '-ac', '6']], video: true },
  { name: 'audio that is no AAC', steps: [[...video(), ...audio, ...x264(), '-c:a', 'alac']], video: true },
  {
    name: '10 bits',
    steps: [
      [
        ...video({ filter: 'format=yuv420p10' }),
        ...x264().map((each) => (each === 'yuv420p' ? 'yuv420p10' : each)),
      ],
    ],
  },
  {
    name: '4:2:2',
    steps: [
      [
        ...video({ filter: 'format=yuv422p' }),
        ...x264().map((each) => (each === 'yuv420p' ? 'yuv422p' : each)),
      ],
    ],
  },
  { name: 'interlaced', steps: [[...video(), ...x264('keyint=50:tff=1')]] },
  { name: 'anamorphic', steps: [[...video({ filter: 'setsar=4/3' }), ...x264()]] },
  { name: 'full range', steps: [[...video(), ...x264('keyint=50:fullrange=on')]] },
  {
    name: 'rotated',
    steps: [
      [...video(), ...audio, ...x264(), ...aac],
      (input) => ['-i', input, ...copy, '-metadata:s:v', 'rotate=90'],
    ],
    audio: true,
  },
  { name: 'a size between two qualities', steps: [[...video({ size: '640x420' }), ...x264()]] },
  { name: 'a bitrate above that of the quality', steps: [[...noise, ...x264('keyint=50:qp=4')]] },
  {
    name: 'HEVC',
    steps: [
      [
        ...video(),
        ...audio,
        ...splitArgs('-c:v libx265 -preset ultrafast -x265-params log-level=none'),
        ...aac,
      ],
    ],
    audio: true,
  },
  {
    name: 'fragments',
    steps: [[...video(), ...x264(), ...splitArgs('-movflags frag_keyframe+empty_moov')]],
  },
  { name: 'MPEG-TS', file: 'a.ts', steps: [[...video(), ...audio, ...x264(), ...aac]], ...both },
  {
    name: 'MPEG-TS and mono',
    file: 'a.ts',
    steps: [[...video(), ...audio, ...x264(), ...aac, '-ac', '1']],
  },
  {
    name: 'times in milliseconds (FLV)',
    file: 'a.flv',
    steps: [[...video({ rate: '30000/1001' }), ...audio, ...x264(), ...aac]],
    ...both,
  },
  // Copying its streams first would take longer than encoding its start.
  { name: 'an index that is no MP4', file: 'a.mkv', steps: [[...video(), ...audio, ...x264(), ...aac]] },
]

suite('of a source with', () => {
  for (const source of sources) {
    const expected = { ...(source.video && { video: true }), ...(source.audio && { audio: true }) }
    test(`${source.name}, ${Object.keys(expected).join(' and ') || 'nothing'} is copied`, async () => {
      const work = await encoder.plan(`video-${videos++}`, await make(source))
      assert.deepEqual(copies(work), expected)
    })
  }
})

test('a source whose parameter sets change midway is encoded', async () => {
  const first = await make({ name: 'first part', steps: [[...video(), ...x264()]] })
  const second = await make({
    name: 'second part',
    steps: [[...video(), ...x264('keyint=50:ref=4:no-cabac=1')]],
  })
  const list = join(folder, 'list.txt')
  await writeFile(list, `file '${first}'\nfile '${second}'\n`)
  const joined = join(folder, 'joined.mp4')
  await ffmpeg(...splitArgs('-f concat -safe 0 -i'), list, ...copy, joined)
  assert.deepEqual(copies(await encoder.plan(`video-${videos++}`, joined)), {})
})

test('a clip, a watermark and the sandbox prevent copies of the video', async () => {
  const path = await make(sources[0]!)
  const plan = (options: object) => encoder.plan(`video-${videos++}`, path, options).then(copies)
  const watermark = {
    image: { width: 100, height: 50 },
    opacity: 1,
    position: { top: '10px', left: '10px', width: '100px', height: 'initial' },
  }
  assert.deepEqual(await plan({}), both)
  assert.deepEqual(await plan({ environment: 'sandbox' }), {})
  assert.deepEqual(await plan({ clip: { startTimecode: '00:00:01:00' } }), {})
  assert.deepEqual(await plan({ watermark }), { audio: true })
  assert.deepEqual(await plan({ recordedSize: { width: 480, height: 360 } }), { audio: true })
})

test('an AAC frame that is larger than AAC allows is not copied', async () => {
  const source = await openFileBytes(await make(sources[0]!))
  const index = await readMp4Index(source.read, source.bytes)
  await source.close()
  const track = index!.find((each) => each?.entry.type === 'mp4a')!
  assert.ok(await readCopiedAudio(track))
  track.samples.sizes[5] = 1_536
  assert.ok(await readCopiedAudio(track))
  track.samples.sizes[5] = 1_537
  assert.equal(await readCopiedAudio(track), undefined)
})

test('segments have the same bytes from a disk and from a remote store', async () => {
  const videoId = `video-${videos++}`
  const { plan, media } = await encoder.plan(videoId, await make(sources[0]!))
  const remote = Object.create(encoder.files, { pathOf: { value: () => undefined } }) as Files
  const chunk = { video_id: videoId, first_segment: 0, segments: countSegments(plan) }
  for (const track of ['picture', 'sound'] as const) {
    const qualities = track === 'sound' ? [] : ['360p']
    const copy = { chunk: { ...chunk, track, qualities } as ClaimedChunk, plan, media }
    const [onDisk, inStore] = await Promise.all(
      [encoder.files, remote].map((files) => copyChunk(files, copy)),
    )
    assert.deepEqual(onDisk!.sizes, inStore!.sizes)
    for (const [i, pass] of onDisk!.segments.entries()) {
      const [a, b] = await Promise.all([pass, inStore!.segments[i]!].map(bytesOf))
      assert.equal(a!.length, onDisk!.sizes[i])
      assert.deepEqual(a, b)
    }
  }
})

/** The content may be used only until the promise is fulfilled. */
async function bytesOf(pass: PassSegment): Promise<Buffer> {
  const buffers: Buffer[] = []
  await pass(async (content) => {
    for await (const buffer of Buffer.isBuffer(content) ? [content] : content)
      buffers.push(Buffer.from(buffer))
  })
  return Buffer.concat(buffers)
}
