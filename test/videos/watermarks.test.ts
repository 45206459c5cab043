import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import type { VideoWatermark } from '../../server/videos/tables.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  fileExists,
  kinora,
  MiB,
  productionKey,
  query,
  runKinora,
  type Service,
  sandboxKey,
  sendFile,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openChunkEncoder } from '../support/media/chunk-encoder.ts'
import { download, ffmpeg, ffprobe } from '../support/media/media.ts'
import { hevc, lavfi, rotateClockwise, splitArgs, tone, x264 } from '../support/media/sources.ts'
import { client } from '../support/published-client.ts'
import { assertEncoded, createVideo, waitForEncoding } from '../support/videos.ts'

let service: Service
let folder: string
/** An opaque red PNG of 100 x 50 pixels. */
let red: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_RESTORE_DAYS: '0' })
  red = await makeImage('red.png')
})
after(async () => {
  for (const end of ends) await end()
})

/** Makes an image of one color in any format that ffmpeg writes. */
async function makeImage(name: string, { size = '100x50', color = 'red' } = {}): Promise<string> {
  const path = join(folder, name)
  await ffmpeg(...lavfi(`color=${color}:s=${size},format=rgba`), '-frames:v', '1', path)
  return path
}

const upload = (content: Buffer | string, filename = 'file', key = productionKey) =>
  sendFile(`${service.url}/watermarks`, Buffer.from(content as string), { filename, key })

async function addWatermark(path = red, key = productionKey): Promise<string> {
  const { status, body, text } = await upload(await readFile(path), 'a.png', key)
  assert.equal(status, 200, text)
  return body.watermarkId
}

const deleteWatermark = (id: string, key = productionKey) =>
  call(`${service.url}/watermarks/${id}`, { method: 'DELETE', key })

const create = (watermark: unknown, more: object = {}, key = productionKey) =>
  call(`${service.url}/videos`, { method: 'POST', key, json: { ...more, watermark } })

const imageOf = (id: string) => join(service.data, 'files/watermarks', id, 'image.png')

/** Colors of an image or of the first frame of a video, averaged over the cells of a grid. */
async function readColors(path: string, grid: string): Promise<(x: number, y: number) => number[]> {
  const [columns = 0] = grid.split('x').map(Number)
  const raw = join(folder, 'colors.raw')
  const filter = `format=rgb24,scale=${grid.replace('x', ':')}:flags=area`
  await ffmpeg('-i', path, '-vf', filter, '-frames:v', '1', '-pix_fmt', 'rgb24', '-f', 'rawvideo', raw)
  const pixels = await readFile(raw)
  return (x, y) => [...pixels.subarray(3 * (y * columns + x), 3 * (y * columns + x) + 3)]
}

const isRed = ([r = 0, g = 0, b = 0]: number[]) => r > 200 && g < 50 && b < 50

/** Lists the cells of a 10 x 10 grid that are red, as `xy`. */
async function redCells(path: string): Promise<string> {
  const colors = await readColors(path, '10x10')
  const cells = Array.from({ length: 100 }, (_, i) => [i % 10, Math.floor(i / 10)] as const)
  return cells
    .filter(([x, y]) => isRed(colors(x, y)))
    .map(([x, y]) => `${x}${y}`)
    .join(' ')
}

