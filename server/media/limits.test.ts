import assert from 'node:assert/strict'
import { constants } from 'node:fs'
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { run } from '../lib/run.ts'
import { childLimits, inputLimits } from './limits.ts'
import { probe, Unreadable } from './probe.ts'

const tools = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
const MARK = Buffer.from('nobody may read this')
let folder: string
let version: number

before(async () => {
  version = Number(/version n?(\d+)/.exec((await run('ffprobe', ['-version'])).stdout)?.[1] ?? 0)
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-limits-'))
  const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast']
  const fragmented = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof', '-f', 'mp4']
  await ffmpeg([
    ...['-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=1'],
    ...[...x264, at('secret.mp4'), ...x264, at('secret.ts'), ...x264, ...fragmented, at('secret.m4s')],
  ])
})
after(() => rm(folder, { recursive: true, force: true }))

const at = (name: string) => path.join(folder, name)
// With a time limit, because opening the FIFO below would block forever.
const ffmpeg = (args: string[]) =>
  run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args], { signal: AbortSignal.timeout(300_000) })

describe('a file that refers to other files is rejected before any of them is opened', () => {
  const dash = (name: string) => `<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">
<Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>${name}</BaseURL>
</Representation></AdaptationSet></Period></MPD>`
  const hls = (name: string) => `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${name}\n#EXT-X-ENDLIST\n`
  const sdp =
    'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n'
  const cases: [title: string, naming: (name: string) => string, named: string, isReadByDefault: boolean][] =
    [
      ['an HLS playlist', hls, 'secret.ts', true],
      ['a DASH manifest', dash, 'secret.m4s', true],
      ['an ffconcat list', (name) => `ffconcat version 1.0\nfile ${name}\n`, 'secret.mp4', true],
      ['an SDP', () => sdp, 'secret.mp4', false],
      ['a vobsub index', () => '# VobSub index file, v7\n', 'secret.mp4', false],
    ]
  for (const [title, naming, named, isReadByDefault] of cases)
    for (const extension of ['', '.mp4'])
      test(`${title} named source${extension}`, async () => {
        const file = at(`source${extension}`)
        if (isReadByDefault) {
          // Without limits, ffprobe opens the file. This shows that the rejection below is caused by the limits.
          await writeFile(file, naming(named))
          const unlimited = ['-v', 'error', '-show_entries', 'stream=codec_name', file]
          const read = await run('ffprobe', unlimited).catch((error: Error) => error)
          // Since ffmpeg 7.1, HLS and DASH require segments with matching names.
          if (version < 7 || title.includes('ffconcat')) assert.match(String(Object(read).stdout), /h264/)
        }
        const fifo = at(`fifo${path.extname(named)}`)
        await rm(fifo, { force: true })
        await run('mkfifo', [fifo])
        const end = await open(fifo, constants.O_RDWR | constants.O_NONBLOCK)
        try {
          await end.write(MARK)
          await writeFile(file, naming(path.basename(fifo)))
          await assert.rejects(probe(tools, file), /not a video that can be read/)
          await assert.rejects(ffmpeg([...inputLimits(), '-i', file, '-f', 'null', '-']), /exited with code/)
          const { bytesRead, buffer } = await end.read(Buffer.alloc(100))
          assert.deepEqual(buffer.subarray(0, bytesRead), MARK)
        } finally {
          await end.close()
        }
      })
})

