import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { RunError } from '../../server/lib/run.ts'
import { Unreadable } from '../../server/media/probe.ts'
import {
  assertNoErrorsLogged,
  call,
  kinora,
  type Service,
  sourcePath,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openChunkEncoder } from '../support/media/chunk-encoder.ts'
import { download, durationsIn, ffmpeg } from '../support/media/media.ts'
import {
  aac,
  lavfi,
  numberedFrames,
  readBrightness,
  splitArgs,
  tone,
  x264,
} from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, encodingOf, media, uploadVideo, waitForEncoding } from '../support/videos.ts'

const execute = promisify(execFile)
let service: Service
let folder: string
let clip: string
let black: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  black = join(folder, 'black.mov')
  await ffmpeg(...lavfi(numberedFrames()), ...tone(), ...x264, ...aac, clip)
  await ffmpeg(...lavfi('color=black:s=160x120:r=5:d=3'), ...x264, black)
  service = await kinora({ after: (end) => ends.push(end) }, withoutThumbnails())
})
after(async () => {
  for (const end of ends) await end()
})

async function uploadBytes(bytes: string | Buffer): Promise<string> {
  const path = join(folder, 'upload')
  await writeFile(path, bytes)
  return uploadVideo(service, path, { mp4Support: false })
}

/** Waits until the service is idle and has no work files left, and checks its health. */
async function assertIdle(): Promise<void> {
  await waitFor(async () => (await readdir(join(service.data, 'work')).catch(() => [])).length === 0)
  await waitFor(
    async () => (await mediaChildrenOf(service.process.pid!)).length === 0,
    () => 'a child of the service is still running',
  )
  assert.equal((await call(`${service.url}/healthz`, { key: '' })).status, 200)
}

/** Lists the children of a process that run ffmpeg, ffprobe or prlimit. */
async function mediaChildrenOf(pid: number): Promise<string[]> {
  const { stdout } = await execute('ps', ['-eo', 'ppid=,comm='])
  return stdout.split('\n').filter((line) => new RegExp(`^\\s*${pid}\\s.*(ff|prlimit)`).test(line))
}

async function assertRejected(videoId: string): Promise<string> {
  const { playable, qualities } = await waitForEncoding(service, videoId)
  assert.equal(playable, false)
  assert.ok(
    qualities.every(({ status }) => status === 'failed'),
    JSON.stringify(qualities),
  )
  const { failure = '' } = qualities[0]!
  assert.match(failure, /^[A-Z][^/]*\.$/)
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 404)
  assert.deepEqual(await readdir(join(service.data, 'files/videos', videoId)), ['source'])
  return failure
}

describe('a source that refers to other files is rejected, and these files are not opened', () => {
  const dash = (name: string) => `<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT3S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">
<Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>${name}</BaseURL>
</Representation></AdaptationSet></Period></MPD>`
  const kinds: Record<string, (name: string) => string | Buffer | Promise<Buffer>> = {
    'an HLS playlist': (name) => `#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n${name}\n#EXT-X-ENDLIST\n`,
    'an HLS playlist with an init segment': (name) =>
      `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:3\n#EXT-X-MAP:URI="${name}"\n#EXTINF:3,\n${name}\n`,
    'a DASH manifest': dash,
    'an ffconcat list': (name) => `ffconcat version 1.0\nfile '${name}'\n`,
    'an SDP': (name) =>
      `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=${name}\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
    'a MOV with an alias to external data': (name) => movWithReference(aliasReference(name)),
  }
  let other: string
  let requests = 0
  const server = createServer(async (_, response) => {
    requests += 1
    response.end(await readFile(clip))
  })
  before(async () => {
    other = await uploadVideo(service, clip)
    await waitForEncoding(service, other)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => server.close())

  for (const [title, make] of Object.entries(kinds))
    test(`${title} is rejected`, async () => {
      const source = sourcePath(service.data, other)
      const { port } = server.address() as AddressInfo
      const names = [source, `file:${source}`, `../${other}/source`, `http://127.0.0.1:${port}/film.mp4`]
      for (const name of names) await assertRejected(await uploadBytes(await make(name)))
      assert.equal(requests, 0)
      await assertIdle()
    })

  test('a MOV with a URL to external data shows only its own data', async () => {
    const { port } = server.address() as AddressInfo
    const names = [sourcePath(service.data, other), `../${other}/source`, `http://127.0.0.1:${port}/film.mp4`]
    for (const name of names) {
      const videoId = await uploadBytes(await movWithReference(urlReference(name)))
      await assertEncoded(service, videoId, ['hls 240p'])
      const { joined } = await download(service.url, videoId, '240p', folder)
      const levels = (await readBrightness(joined, '12x6')).flat()
      assert.ok(Math.max(...levels) < 20, 'the frames are not black')
    }
    assert.equal(requests, 0)
  })
})