describe('the watermark routes', () => {
  test('a key of the other environment neither sees, lists, uses nor deletes a watermark', async () => {
    const id = await addWatermark()
    for (const path of [`/watermarks/${id}/image`, `/sandbox/watermarks/${id}/image`])
      assertProblem(
        await call(service.url + path, { key: sandboxKey }),
        404,
        'resource-not-found',
        'watermarkId',
      )
    assert.equal((await call(`${service.url}/watermarks/${id}/image`, { key: '' })).status, 401)
    const { body } = await call(`${service.url}/watermarks`, { key: sandboxKey })
    assert.deepEqual(body.data, [])
    assertProblem(await deleteWatermark(id, sandboxKey), 404, 'resource-not-found', 'watermarkId')
    assertProblem(await create({ id }, {}, sandboxKey), 400, 'invalid-attribute', 'watermark[id]')
    assert.equal((await create({ id })).status, 201)
    assert.equal((await deleteWatermark(id)).status, 204)
  })

  test('the published client uploads a path, a stream and a buffer, lists, uses and deletes watermarks', async () => {
    const { watermarks, videos } = client(service.url)
    const ids: string[] = []
    for (const file of [red, createReadStream(red), await readFile(red)]) {
      const { watermarkId = '', createdAt } = await watermarks.upload(file as string)
      assert.match(watermarkId, /^watermark_[0-9A-Za-z]{22}$/)
      assert.ok(createdAt instanceof Date)
      ids.push(watermarkId)
    }
    const page = await watermarks.list({ sortBy: 'createdAt', sortOrder: 'asc', currentPage: 2, pageSize: 2 })
    assert.deepEqual(
      page.data.map(({ watermarkId }) => watermarkId),
      [ids[2]],
    )
    assert.equal(page.pagination.itemsTotal, 3)
    const [newest] = (await watermarks.list({})).data
    assert.equal(newest?.watermarkId, ids[2])

    const watermark = {
      id: ids[0]!,
      top: '10px',
      left: '5%',
      width: '20%',
      height: 'initial',
      opacity: '60%',
    }
    const { videoId } = await videos.create({ title: 'Film', watermark })
    const [row] = await query(service.database, 'select watermark from videos where id = $1', [videoId])
    assert.deepEqual(row.watermark, {
      id: ids[0],
      image: { width: 100, height: 50 },
      position: {
        top: { value: 10, unit: 'px' },
        left: { value: 5, unit: '%' },
        width: { value: 20, unit: '%' },
        height: { value: 50, unit: 'px' },
      },
      opacity: 0.6,
    })
    for (const id of ids) await watermarks.delete(id)
    assert.deepEqual((await watermarks.list({})).data, [])
    await assert.rejects(watermarks.delete(ids[0]!), { code: 404 })
    await waitFor(async () => !(await fileExists(imageOf(ids[0]!))))
  })

  test('a list has no unknown order, and an unknown id is not found', async () => {
    for (const [name, value] of [
      ['sortBy', 'name'],
      ['sortOrder', 'up'],
      ['pageSize', '101'],
    ] as const)
      assertProblem(
        await call(`${service.url}/watermarks?${name}=${value}`),
        400,
        'request-invalid-query-parameter',
        name,
      )
    for (const id of ['x', `watermark_${'0'.repeat(22)}`, '..%2F..%2Fvideos'])
      for (const response of [await deleteWatermark(id), await call(`${service.url}/watermarks/${id}/image`)])
        assertProblem(response, 404, 'resource-not-found', 'watermarkId')
  })

  test('the image of a watermark is sent as a PNG that browsers do not run, until it is deleted', async () => {
    const id = await addWatermark()
    const load = (method = 'GET') =>
      fetch(`${service.url}/watermarks/${id}/image`, {
        method,
        headers: { authorization: `Bearer ${productionKey}` },
      })
    const response = await load()
    assert.equal(response.status, 200)
    assert.ok((await readFile(imageOf(id))).equals(Buffer.from(await response.arrayBuffer())))
    assert.deepEqual(
      ['content-type', 'x-content-type-options', 'cache-control', 'content-security-policy'].map((name) =>
        response.headers.get(name),
      ),
      ['image/png', 'nosniff', 'private, max-age=86400', "default-src 'none'; sandbox"],
    )
    const head = await load('HEAD')
    assert.deepEqual(
      [head.status, head.headers.get('content-length')],
      [200, response.headers.get('content-length')],
    )
    assert.equal((await deleteWatermark(id)).status, 204)
    assert.equal((await load()).status, 404)
  })

  test('the stored image is a PNG that ffmpeg made: upright, with transparency and without metadata', async () => {
    const formatOf = async (id: string) =>
      (await ffprobe(imageOf(id), '-show_entries', 'stream=codec_name,width,height,pix_fmt'))[0]
    const jpeg = await readFile(await makeImage('turned.jpg', { size: '64x32' }))
    const exif = '4578696600004d4d002a00000008000101120003000000010006000000000000'
    const segment = Buffer.from(`ffe1${(2 + exif.length / 2).toString(16).padStart(4, '0')}${exif}`, 'hex')
    const turned = join(folder, 'turned-exif.jpg')
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, 10]), Buffer.from('<script>')])
    await writeFile(turned, Buffer.concat([jpeg.subarray(0, 2), segment, comment, jpeg.subarray(2)]))
    const id = await addWatermark(turned)
    assert.equal(await formatOf(id), 'png,32,64,rgba')
    assert.ok(!(await readFile(imageOf(id))).includes('<script>'))
    const [row] = await query(service.database, 'select width, height from watermarks where id = $1', [id])
    assert.deepEqual(row, { width: 32, height: 64 })

    const large = await addWatermark(await makeImage('large.png', { size: '5000x100', color: 'red@0.5' }))
    assert.equal(await formatOf(large), 'png,3840,77,rgba')
  })

  test('a file that is not a JPEG or PNG image is rejected and nothing is stored', async () => {
    const stored = async () => (await readdir(join(service.data, 'files/watermarks'))).length
    const total = async () => (await call(`${service.url}/watermarks`)).body.pagination.itemsTotal
    const before = await total()
    // Jobs of earlier tests may still remove images.
    await waitFor(async () => (await stored()) === before)
    const assertRejected = async (
      content: Buffer | string,
      slug: string,
      filename = 'a.png',
    ): Promise<ApiResponse> => {
      const response = await upload(content, filename)
      assertProblem(response, 400, slug, 'file')
      return response
    }
    const kind = 'uploaded-file-extension-invalid'
    await assertRejected('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', kind)
    await assertRejected('<!doctype html><script>alert(1)</script>', kind)
    await assertRejected('#EXTM3U\n#EXTINF:3,\n/etc/passwd\n', kind)
    await assertRejected(await readFile(await makeImage('a.webp')), kind)
    await assertRejected(await readFile(await makeImage('a.gif')), kind)
    await assertRejected('', 'uploaded-file-empty')
    const broken = 'uploaded-file-invalid-file'
    for (const name of ['b.jpg', 'b.png']) {
      const complete = await readFile(await makeImage(name, { size: '320x180' }))
      await assertRejected(complete.subarray(0, Math.floor(complete.length / 2)), broken)
      await assertRejected(complete.subarray(0, 20), broken)
    }
    await assertRejected(
      Buffer.concat([await readFile(red), Buffer.alloc(8 * MiB)]),
      'uploaded-file-too-large',
    )
    const { body } = await assertRejected(bomb(30_000), 'uploaded-file-too-large')
    assert.match(body.title, /30000 x 30000 pixels/)
    await waitFor(async () => (await readdir(join(service.data, 'work'))).length === 0)
    assert.deepEqual([await stored(), await total()], [before, before])
  })

  /** The start of a valid PNG with this many black pixels on each side: few bytes, but gigabytes when it is decoded. */
  function bomb(side: number): Buffer {
    const header = Buffer.alloc(13)
    header.writeUInt32BE(side, 0)
    header.writeUInt32BE(side, 4)
    header.set([1, 0, 0, 0, 0], 8)
    const chunk = (name: string, data: Buffer) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(data.length)
      const crc = Buffer.alloc(4)
      return Buffer.concat([length, Buffer.from(name), data, crc])
    }
    const rows = deflateSync(Buffer.alloc(4 * MiB))
    return Buffer.concat([
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      chunk('IHDR', header),
      chunk('IDAT', rows),
      chunk('IEND', Buffer.alloc(0)),
    ])
  }
})

