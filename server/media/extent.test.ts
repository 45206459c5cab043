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
import { type Extent, findExtent, probeMp4 } from './extent.ts'
import { probe, type SourceMedia } from './probe.ts'
import { remuxArgs } from './remux.ts'

const tools = { ffmpeg: 'ffmpeg', ffprobe: 'ffprobe' }
let folder: string

// The tests register their files before any of them runs. ffmpeg makes many files in one run, because its start takes
// longer than the work.

/** The arguments for the files that are made from each source. */
const outputs: Record<'h264.mp4' | 'vp8.webm', string[]> = { 'h264.mp4': [], 'vp8.webm': [] }
const runs: string[][] = []
const cuts: { name: string; source: string; part: number }[] = []
const decoded = new Map<string, { picture: number; sound: number }>()

const at = (name: string) => path.join(folder, name)
const ffmpeg = (...args: string[]) => run('ffmpeg', ['-nostdin', '-y', ...args], { cwd: folder })

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kinora-extent-'))
  const inputs = '-v error -f lavfi -i testsrc2=s=128x96:r=25:d=6 -f lavfi -i sine=d=6:r=48000'
  const x264 = '-c:v libx264 -preset veryfast -bf 2 -g 50 -c:a aac h264.mp4'
  const vp8 = '-c:v libvpx -cpu-used -16 -deadline realtime -threads 1 -g 50 -c:a libopus vp8.webm'
  await ffmpeg(...`${inputs} ${x264} ${vp8}`.split(' '))
  for (const [source, args] of Object.entries(outputs)) await ffmpeg('-v', 'error', '-i', source, ...args)
  for (const args of runs) await ffmpeg('-v', 'error', ...args)
  for (const { name, source, part } of cuts) {
    await copyFile(at(source), at(name))
    await truncate(at(name), Math.floor((await stat(at(name))).size * part))
  }
  await decodeAll([...decoded.keys()])
})
after(() => rm(folder, { recursive: true, force: true }))

function encode(name: string, source: keyof typeof outputs, options: string): string {
  outputs[source].push(...options.split(' '), name)
  return name
}

const copy = (name: string, source: keyof typeof outputs, options = '') =>
  encode(name, source, `-c copy ${options}`.trim())

function cut(name: string, source: string, part: number): string {
  cuts.push({ name, source, part })
  return name
}

async function extentOf(file: string): Promise<{ media: SourceMedia; extent: Extent }> {
  const media = await probe(tools, file)
  const found = { media, extent: await findExtent(tools, file, media) }
  // A single run of ffprobe finds the same, or nothing.
  assert.deepEqual((await probeMp4(tools, file)) ?? found, found)
  return found
}

test('a single run of ffprobe finds what an MP4 contains and where it ends', async () => {
  assert.equal((await probeMp4(tools, at('h264.mp4')))?.extent.isSeekable, true)
})

async function remuxed(file: string, media: SourceMedia): Promise<string> {
  await run('ffmpeg', remuxArgs({ input: file, output: `${file}.remuxed`, media }))
  return `${file}.remuxed`
}

/** Finds the ends of the decoded streams of each file, on the timeline of ffmpeg. */
async function decodeAll(names: string[]): Promise<void> {
  const format = '-fps_mode passthrough -enc_time_base:v -1 -f framehash'.split(' ')
  const hashes = names.flatMap((name, i) => ['-map', `${i}:v?`, '-map', `${i}:a?`, ...format, `${name}.hash`])
  await ffmpeg('-v', 'quiet', ...names.flatMap((name) => ['-i', name]), ...hashes)
  for (const name of names) decoded.set(name, endsIn(await readFile(at(`${name}.hash`), 'utf8')))
}