describe('files that are not videos are rejected', () => {
  const isRejected = (title: string, bytes: string | Buffer, message: RegExp) =>
    test(title, async () => {
      for (const name of ['plain', 'plain.mp4', 'plain.mp3']) {
        await writeFile(at(name), bytes)
        await assert.rejects(probe(tools, at(name)), (error: Error) => {
          assert.ok(error instanceof Unreadable)
          assert.match(error.message, message)
          assert.ok(!error.message.includes(folder))
          return true
        })
      }
    })
  isRejected('an empty file', '', /^The file is empty/)
  isRejected('a text file', 'Lorem ipsum dolor sit amet.\n'.repeat(100), /^The file is not a video/)
  isRejected(
    'an HTML page',
    '<!doctype html><html><body><video src="secret.mp4"></video></body></html>',
    /not a video/,
  )
  isRejected(
    'an image',
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
    /not a video/,
  )
  isRejected('a Matroska file with 1,000 streams', matroskaWithStreams(1000), /too many streams/)
  isRejected(
    'a Matroska file without streams',
    matroskaWithStreams(0),
    /no video or audio stream|not a video/,
  )

  test('a truncated mp4', async () => {
    const bytes = await readFile(at('secret.mp4'))
    await writeFile(at('half'), bytes.subarray(0, bytes.indexOf('moov') - 10))
    await assert.rejects(probe(tools, at('half')), /its end is missing/)
  })

  test('invalid frame sizes', async () => {
    await ffmpeg(
      '-f lavfi -i color=s=64x48:d=0.1 -c:v rawvideo -pix_fmt yuyv422'.split(' ').concat(at('raw.mov')),
    )
    const bytes = await readFile(at('raw.mov'))
    const entry = bytes.indexOf('yuvs')
    bytes.writeUInt16BE(65_535, entry + 28)
    bytes.writeUInt16BE(65_535, entry + 30)
    await writeFile(at('raw.mov'), bytes)
    await assert.rejects(probe(tools, at('raw.mov')), /^Unreadable: The frame is too large/)
    await ffmpeg(
      '-f lavfi -i color=s=16400x16:d=0.1 -c:v mjpeg -pix_fmt yuvj420p'.split(' ').concat(at('wide.mov')),
    )
    await assert.rejects(probe(tools, at('wide.mov')), /^Unreadable: The frame is too large/)
  })
})

test('more pixels than allowed are not decoded', async () => {
  await ffmpeg(
    '-f lavfi -i color=s=8192x4616:d=0.04 -c:v mjpeg -pix_fmt yuvj420p'.split(' ').concat(at('8k.mov')),
  )
  await assert.rejects(
    ffmpeg(['-xerror', ...inputLimits(), '-i', at('8k.mov'), '-f', 'null', '-']),
    /max pixel count/,
  )
})

test('a child process gets no more memory and CPU time than its limits', async () => {
  if (childLimits(['x']).length === 1) return
  const limited = async (script: string, limits: object) => {
    const [command, ...args] = childLimits(['sh', '-c', script], limits)
    return (await run(command!, args)).stdout
  }
  assert.equal(await limited('ulimit -v; ulimit -c', {}), `${4 * 1024 ** 2}\n0\n`)
  assert.equal(await limited('ulimit -v', { memoryBytes: 1024 ** 3 }), `${1024 ** 2}\n`)
  await assert.rejects(limited('while :; do :; done', { cpuSeconds: 1 }), /SIGXCPU|SIGKILL/)
})

test('4 GiB of address space are enough to encode 4K in six qualities', async () => {
  await ffmpeg(
    '-f lavfi -i testsrc2=s=3840x2160:r=30 -frames:v 3 -c:v libx264 -preset ultrafast -pix_fmt yuv420p10le'
      .split(' ')
      .concat(at('4k.mp4')),
  )
  const sizes = [2160, 1080, 720, 480, 360, 240]
  const filter = `split=6${sizes.map((_, i) => `[s${i}]`).join('')};${sizes.map((height, i) => `[s${i}]scale=-2:${height},format=yuv420p[o${i}]`).join(';')}`
  const outputs = sizes.flatMap((height, i) => [
    '-map',
    `[o${i}]`,
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    '-threads',
    '1',
    at(`${height}.mp4`),
  ])
  const [command, ...args] = childLimits([
    'ffmpeg',
    '-v',
    'error',
    '-nostdin',
    '-y',
    ...inputLimits(),
    '-i',
    at('4k.mp4'),
    '-filter_complex',
    filter,
    ...outputs,
  ])
  await run(command!, args)
  assert.ok((await stat(at('2160.mp4'))).size > 0)
})

/** Handwritten EBML, because no muxer writes this many streams. */
function matroskaWithStreams(count: number): Buffer {
  const element = (id: string, ...content: Buffer[]) => {
    const body = Buffer.concat(content)
    const size = Buffer.alloc(8)
    size.writeBigUInt64BE((1n << 56n) | BigInt(body.length))
    return Buffer.concat([Buffer.from(id, 'hex'), size, body])
  }
  const number = (id: string, value: number) => element(id, Buffer.from([value >> 8, value & 255]))
  const tracks = Array.from({ length: count }, (_, i) =>
    element(
      'ae',
      number('d7', i + 1),
      number('73c5', i + 1),
      number('83', 1),
      element('86', Buffer.from('V_VP8')),
      element('e0', number('b0', 64), number('ba', 48)),
    ),
  )
  const info = element('1549a966', element('2ad7b1', Buffer.from([0x0f, 0x42, 0x40])))
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('matroska'))),
    element('18538067', info, element('1654ae6b', ...tracks), element('1f43b675', number('e7', 0))),
  ])
}