describe('a video with a watermark', () => {
  test('invalid settings are rejected by their name and nothing is stored', async () => {
    const id = await addWatermark()
    const folders = async () => (await readdir(join(service.data, 'files/videos')).catch(() => [])).length
    const countVideos = async () => (await call(`${service.url}/videos`)).body.pagination.itemsTotal
    const before = [await folders(), await countVideos()]
    for (const [name, values] of Object.entries({
      top: ['-10px', '10em', '101%', 'initial', '', 5, null],
      left: ['-1%'],
      bottom: ['1e9px', '99999999px'],
      right: ['right'],
      width: ['0px', '150%', 'auto', '-5px', 'x'.repeat(1_000)],
      height: ['0%', '200%'],
      opacity: ['300%', '-1%', '0.5', '50px'],
    }))
      for (const value of values)
        assertProblem(await create({ id, [name]: value }), 400, 'invalid-attribute', `watermark[${name}]`)
    const { body } = await create({ id, top: '-1px', opacity: '300%' })
    assert.deepEqual(
      body.problems.map((problem: { name: string }) => problem.name),
      ['watermark[top]', 'watermark[opacity]'],
    )
    for (const unknown of ['x', '../../videos', `watermark_${'0'.repeat(22)}`, '\0'])
      assertProblem(await create({ id: unknown }), 400, 'invalid-attribute', 'watermark[id]')
    assertProblem(await create({}), 400, 'invalid-attribute', 'watermark[id]')
    const noTheme = await create({ id }, { playerId: `pl${'0'.repeat(22)}` })
    assertProblem(noTheme, 400, 'invalid-attribute', 'playerId')
    assert.deepEqual([await folders(), await countVideos()], before)
  })

  test('the watermark is at its place in every quality, the MP4, the thumbnail and the sprites, even if it is deleted before the upload', async () => {
    const clip = join(folder, 'gray.mp4')
    await ffmpeg(...lavfi('color=gray:s=640x360:r=10:d=6'), ...tone(440, 6), ...x264, clip)
    const id = await addWatermark()
    const watermark = { id, right: '10%', bottom: '36px', width: '128px', height: '20%' }
    const videoId = await createVideo(service, { watermark })
    assert.equal((await deleteWatermark(id)).status, 204)
    await waitFor(async () => !(await fileExists(imageOf(id))))
    const sent = await sendFile(`${service.url}/videos/${videoId}/source`, await readFile(clip))
    assert.equal(sent.status, 201, sent.text)
    await assertEncoded(service, videoId, ['hls 240p', 'hls 360p', 'mp4 360p'])

    const expected = '77 87 78 88'
    for (const quality of ['240p', '360p']) {
      const { segments } = await download(service.url, videoId, quality, folder)
      assert.equal(segments.length, 4)
      for (const segment of segments) assert.equal(await redCells(segment), expected, quality)
    }
    const save = async (path: string) => {
      const response = await fetch(`${service.url}/vod/${videoId}/${path}`)
      const file = join(folder, path.replace('/', '-'))
      await writeFile(file, Buffer.from(await response.arrayBuffer()))
      return file
    }
    assert.equal(await redCells(await save('mp4/source.mp4')), expected)
    await waitFor(async () => (await fetch(`${service.url}/vod/${videoId}/sprites.vtt`)).status === 200)
    assert.equal(await redCells(await save('thumbnail.jpg')), expected)
    const tile = join(folder, 'tile.png')
    await ffmpeg('-i', await save('sprites/0.jpg'), '-vf', 'crop=480:270:0:0', tile)
    assert.equal(await redCells(tile), expected)

    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    await waitFor(async () => !(await fileExists(join(service.data, 'files/videos', videoId))))
  })

  test('a copy of a video has only the watermark of its own creation', async () => {
    const clip = join(folder, 'short.mp4')
    await ffmpeg(...lavfi('color=gray:s=160x90:r=10:d=1'), ...x264, clip)
    const id = await addWatermark()
    const mp4Support = false
    const { body: first } = await create({ id, width: '50%', height: '50%' }, { mp4Support })
    await sendFile(`${service.url}/videos/${first.videoId}/source`, await readFile(clip))
    const ofSource = (json: object) =>
      call(`${service.url}/videos`, { method: 'POST', json: { source: first.videoId, mp4Support, ...json } })
    const { body: plain } = await ofSource({})
    const { body: marked } = await ofSource({ watermark: { id, bottom: '0%', width: '20%', height: '20%' } })
    const cells = async (videoId: string) => {
      await waitForEncoding(service, videoId)
      return redCells((await download(service.url, videoId, '240p', folder)).joined)
    }
    assert.equal(await cells(plain.videoId), '')
    assert.equal(await cells(marked.videoId), '08 18 09 19')
  })
})