function endsIn(text: string): { picture: number; sound: number } {
  const ends = { picture: 0, sound: 0 }
  const bases = new Map(
    [...text.matchAll(/^#tb (\d): (\d+)\/(\d+)$/gm)].map((m) => [m[1], Number(m[2]) / Number(m[3])]),
  )
  const isSound = new Set([...text.matchAll(/^#media_type (\d): audio$/gm)].map((m) => m[1]))
  for (const [, stream, pts, duration] of text.matchAll(/^(\d),\s*-?\d+,\s*(-?\d+),\s*(\d+),/gm)) {
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
  const isSeekable = (title: string, name: string) => {
    decoded.set(name, { picture: 0, sound: 0 })
    test(title, async () => {
      const { extent } = await extentOf(at(name))
      assert.equal(extent.isSeekable, true)
      const ends = decoded.get(name)!
      assert.ok(ends.picture || ends.sound, 'nothing was decoded')
      if (ends.picture) isNear(extent.videoEndSeconds, ends.picture, 0.002)
      else assert.equal(extent.videoEndSeconds, undefined)
      // A decoder returns entire packets, even if the edit list ends within one.
      if (ends.sound) isNear(extent.audioEndSeconds, ends.sound, 0.03)
      else assert.equal(extent.audioEndSeconds, undefined)
    })
  }
  isSeekable('mp4', 'h264.mp4')
  isSeekable('webm', 'vp8.webm')
  isSeekable('mkv', copy('a.mkv', 'h264.mp4'))
  isSeekable('mov without audio', copy('b.mov', 'h264.mp4', '-an'))
  isSeekable('m4a', copy('c.m4a', 'h264.mp4', '-vn'))
  isSeekable('an mp4 that starts at 100 s', copy('d.mp4', 'h264.mp4', '-output_ts_offset 100'))
  isSeekable('an mkv that starts at 100 s', copy('e.mkv', 'h264.mp4', '-output_ts_offset 100'))
  isSeekable('a fragmented mp4', copy('f.mp4', 'h264.mp4', '-movflags frag_keyframe+empty_moov'))
  isSeekable('a fragmented mp4 with one index', copy('g.mp4', 'h264.mp4', '-movflags dash+global_sidx'))
  const both = '-map 0:v -map 1:a -c copy'
  runs.push(`-i h264.mp4 -itsoffset 2 -i h264.mp4 ${both} h.mp4 ${both} i.mkv`.split(' '))
  isSeekable('audio that begins late and ends late, mp4', 'h.mp4')
  isSeekable('audio that begins late and ends late, mkv', 'i.mkv')
  runs.push(`-i h264.mp4 -t 1 -i h264.mp4 ${both} j.mp4 ${both} k.mkv`.split(' '))
  isSeekable('audio that ends before the last key frame, mp4', 'j.mp4')
  isSeekable('audio that ends before the last key frame, mkv', 'k.mkv')
  const pattern = '-f lavfi -i testsrc2=s=64x48:r=25:d=20'
  runs.push(`${pattern} -c:v libx264 -preset ultrafast -g 9999 l.mp4`.split(' '))
  isSeekable('a single key frame', 'l.mp4')
})

describe('a source that is not seekable keeps its length when it is remuxed', { concurrency: 2 }, () => {
  const isCopied = (title: string, name: string, seconds: number, kinds = 'picture sound') => {
    decoded.set(name, { picture: 0, sound: 0 })
    test(title, async () => {
      const file = at(name)
      const { media, extent } = await extentOf(file)
      assert.deepEqual(extent, {
        videoStartSeconds: undefined,
        videoEndSeconds: undefined,
        audioEndSeconds: undefined,
        isSeekable: false,
      })
      const before = decoded.get(name)!
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
  }
  isCopied('a transport stream', copy('a.ts', 'h264.mp4'), 6)
  isCopied('a truncated transport stream', cut('b.ts', 'a.ts', 0.6), 3.6)
  const indexed = copy('c0.mp4', 'h264.mp4', '-movflags +faststart')
  isCopied('a truncated mp4', cut('c.mp4', indexed, 0.6), 3.6)
  isCopied('a truncated mkv', cut('d.mkv', 'a.mkv', 0.6), 3.6)
  isCopied('a webm recorded by a browser', copy('e.webm', 'vp8.webm', '-live 1'), 6)
  isCopied('a truncated webm recorded by a browser', cut('f.webm', 'e.webm', 0.6), 3.6)
  isCopied('flv', copy('g.flv', 'h264.mp4'), 6)
  isCopied('ADTS', copy('h.aac', 'h264.mp4', '-vn'), 6, 'sound')
  isCopied('avi with B-frames', encode('i.avi', 'h264.mp4', '-c:v mpeg4 -bf 2 -c:a libmp3lame'), 6)
  isCopied(
    'H.264 in avi, whose frames have no presentation times',
    copy('j.avi', 'h264.mp4', '-bsf:v h264_mp4toannexb'),
    6,
  )
  const mpeg2 = '-c:v mpeg2video -bf 2 -c:a mp2 -f vob'
  isCopied('an MPEG program stream', encode('k.mpg', 'h264.mp4', mpeg2), 6)
  isCopied('ogg', encode('l.ogv', 'h264.mp4', '-c:v libtheora -c:a libvorbis'), 6)
  isCopied('asf', encode('m.asf', 'h264.mp4', '-c:v wmv2 -c:a wmav2'), 6)
  isCopied('mxf', encode('n.mxf', 'h264.mp4', '-c:v mpeg2video -c:a pcm_s16le -ar 48000'), 6)
  isCopied('mp3', encode('o.mp3', 'h264.mp4', '-vn -c:a libmp3lame'), 6, 'sound')
  isCopied('wav', encode('p.wav', 'h264.mp4', '-vn'), 6, 'sound')
  isCopied('flac', encode('q.flac', 'h264.mp4', '-vn'), 6, 'sound')
  isCopied('audio without a Matroska codec id: LATM', copy('r.ts', 'h264.mp4', '-mpegts_flags latm'), 6)
  isCopied(
    'audio without a Matroska codec id: Blu-ray PCM',
    encode('s.m2ts', 'h264.mp4', '-c:v copy -c:a pcm_bluray -ac 2'),
    6,
  )
})

cut('turned.mp4', 'c0.mp4', 0.6)

test('a copy of a truncated mp4 keeps its rotation', async () => {
  const file = at('turned.mp4')
  const bytes = await readFile(file)
  const matrix = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000]
  for (const [i, word] of matrix.entries()) bytes.writeInt32BE(word, bytes.indexOf('tkhd') + 44 + 4 * i)
  await writeFile(file, bytes)
  const media = await probe(tools, file)
  assert.equal(media.picture?.width, 96)
  assert.equal((await probe(tools, await remuxed(file, media))).picture?.width, 96)
})

test('the end of a long file is found through its index, over HTTP too', async () => {
  const copies = '-c copy long.mp4 -c copy long.mkv'
  await ffmpeg(...`-v error -stream_loop 300 -i h264.mp4 ${copies}`.split(' '))
  for (const name of ['long.mp4', 'long.mkv']) {
    const file = at(name)
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