/** Changes a black video so that it claims that its samples are in another file. */
async function movWithReference(entry: Buffer): Promise<Buffer> {
  const bytes = await readFile(black)
  const at = bytes.indexOf('dref') + 12
  const length = bytes.readUInt32BE(at)
  for (const type of ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref']) {
    const size = bytes.lastIndexOf(type, at) - 4
    bytes.writeUInt32BE(bytes.readUInt32BE(size) + entry.length - length, size)
  }
  return Buffer.concat([bytes.subarray(0, at), entry, bytes.subarray(at + length)])
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from(`1234${type}`), ...parts])
  body.writeUInt32BE(body.length)
  return body
}

const urlReference = (name: string) => box('url ', Buffer.alloc(4), Buffer.from(`${name}\0`))

/** An alias in QuickTime format: fixed fields, directory levels, the path (type 2), and the end (type -1). */
function aliasReference(name: string): Buffer {
  const fixed = Buffer.alloc(4 + 10 + 28 + 12 + 64 + 16)
  const file = name.split('/').at(-1)!
  fixed[4 + 10 + 28 + 12] = file.length
  fixed.write(file, 4 + 10 + 28 + 13)
  const levels = Buffer.from([0, 1, 0, 3, ...Buffer.alloc(16)])
  const path = Buffer.from(name.length % 2 ? `${name}\0` : name)
  const head = Buffer.from([0, 2, path.length >> 8, path.length & 255])
  return box('alis', fixed, levels, head, path, Buffer.from([255, 255, 0, 0]))
}

describe('a source with excessive demands is rejected or encoded within limits', () => {
  test('frames of 65,535 by 65,535 pixels are rejected', async () => {
    const path = join(folder, 'raw.mov')
    await ffmpeg(...lavfi('color=s=64x48:d=0.1'), ...splitArgs('-c:v rawvideo -pix_fmt yuyv422'), path)
    const bytes = await readFile(path)
    const entry = bytes.indexOf('yuvs')
    bytes.writeUInt32BE(0xffff_ffff, entry + 28)
    assert.match(await assertRejected(await uploadBytes(bytes)), /too large/)
  })

  test('a file with a thousand streams is rejected', async () => {
    assert.match(await assertRejected(await uploadBytes(matroskaWithStreams(1000))), /too many streams/)
  })

  for (const [name, durationMark] of [
    ['MP4', 'mvhd'],
    ['MKV', '\x44\x89\x88'],
  ] as const)
    test(`an ${name} that claims a duration of ten years is encoded with its real duration`, async () => {
      const path = join(folder, `years.${name}`)
      await ffmpeg('-i', clip, '-c', 'copy', '-f', name === 'MP4' ? 'mp4' : 'matroska', path)
      const bytes = await readFile(path)
      const tenYears = 315_360_000
      const at = bytes.indexOf(durationMark, 0, 'latin1')
      if (name === 'MKV') bytes.writeDoubleBE(tenYears * 1000, at + 3)
      for (const type of name === 'MP4' ? ['mvhd', 'mdhd'] : [])
        for (let i = bytes.indexOf(type); i > 0; i = bytes.indexOf(type, i + 1))
          bytes.writeUInt32BE(Math.min(0xffff_ffff, bytes.readUInt32BE(i + 16) * tenYears), i + 20)
      const videoId = await uploadBytes(bytes)
      const { qualities } = await waitForEncoding(service, videoId)
      assert.ok(
        qualities.every(({ status }) => status === 'encoded'),
        JSON.stringify(qualities),
      )
      const playlist = await media(service.url, videoId, 'hls/240p/manifest.m3u8')
      const seconds = durationsIn(playlist.text).reduce((sum, each) => sum + each, 0)
      assert.ok(seconds < 5, `it lasts ${seconds} s`)
    })

  test('a file with a hundred thousand chapters and 8 MB of tags is encoded', async () => {
    const list = join(folder, 'tags.txt')
    const chapter = (i: number) => `[CHAPTER]\nTIMEBASE=1/100000\nSTART=${i}\nEND=${i + 1}\ntitle=${i}\n`
    const chapters = Array.from({ length: 100_000 }, (_, i) => chapter(i)).join('')
    await writeFile(list, `;FFMETADATA1\ntitle=${'x'.repeat(8_000_000)}\n${chapters}`)
    const path = join(folder, 'tags.mkv')
    await ffmpeg('-i', clip, '-i', list, ...splitArgs('-map 0 -map_metadata 1 -map_chapters 1 -c copy'), path)
    const { playable } = await waitForEncoding(service, await uploadBytes(await readFile(path)))
    assert.equal(playable, true)
  })

  test('an 8K video of a few bytes is encoded in all qualities', async () => {
    const path = join(folder, '8k.mp4')
    const black = lavfi('color=black:s=7680x4320:r=1')
    await ffmpeg(...black, ...splitArgs('-t 1 -c:v libx264 -preset ultrafast'), path)
    assert.ok((await stat(path)).size < 100_000)
    const { qualities } = await waitForEncoding(service, await uploadBytes(await readFile(path)))
    assert.deepEqual(
      qualities.map(({ quality, status }) => `${quality} ${status}`),
      ['240p', '360p', '480p', '720p', '1080p', '2160p'].map((quality) => `${quality} encoded`),
    )
  })

  after(async () => {
    // The service still encodes ordinary videos.
    await assertIdle()
    const videoId = await uploadVideo(service, clip)
    await waitForEncoding(service, videoId)
    assert.equal((await encodingOf(service, videoId)).playable, true)
    await assertIdle()
    assertNoErrorsLogged(service)
  })
})