describe('the encoder', () => {
  let encoder: Awaited<ReturnType<typeof openChunkEncoder>>
  let data: string
  let encoded = 0

  before(async () => {
    data = await temporaryFolder({ after() {} })
    encoder = await openChunkEncoder(data)
  })

  const px = (value: number) => ({ value, unit: 'px' }) as const
  const percent = (value: number) => ({ value, unit: '%' }) as const
  const mark: VideoWatermark = { id: '', image: { width: 100, height: 50 }, position: {}, opacity: 1 }

  /** Encodes a source with a watermark and returns the path of the lowest quality. */
  async function encode(
    source: string,
    watermark: Partial<VideoWatermark>,
    { environment = 'production', image = red } = {},
  ): Promise<string> {
    const videoId = `video-${encoded++}`
    await mkdir(join(data, 'files/videos', videoId), { recursive: true })
    await writeFile(join(data, 'files/videos', videoId, 'watermark.png'), await readFile(image))
    const work = await encoder.plan(videoId, source, { environment, watermark: { ...mark, ...watermark } })
    const chunk = work.chunks.find(({ track }) => track === 'picture')!
    const [rendition] = await encoder.encode(videoId, work, chunk, new AbortController().signal)
    const segment = await readFile(join(data, 'files', rendition!.key, '0.m4s'))
    const path = join(folder, `${videoId}.mp4`)
    await writeFile(path, Buffer.concat([rendition!.initialization!.bytes, segment]))
    return path
  }

  const plainClip = async (name: string, args: string[], { color = 'gray' } = {}) => {
    const path = join(folder, name)
    await ffmpeg(...lavfi(`color=${color}:s=320x240:r=5:d=1`), ...args, path)
    return path
  }

  test('positions in a rotated video are those that viewers see', async () => {
    const clip = await plainClip('turned.mp4', x264)
    await writeFile(clip, rotateClockwise(await readFile(clip)))
    // 240 x 320 pixels when it is shown.
    const position = { left: px(24), top: px(256), width: px(48), height: px(32) }
    assert.equal(await redCells(await encode(clip, { position })), '18 28')
  })

  test('an image that is larger than the video is scaled down to the frame, also over the still frame of an audio file', async () => {
    const sound = join(folder, 'sound.wav')
    await ffmpeg(...tone(440, 1), sound)
    const image = { width: 4260, height: 1200 }
    const cells = await redCells(await encode(sound, { image, position: { bottom: px(0) } }))
    assert.equal(cells.split(' ').length, 50)
    assert.ok(cells.startsWith('05 15 25') && cells.endsWith('79 89 99'), cells)
  })

  test('colors are exact in HDR video and with either color matrix', async () => {
    const position = { width: percent(100), height: percent(100) }
    const green = await makeImage('green.png', { color: '0x20c040' })
    const tagged = (matrix: string) =>
      splitArgs(`-colorspace ${matrix} -color_primaries bt709 -color_trc bt709`)
    for (const clip of [
      await plainClip('hdr.mp4', [
        ...hevc('transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc'),
        ...splitArgs('-pix_fmt yuv420p10le'),
      ]),
      await plainClip('bt709.mp4', [...x264, ...tagged('bt709')]),
      await plainClip('bt601.mp4', [...x264, ...tagged('smpte170m')]),
    ]) {
      const color = (await readColors(await encode(clip, { position }, { image: green }), '4x4'))(1, 1)
      const isExact = color.every((level, i) => Math.abs(level - [0x20, 0xc0, 0x40][i]!) <= 6)
      assert.ok(isExact, `${clip}: ${color}`)
    }
  })

  test('opacity mixes the image with the video, and transparent pixels leave no fringe', async () => {
    const clip = await plainClip('opacity.mp4', x264)
    const half = { ...mark, position: { width: percent(100), height: percent(100) }, opacity: 0.5 }
    const [r = 0, g = 0] = (await readColors(await encode(clip, half), '4x4'))(1, 1)
    assert.ok(Math.abs(r - 191) <= 6 && Math.abs(g - 64) <= 6, `${r} ${g}`)

    // Transparent pixels are black. If they were scaled without their transparency, the white lines would be gray.
    const lines = join(folder, 'lines.png')
    const line = '255*lt(mod(X,7),3)'
    const geq = `geq=r='${line}':g='${line}':b='${line}':a='${line}'`
    await ffmpeg(...lavfi(`color=black:s=100x100,format=rgba,${geq}`), '-frames:v', '1', lines)
    const image = { width: 100, height: 100 }
    const position = { width: px(20), height: px(20) }
    const white = await plainClip('white.mp4', x264, { color: 'white' })
    const path = await encode(white, { image, position }, { image: lines })
    const colors = await readColors(path, '320x240')
    const levels = Array.from({ length: 20 }, (_, x) => colors(x, 10)[0]!)
    assert.ok(Math.min(...levels) > 235, levels.join())
  })

  test('a sandbox video has its own watermark and that of the sandbox', async () => {
    const clip = await plainClip('sandbox.mp4', x264)
    const position = { bottom: px(0), width: percent(20), height: percent(20) }
    const path = await encode(clip, { position }, { environment: 'sandbox' })
    assert.equal(await redCells(path), '08 18 09 19')
    const colors = await readColors(path, '320x240')
    const pixels = Array.from({ length: 320 * 240 }, (_, i) => [i % 320, Math.floor(i / 320)] as const)
    const bright = pixels.filter(([x, y]) => colors(x, y)[1]! > 160)
    assert.ok(bright.length > 50, `${bright.length} bright pixels`)
    assert.ok(bright.every(([x, y]) => x > 190 && y < 60))
  })
})

