import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { run } from '../lib/run.ts'
import { type Extent, findExtent } from './extent.ts'
import { probe, type SourceMedia } from './probe.ts'
import { remuxArgs } from './remux.ts'

const tools = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
let folder: string

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-extent-'))
  const inputs = ['-f', 'lavfi', '-i', 'testsrc2=s=128x96:r=25:d=6', '-f', 'lavfi', '-i', 'sine=d=6:r=48000']
  await make('h264.mp4', [...inputs, ...'-c:v libx264 -preset veryfast -bf 2 -g 50 -c:a aac'.split(' ')])
  await make('vp8.webm', [
    ...inputs,
    ...'-c:v libvpx -cpu-used 8 -deadline realtime -g 50 -c:a libopus'.split(' '),
  ])
})
after(() => rm(folder, { recursive: true, force: true }))

async function make(name: string, args: string[]): Promise<string> {
  const file = path.join(folder, name)
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args, file])
  return file
}

const copy = (name: string, source: string, ...more: string[]) =>
  make(name, ['-i', path.join(folder, source), '-c', 'copy', ...more])

async function cut(name: string, source: string, part: number): Promise<string> {
  const file = path.join(folder, name)
  await copyFile(path.join(folder, source), file)
  await truncate(file, Math.floor((await stat(file)).size * part))
  return file
}

async function extentOf(file: string): Promise<{ media: SourceMedia; extent: Extent }> {
  const media = await probe(tools, file)
  return { media, extent: await findExtent(tools, file, media) }
}

async function remuxed(file: string, media: SourceMedia): Promise<string> {
  await run('ffmpeg', remuxArgs({ input: file, output: `${file}.remuxed`, media }))
  return `${file}.remuxed`
}