/** Writes EBML directly, because no muxer writes so many streams. */
function matroskaWithStreams(count: number): Buffer {
  const element = (id: string, ...content: Buffer[]) => {
    const body = Buffer.concat(content)
    const size = Buffer.alloc(8)
    size.writeBigUInt64BE((1n << 56n) | BigInt(body.length))
    return Buffer.concat([Buffer.from(id, 'hex'), size, body])
  }
  const number = (id: string, value: number) => element(id, Buffer.from([value >> 8, value & 255]))
  const track = (n: number) => [number('d7', n), number('73c5', n), number('83', 1)]
  const vp8 = [element('86', Buffer.from('V_VP8')), element('e0', number('b0', 64), number('ba', 48))]
  const tracks = Array.from({ length: count }, (_, i) => element('ae', ...track(i + 1), ...vp8))
  const info = element('1549a966', element('2ad7b1', Buffer.from([0x0f, 0x42, 0x40])))
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('matroska'))),
    element('18538067', info, element('1654ae6b', ...tracks), element('1f43b675', number('e7', 0))),
  ])
}

const families: Record<string, string> = {
  'a.mp4': '-c:v libx264 -preset ultrafast -bf 2 -c:a aac',
  'b.mov': '-c:v libx265 -preset ultrafast -x265-params log-level=none -tag:v hvc1 -c:a aac',
  'c.mkv': '-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus',
  'd.webm': '-c:v libvpx -deadline realtime -cpu-used -16 -threads 1 -c:a libvorbis',
  'e.avi': '-c:v mpeg4 -bf 2 -c:a libmp3lame',
  'f.ts': '-c:v mpeg2video -bf 2 -c:a mp2',
  'g.flv': '-c:v flv -c:a libmp3lame',
  'h.ogv': '-c:v libtheora -c:a libvorbis',
  'i.mp4': '-c:v libsvtav1 -preset 12 -c:a aac -movflags frag_keyframe+empty_moov',
  'j.asf': '-c:v wmv2 -c:a wmav2',
  'k.mov': '-c:v mjpeg -pix_fmt yuvj420p -q:v 20 -c:a pcm_s16le -ar 8000',
  'l.mpg': '-c:v mpeg1video -c:a mp2',
  'm.mp3': '-vn -c:a libmp3lame',
  'n.mxf': '-c:v mpeg2video -b:v 100k -r 25 -an',
}