test('the command line adds, lists, uses and deletes watermarks', async () => {
  const env = { HOME: folder, KINORA_URL: service.url, KINORA_KEY: productionKey }
  const run = (...args: string[]) => runKinora(args, env)
  const added = await run('watermarks', 'add', red)
  assert.equal(added.code, 0, added.stderr)
  const id = added.stdout.trim()
  const listed = await run('watermarks', 'list', '--json')
  assert.equal(JSON.parse(listed.stdout).at(-1).watermarkId, id)

  const clip = join(folder, 'cli.mp4')
  await ffmpeg(...lavfi('color=gray:s=160x90:r=10:d=1'), ...x264, clip)
  const uploaded = await run('upload', clip, '--json', '--watermark', `${id},right=2%,opacity=50%`)
  assert.equal(uploaded.code, 0, uploaded.stderr)
  const { videoId } = JSON.parse(uploaded.stdout)
  const [row] = await query(service.database, 'select watermark from videos where id = $1', [videoId])
  assert.deepEqual([row.watermark.position.right, row.watermark.opacity], [{ value: 2, unit: '%' }, 0.5])
  const wrong = await run('upload', clip, '--watermark', `${id},wide=2%`)
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /--watermark must be ID/)

  const removed = await run('watermarks', 'delete', id)
  assert.equal(removed.code, 0, removed.stderr)
  const again = await run('watermarks', 'delete', id)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /404/)
  const rejected = await run('watermarks', 'add', clip)
  assert.match(rejected.stderr, /not a JPEG or PNG image/)
})