/** The ends of the decoded streams, on the timeline of ffmpeg. */
async function decodedEnds(file: string): Promise<{ picture: number; sound: number }> {
  const ends = { picture: 0, sound: 0 }
  const format = [
    '-map',
    '0:v?',
    '-map',
    '0:a?',
    '-fps_mode',
    'passthrough',
    '-enc_time_base:v',
    '-1',
    '-f',
    'framehash',
    '-',
  ]
  const { stdout } = await run('ffmpeg', ['-v', 'quiet', '-nostdin', '-i', file, ...format])
  const bases = new Map(
    [...stdout.matchAll(/^#tb (\d): (\d+)\/(\d+)$/gm)].map((m) => [m[1], Number(m[2]) / Number(m[3])]),
  )
  const isSound = new Set([...stdout.matchAll(/^#media_type (\d): audio$/gm)].map((m) => m[1]))
  for (const [, stream, pts, duration] of stdout.matchAll(/^(\d),\s*-?\d+,\s*(-?\d+),\s*(\d+),/gm)) {
    const kind = isSound.has(stream) ? 'sound' : 'picture'
    ends[kind] = Math.max(ends[kind], (Number(pts) + Number(duration)) * bases.get(stream)!)
  }
  return ends
}

function isNear(actual: number | undefined, expected: number, tolerance: number): void {
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= tolerance,
    `${actual} is not about ${expected}`,
  )
}

describe('the extent of a seekable source equals the end of its decoded streams', { concurrency: 2 }, () => {
  const isSeekable = (title: string, create: () => Promise<string>) =>
    test(title, async () => {
      const file = await create()
      const { extent } = await extentOf(file)
      assert.equal(extent.isSeekable, true)
      const decoded = await decodedEnds(file)
      if (decoded.picture) isNear(extent.videoEndSeconds, decoded.picture, 0.002)
      else assert.equal(extent.videoEndSeconds, undefined)
      // A decoder returns entire packets, even if the edit list ends within one.
      if (decoded.sound) isNear(extent.audioEndSeconds, decoded.sound, 0.03)
      else assert.equal(extent.audioEndSeconds, undefined)
    })
  isSeekable('mp4', async () => path.join(folder, 'h264.mp4'))
  isSeekable('webm', async () => path.join(folder, 'vp8.webm'))
  isSeekable('mkv', () => copy('a.mkv', 'h264.mp4'))
  isSeekable('mov without audio', () => copy('b.mov', 'h264.mp4', '-an'))
  isSeekable('m4a', () => copy('c.m4a', 'h264.mp4', '-vn'))
  isSeekable('an mp4 that starts at 100 s', () => copy('d.mp4', 'h264.mp4', '-output_ts_offset', '100'))
  isSeekable('an mkv that starts at 100 s', () => copy('e.mkv', 'h264.mp4', '-output_ts_offset', '100'))
  isSeekable('a fragmented mp4', () => copy('f.mp4', 'h264.mp4', '-movflags', 'frag_keyframe+empty_moov'))
  isSeekable('a fragmented mp4 with one index', () =>
    copy('g.mp4', 'h264.mp4', '-movflags', 'dash+global_sidx'),
  )
  const later = (name: string) => {
    const source = path.join(folder, 'h264.mp4')
    return make(name, [
      '-i',
      source,
      '-itsoffset',
      '2',
      '-i',
      source,
      '-map',
      '0:v',
      '-map',
      '1:a',
      '-c',
      'copy',
    ])
  }
  isSeekable('audio that begins late and ends late, mp4', () => later('h.mp4'))
  isSeekable('audio that begins late and ends late, mkv', () => later('i.mkv'))
  const shorter = (name: string) => {
    const source = path.join(folder, 'h264.mp4')
    return make(name, ['-i', source, '-t', '1', '-i', source, '-map', '0:v', '-map', '1:a', '-c', 'copy'])
  }
  isSeekable('audio that ends before the last key frame, mp4', () => shorter('j.mp4'))
  isSeekable('audio that ends before the last key frame, mkv', () => shorter('k.mkv'))
  isSeekable('a single key frame', () =>
    make('l.mp4', '-f lavfi -i testsrc2=s=64x48:r=25:d=20 -c:v libx264 -preset ultrafast -g 9999'.split(' ')),
  )
})

describe('a source that is not seekable keeps its length when it is remuxed', { concurrency: 2 }, () => {
  const isCopied = (title: string, create: () => Promise<string>, seconds: number, kinds = 'picture sound') =>
    test(title, async () => {
      const file = await create()
      const { media, extent } = await extentOf(file)
      assert.deepEqual(extent, {
        videoStartSeconds: undefined,
        videoEndSeconds: undefined,
        audioEndSeconds: undefined,
        isSeekable: false,
      })
      const before = await decodedEnds(file)
      const after = await extentOf(await remuxed(file, media))
      assert.equal(after.extent.isSeekable, true)
      assert.equal(after.media.picture?.codec, media.picture?.codec)
      assert.deepEqual(after.media.picture?.rate, media.picture?.rate)
      const ends = { picture: after.extent.videoEndSeconds, sound: after.extent.audioEndSeconds }
      for (const kind of ['picture', 'sound'] as const) {
        assert.equal(after.media[kind] !== undefined, kinds.includes(kind), kind)
        if (!kinds.includes(kind)) continue
        isNear(ends[kind], seconds, 0.3)
        isNear(ends[kind], before[kind], 0.09)
      }
    })
  isCopied('a transport stream', () => copy('a.ts', 'h264.mp4'), 6)
  isCopied(
    'a truncated transport stream',
    async () => cut('b.ts', path.basename(await copy('b0.ts', 'h264.mp4')), 0.6),
    3.6,
  )
  isCopied(
    'a truncated mp4',
    async () => {
      return cut('c.mp4', path.basename(await copy('c0.mp4', 'h264.mp4', '-movflags', '+faststart')), 0.6)
    },
    3.6,
  )
  isCopied(
    'a truncated mkv',
    async () => cut('d.mkv', path.basename(await copy('d0.mkv', 'h264.mp4')), 0.6),
    3.6,
  )
  isCopied('a webm recorded by a browser', () => copy('e.webm', 'vp8.webm', '-live', '1'), 6)
  isCopied(
    'a truncated webm recorded by a browser',
    async () => {
      return cut('f.webm', path.basename(await copy('f0.webm', 'vp8.webm', '-live', '1')), 0.6)
    },
    3.6,
  )
  isCopied('flv', () => copy('g.flv', 'h264.mp4'), 6)
  isCopied('ADTS', () => copy('h.aac', 'h264.mp4', '-vn'), 6, 'sound')
  const encode = (name: string, options: string) =>
    make(name, ['-i', path.join(folder, 'h264.mp4'), ...options.split(' ')])
  isCopied('avi with B-frames', () => encode('i.avi', '-c:v mpeg4 -bf 2 -c:a libmp3lame'), 6)
  isCopied(
    'H.264 in avi, whose frames have no presentation times',
    () => copy('j.avi', 'h264.mp4', '-bsf:v', 'h264_mp4toannexb'),
    6,
  )
  isCopied('an MPEG program stream', () => encode('k.mpg', '-c:v mpeg2video -bf 2 -c:a mp2 -f vob'), 6)
  isCopied('ogg', () => encode('l.ogv', '-c:v libtheora -c:a libvorbis'), 6)
  isCopied('asf', () => encode('m.asf', '-c:v wmv2 -c:a wmav2'), 6)
  isCopied('mxf', () => encode('n.mxf', '-c:v mpeg2video -c:a pcm_s16le -ar 48000'), 6)
  isCopied('mp3', () => encode('o.mp3', '-vn -c:a libmp3lame'), 6, 'sound')
  isCopied('wav', () => encode('p.wav', '-vn'), 6, 'sound')
  isCopied('flac', () => encode('q.flac', '-vn'), 6, 'sound')
  isCopied(
    'audio without a Matroska codec id: LATM',
    () => copy('r.ts', 'h264.mp4', '-mpegts_flags', 'latm'),
    6,
  )
  isCopied(
    'audio without a Matroska codec id: Blu-ray PCM',
    () => encode('s.m2ts', '-c:v copy -c:a pcm_bluray -ac 2'),
    6,
  )
})

test('a copy of a truncated mp4 keeps its rotation', async () => {
  const file = await cut(
    'turned.mp4',
    path.basename(await copy('whole.mp4', 'h264.mp4', '-movflags', '+faststart')),
    0.6,
  )
  const bytes = await readFile(file)
  const matrix = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000]
  for (const [i, word] of matrix.entries()) bytes.writeInt32BE(word, bytes.indexOf('tkhd') + 44 + 4 * i)
  await writeFile(file, bytes)
  const media = await probe(tools, file)
  assert.equal(media.picture?.width, 96)
  assert.equal((await probe(tools, await remuxed(file, media))).picture?.width, 96)
})

test('the end of a long file is found through its index, over HTTP too', async () => {
  const source = path.join(folder, 'h264.mp4')
  for (const name of ['long.mp4', 'long.mkv']) {
    const file = await make(name, ['-stream_loop', '300', '-i', source, '-c', 'copy'])
    const { size } = await stat(file)
    const { url, servedBytes, close } = await serve(file, size)
    try {
      const media = await probe(tools, url, { isServed: true })
      const extent = await findExtent(tools, url, media, { isServed: true })
      assert.equal(extent.isSeekable, true)
      isNear(extent.videoEndSeconds, media.durationSeconds!, 0.05)
      isNear(extent.audioEndSeconds, media.durationSeconds!, 0.05)
      assert.ok(servedBytes() < size / 2, `${servedBytes()} bytes of ${size} were read`)
    } finally {
      await close()
    }
  }
})

async function serve(file: string, size: number) {
  let served = 0
  const server = createServer((request, response) => {
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    response.writeHead(206, {
      'content-range': `bytes ${start}-${size - 1}/${size}`,
      'content-length': size - start,
    })
    const bytes = createReadStream(file, { start })
    bytes.on('data', (chunk) => {
      served += chunk.length
    })
    // ffprobe closes the connection whenever it seeks.
    pipeline(bytes, response, () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/source`,
    servedBytes: () => served,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