/** Pseudorandom numbers from 0 to 1 that depend only on the seed. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function mutate(original: Buffer, random: () => number): Buffer {
  const bytes = Buffer.from(original)
  const within = (n: number) => Math.floor(random() * n)
  const flip = (from: number, to: number) => {
    const at = from + within(to - from)
    bytes[at] = bytes[at]! ^ (1 << within(8))
  }
  const kind = within(6)
  if (kind === 0) return bytes.subarray(0, 1 + within(bytes.length - 1))
  // Kind 1 damages any bytes, kinds 2 and 3 damage the start and the end, where the headers are.
  if (kind === 1) for (let n = 1 + within(30); n > 0; n--) flip(0, bytes.length)
  if (kind === 2) for (let n = 1 + within(8); n > 0; n--) flip(0, Math.min(800, bytes.length))
  if (kind === 3) for (let n = 1 + within(8); n > 0; n--) flip(Math.max(0, bytes.length - 1500), bytes.length)
  if (kind === 4) bytes.fill(within(2) * 255, within(bytes.length), bytes.length - within(bytes.length / 2))
  if (kind === 5) {
    const size = 1 + within(bytes.length / 3)
    const [a, b] = [within(bytes.length - size), within(bytes.length - size)]
    const part = Buffer.from(bytes.subarray(a, a + size))
    bytes.copyWithin(a, b, b + size)
    part.copy(bytes, b)
  }
  return bytes
}

const seed = Number(process.env.SEED ?? 1)
const rounds = Number(process.env.ROUNDS ?? 5)

describe(`a damaged file plays or is rejected (SEED=${seed})`, () => {
  const counts = { played: 0, rejected: 0 }
  let data: string
  let encoder: Awaited<ReturnType<typeof openChunkEncoder>>

  before(async () => {
    data = await temporaryFolder({ after() {} })
    encoder = await openChunkEncoder(data, { stallMs: 30_000 })
  })

  for (const [family, [name, options]] of Object.entries(families).entries())
    test(`damaged copies of ${name} play or are rejected`, async () => {
      const path = join(folder, name)
      const inputs = [...lavfi(numberedFrames({ seconds: 1.5 })), ...tone(440, 1.5)]
      await ffmpeg(...inputs, ...splitArgs(`${options} -b:v 100k -strict -1`), path)
      const bytes = await readFile(path)
      assert.ok(bytes.length < 150_000, `${name} has ${bytes.length} bytes`)
      const seeds = Array.from({ length: rounds }, (_, round) => seed + 1000 * family + round)
      const run = async () => {
        for (let one = seeds.shift(); one !== undefined; one = seeds.shift()) {
          const result = await tryToEncode(name, mutate(bytes, seededRandom(one)), one)
          if (result instanceof Error) {
            const isExpected =
              result instanceof Unreadable || result instanceof RunError || isIncompleteChunk(result)
            assert.ok(isExpected, `${name} with seed ${one}: ${result.stack}`)
            counts.rejected += 1
          } else counts.played += 1
        }
      }
      await Promise.all([run(), run(), run()])
    })

  after(async () => {
    assert.ok(counts.played > 5 && counts.rejected > 5, JSON.stringify(counts))
    assert.deepEqual(await readdir(join(data, 'work')), [])
    assert.deepEqual(await readdir(join(data, 'files/videos')), [])
    assert.deepEqual(await mediaChildrenOf(process.pid), [])
    assert.ok(process.memoryUsage().rss < 600 * 1024 ** 2)
  })

  async function tryToEncode(name: string, bytes: Buffer, id: number): Promise<Error | undefined> {
    const videoId = `${name.replace('.', '')}${id}`
    const path = join(data, videoId)
    await writeFile(path, bytes)
    try {
      const work = await encoder.plan(videoId, path)
      // An original has at most 38 frames. The limit is 60 times as many output frames, or a minute of video.
      assert.ok(work.plan.frames <= 60 * 60, `${work.plan.frames} frames of ${videoId}`)
      // Audio and video are read separately, so every third file is tested with its audio.
      const chosen = id % 3 === 0 ? 'sound' : 'picture'
      const chunk = work.chunks.find(({ track }) => track === chosen) ?? work.chunks[0]!
      await encoder.encode(videoId, work, chunk, new AbortController().signal)
      return undefined
    } catch (error) {
      return error as Error
    } finally {
      await rm(path)
      await rm(join(data, 'files/videos', videoId), { recursive: true, force: true })
    }
  }
})

/** ffmpeg succeeded but made fewer segments or frames than planned. */
const isIncompleteChunk = ({ message }: Error) => /^ffmpeg made segments of|^sound: frames/.test(message)
