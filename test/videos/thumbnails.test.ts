import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findTileFrames, layOutSprites } from '../../server/media/sprites.ts'
import { spriteSheetArgs } from '../../server/media/thumbnails.ts'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { openPlayer } from '../support/browser/player-page.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  fileExists,
  kinora,
  MiB,
  query,
  type Service,
  sandboxKey,
  sendFile,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { download, ffmpeg, ffprobe } from '../support/media/media.ts'
import {
  frames,
  hevc,
  lavfi,
  numberedFrames,
  readBrightness,
  readFrameNumbers,
  rotateClockwise,
  stripes,
  tone,
  x264,
} from '../support/media/sources.ts'
import { client } from '../support/published-client.ts'
import { createDeployment, expireLeases, fakeProgram, hangsOnce } from '../support/recovery.ts'
import { createVideo, media, uploadVideo, waitForEncoding } from '../support/videos.ts'

let service: Service
let folder: string
/** 13 s of 360p. The first five seconds are black, and the later frames show their number. */
let clip: string
/** A video of the clip with the automatic thumbnail. */
let film: string
/** A video of the clip whose thumbnail was picked before its source was uploaded. */
let picked: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  const black = "drawbox=c=black:t=fill:enable='lt(t,5)'"
  const graph = numberedFrames({ size: '640x360', seconds: 13, filter: black })
  await ffmpeg(...lavfi(graph), ...x264, clip)
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_RESTORE_DAYS: '0' })
  picked = await createVideo(service, { mp4Support: false })
  const { status } = await pick(picked, '00:00:09:03')
  assert.equal(status, 200)
  const sent = await sendFile(`${service.url}/videos/${picked}/source`, await readFile(clip))
  assert.equal(sent.status, 201, sent.text)
  film = await uploadVideo(service, clip, { mp4Support: false })
})
after(async () => {
  for (const end of ends) await end()
})

const pick = (videoId: string, timecode: unknown) =>
  call(`${service.url}/videos/${videoId}/thumbnail`, { method: 'PATCH', json: { timecode } })

const upload = (videoId: string, content: Buffer, filename = 'file') =>
  sendFile(`${service.url}/videos/${videoId}/thumbnail`, content, { filename })

type FetchedImage = { status: number; headers: Headers; bytes: Buffer; path: string }

let savedImages = 0
/** Fetches an image and saves it as a file. */
async function fetchImage(url: string): Promise<FetchedImage> {
  const response = await fetch(url)
  const bytes = Buffer.from(await response.arrayBuffer())
  const path = join(folder, `${savedImages++}.jpg`)
  await writeFile(path, bytes)
  return { status: response.status, headers: response.headers, bytes, path }
}

const thumbnail = (videoId: string) => fetchImage(`${service.url}/vod/${videoId}/thumbnail.jpg`)

async function formatOf(path: string): Promise<string> {
  const [line] = await ffprobe(path, '-show_entries', 'stream=codec_name,width,height')
  return line!
}

/** Reads the frame number that a thumbnail shows. A black thumbnail also gives 0. */
async function numberOf(videoId: string): Promise<number> {
  const { numbers } = await readFrameNumbers((await thumbnail(videoId)).path)
  return numbers[0]!
}

const waitForNumber = async (videoId: string, expected: number) => {
  let number = -1
  await waitFor(
    async () => {
      number = await numberOf(videoId)
      return number === expected
    },
    () => `the thumbnail shows frame ${number}, not ${expected}`,
  )
}

const rowOf = async (videoId: string) =>
  (await query(service.database, 'select * from pictures where video_id = $1', [videoId]))[0]

/** Waits for the sprites and the thumbnail of the highest quality, which are made when the encoding has ended. */
const waitForThumbnails = (videoId: string) =>
  waitFor(async () => {
    const row = await rowOf(videoId)
    return row?.sprites_key && /-360p-/.test(row.thumbnail_key)
  })

/** Makes an image of one color in any format that ffmpeg writes. */
async function makeImage(name: string, { size = '640x360', color = 'red' } = {}) {
  const path = join(folder, name)
  await ffmpeg(...lavfi(`color=${color}:s=${size},format=rgba`), '-frames:v', '1', path)
  return path
}

test('the thumbnail URL of an empty video returns a placeholder that is not cached', async () => {
  const videoId = await createVideo(service)
  const { status, headers, path } = await thumbnail(videoId)
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'image/jpeg')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(await formatOf(path), 'mjpeg,1280,720')
  assert.equal((await media(service.url, videoId, 'sprites.vtt')).status, 404)
  assert.equal((await media(service.url, videoId, 'sprites/0.jpg')).status, 404)
  assertProblem(
    await media(service.url, `vi${'0'.repeat(22)}`, 'thumbnail.jpg'),
    404,
    'resource-not-found',
    'videoId',
  )
})

describe('the thumbnail of an encoded video', () => {
  before(async () => {
    await waitForThumbnails(film)
    await waitForThumbnails(picked)
  })

  test('the automatic thumbnail is a frame that is not black, in the highest quality', async () => {
    const { status, headers, path } = await thumbnail(film)
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'public, max-age=60')
    assert.equal(await formatOf(path), 'mjpeg,640,360')
    const [levels = []] = await readBrightness(path, '8x8')
    assert.ok(Math.max(...levels) > 100, `${levels}`)
    // The frames at 10% and 30% of the duration are black.
    assert.equal(await numberOf(film), 162)
    const etag = headers.get('etag')!
    const again = await call(`${service.url}/vod/${film}/thumbnail.jpg`, {
      key: '',
      headers: { 'if-none-match': etag },
    })
    assert.equal(again.status, 304)
  })

  test('a frame that was picked before the upload becomes the thumbnail, exact to the frame', async () => {
    assert.equal(await numberOf(picked), 228)
    assert.equal(await formatOf((await thumbnail(picked)).path), 'mjpeg,640,360')
  })

  test('every timecode format picks its frame', async () => {
    for (const [timecode, frame] of [
      ['00:00:05.000', 125],
      ['12', 300],
      ['00:00:06.040', 151],
      ['00:00:12:24', 324],
    ] as const) {
      const { status, body } = await pick(picked, timecode)
      assert.equal(status, 200)
      assert.equal(body.videoId, picked)
      assert.equal(body.assets.thumbnail, `${service.url}/vod/${picked}/thumbnail.jpg`)
      await waitForNumber(picked, frame)
    }
    // A timecode after the end picks the first frame, which is black.
    await pick(picked, '00:15:22.05')
    await waitFor(async () => {
      const [levels = []] = await readBrightness((await thumbnail(picked)).path, '4x4')
      return Math.max(...levels) < 40
    })
  })

  test('an invalid timecode is rejected by its name', async () => {
    for (const timecode of ['', 'soon', '-1', '00:61:00', '1:2', 12, null, ['12']])
      assertProblem(await pick(film, timecode), 400, 'invalid-attribute', 'timecode')
    const none = await call(`${service.url}/videos/${film}/thumbnail`, { method: 'PATCH', json: {} })
    assertProblem(none, 400, 'attribute-required', 'timecode')
  })

  test('the last request determines the thumbnail, whether it was picked or uploaded', async () => {
    const videoId = picked
    const red = await readFile(await makeImage('uploaded.png'))
    assert.equal((await upload(videoId, red)).status, 200)
    assert.ok(await isRed(videoId))
    await pick(videoId, '8')
    await waitForNumber(videoId, 200)
    // After concurrent requests, the thumbnail matches the request that the database recorded last.
    await Promise.all([pick(videoId, '9'), upload(videoId, red), pick(videoId, '10'), upload(videoId, red)])
    await waitFor(async () => {
      const {
        thumbnail_source: source,
        timecode,
        thumbnail_key: key,
        uploading_key: uploading,
      } = await rowOf(videoId)
      if (source === 'uploaded') return key.includes('/uploaded-') && (await isRed(videoId))
      return uploading === null && key.includes(`/picked-360p-${Number(timecode) * 25}-`)
    })
    // The files of earlier thumbnails are removed.
    await waitFor(async () => {
      const names = await readdir(join(service.data, 'files/videos', videoId, 'pictures'))
      return names.filter((name) => name.endsWith('.jpg')).length === 1
    })
  })

  test('the files that a killed worker left behind are removed', async () => {
    const imageFolder = join(service.data, 'files/videos', picked, 'pictures')
    await mkdir(join(imageFolder, 'sprites-old'), { recursive: true })
    await writeFile(join(imageFolder, 'sprites-old/0.jpg'), 'x')
    await writeFile(join(imageFolder, 'automatic-240p-whole-old.jpg'), 'x')
    await pick(picked, '7')
    await waitForNumber(picked, 175)
    await waitFor(async () => (await readdir(imageFolder)).every((name) => !name.includes('old')))
  })
})

/** Whether the average color of the thumbnail is red. */
async function isRed(videoId: string): Promise<boolean> {
  const { path } = await thumbnail(videoId)
  const raw = join(folder, `${savedImages++}.raw`)
  await ffmpeg('-i', path, '-vf', 'scale=1:1', '-pix_fmt', 'rgb24', '-f', 'rawvideo', raw)
  const [r = 0, g = 0, b = 0] = await readFile(raw)
  return r > 200 && g < 60 && b < 60
}

describe('sprites', () => {
  before(() => waitForThumbnails(film))

  test('each sprite shows the middle of its interval, and the list gives its time', async () => {
    const list = await media(service.url, film, 'sprites.vtt')
    assert.equal(list.status, 200)
    assert.equal(list.headers.get('content-type'), 'text/vtt')
    const cues = list.text.trim().split('\n\n')
    assert.equal(cues.shift(), 'WEBVTT')
    const second = (i: number) => `00:00:${String(i).padStart(2, '0')}.000`
    const rectangle = (i: number) => `#xywh=${(i % 5) * 480},${Math.floor(i / 5) * 270},480,270`
    assert.deepEqual(
      cues,
      frames(13).map((i) => `${second(i)} --> ${second(i + 1)}\nsprites/0.jpg${rectangle(i)}`),
    )
    const sheet = await fetchImage(`${service.url}/vod/${film}/sprites/0.jpg`)
    assert.equal(sheet.headers.get('content-type'), 'image/jpeg')
    assert.match(sheet.headers.get('cache-control')!, /immutable/)
    assert.equal(await formatOf(sheet.path), 'mjpeg,2400,810')
    const tiles = join(folder, 'tiles.mkv')
    await ffmpeg('-i', sheet.path, '-vf', 'untile=5x3', '-c:v', 'ffv1', tiles)
    const { numbers } = await readFrameNumbers(tiles)
    // The first five seconds are black, and so are the two empty places at the end of the sheet.
    assert.deepEqual(numbers, [...frames(13, (i) => (i < 5 ? 0 : 25 * i + 12)), 0, 0])
  })

  test('the video shows the sheets of its preview, with a token if it is private', async () => {
    const at = `${service.url}/videos/${film}?include[]=preview`
    const grid = { tiles: 13, columns: 5, rows: 3, width: 480, height: 270, interval: 1 }
    const plain = `${service.url}/vod/${film}`
    const { preview } = (await call(at)).body.assets
    assert.deepEqual(preview, { vtt: `${plain}/sprites.vtt`, sheets: [`${plain}/sprites/0.jpg`], ...grid })
    const setPublic = (isPublic: boolean) =>
      call(`${service.url}/videos/${film}`, { method: 'PATCH', json: { public: isPublic } })
    await setPublic(false)
    const { assets } = (await call(at)).body
    const { vtt, sheets } = assets.preview
    assert.equal(vtt, assets.thumbnail.replace('thumbnail.jpg', 'sprites.vtt'))
    // A preview does not use up the token.
    for (const url of [...sheets, ...sheets, vtt, assets.hls])
      assert.equal((await fetch(url)).status, 200, url)
    assert.equal((await fetch(`${plain}/sprites/0.jpg`)).status, 403)
    await setPublic(true)
  })

  test('the player shows the sprite of the time at the pointer, and nothing while it is loading', {
    skip,
  }, async (t) => {
    const browser = await launchBrowser()
    t.after(() => browser!.close())
    const context = await browser!.newContext({
      viewport: { width: 1280, height: 720 },
      deviceScaleFactor: 2,
    })
    const loading = Promise.withResolvers<void>()
    await context.route('**/sprites/0.jpg', async (route) => {
      await loading.promise
      await route.continue()
    })
    const { page, until, evaluate } = await openPlayer(t, browser!, `${service.url}/vod/${film}`, { context })
    await until('video.readyState >= 1')
    const bar = `document.querySelector('media-time-range')`
    const preview = `${bar}.shadowRoot.querySelector('media-preview-thumbnail')`
    const image = `${preview}.shadowRoot.querySelector('img')`
    const isShown = `${image}.checkVisibility({ visibilityProperty: true })`
    await until(`[...video.textTracks].some((track) => track.cues?.length === 13)`)
    const { x, y, width, height } = (await page.locator('media-time-range').boundingBox())!
    for (const position of [0.5, 0.62, 0.97]) {
      await page.mouse.move(x + width * position, y + height / 2)
      await until(`Math.abs(${bar}.mediaPreviewTime - ${13 * position}) < 0.3 && ${image}.src !== ''`)
      if (position === 0.5) assert.equal(await evaluate(isShown), false)
      loading.resolve()
      await until(isShown)
      const time = await evaluate<number>(`${bar}.mediaPreviewTime`)
      const box = await evaluate<{ x: number; y: number; width: number; height: number }>(
        `${preview}.getBoundingClientRect().toJSON()`,
      )
      assert.deepEqual([box.width, box.height], [320, 180])
      const path = join(folder, 'preview.png')
      // The preview fades in, and is decoded meanwhile.
      await waitFor(async () => {
        await page.screenshot({ path, clip: box })
        const { numbers } = await readFrameNumbers(path)
        return numbers[0] === 25 * Math.floor(time) + 12
      })
    }
  })

  test('a long video has 400 sprites on 16 sheets, each of the middle of its interval', async () => {
    const input = join(folder, 'long.mp4')
    const size = { width: 96, height: 48 }
    await ffmpeg(...lavfi(numberedFrames({ size: '96x48', rate: '2', seconds: 600 })), ...x264, input)
    const grid = { rate: { num: 2, den: 1 }, frames: 1_200 }
    const sprites = layOutSprites(grid, size)
    const sheets = join(folder, 'long')
    await mkdir(sheets)
    const output = join(sheets, '%d.jpg')
    await ffmpeg(...spriteSheetArgs({ input, frames: findTileFrames(grid, sprites).frames, sprites, output }))
    assert.equal((await readdir(sheets)).length, 16)
    const tiles = join(folder, 'long.mkv')
    await ffmpeg('-i', output, '-vf', 'untile=5x5', '-c:v', 'ffv1', tiles)
    const { numbers } = await readFrameNumbers(tiles)
    assert.deepEqual(
      numbers,
      frames(400, (i) => 3 * i + 1),
    )
  })

  test('other names return 404', async () => {
    assert.equal((await media(service.url, film, 'sprites/1.jpg')).status, 404)
    for (const name of ['00.jpg', '-1.jpg', '0.png', '0.jpg.', '..%2Fthumbnail.jpg', '1e1.jpg'])
      assertProblem(await media(service.url, film, `sprites/${name}`), 404, 'unrecognized-request-url')
  })
})

test('the thumbnail of an HDR video has the brightness of the video', async () => {
  const path = join(folder, 'hdr.mp4')
  // Black, 203 nits, 1,000 nits and 26 nits.
  const levels = stripes([64, 573, 723, 382])
  await ffmpeg(...levels, '-vf', 'scale=640:360', ...hevc('transfer=smpte2084:colorprim=bt2020'), path)
  const videoId = await uploadVideo(service, path, { mp4Support: false })
  await waitForThumbnails(videoId)
  const { joined } = await download(service.url, videoId, '360p', folder)
  const [video = []] = await readBrightness(joined, '4x1')
  const [image = []] = await readBrightness((await thumbnail(videoId)).path, '4x1')
  const isNear = (level: number, i: number) => Math.abs(level - video[i]!) <= 3
  assert.ok(image.every(isNear) && video[1]! > 215, `${image} for ${video}`)
})

test('an audio file has a thumbnail of its still frame and no sprites', async () => {
  const path = join(folder, 'sound.wav')
  await ffmpeg(...tone(440, 3), path)
  const videoId = await uploadVideo(service, path, { mp4Support: false })
  await waitForEncoding(service, videoId)
  await waitFor(async () => /whole/.test((await rowOf(videoId))?.thumbnail_key ?? ''))
  assert.equal(await formatOf((await thumbnail(videoId)).path), 'mjpeg,426,240')
  assert.equal((await media(service.url, videoId, 'sprites.vtt')).status, 404)
})

describe('an uploaded thumbnail', () => {
  test('a JPEG, PNG or WebP is accepted, also for an empty video, and served as a JPEG', async () => {
    for (const name of ['a.jpg', 'a.png', 'a.webp']) {
      const videoId = await createVideo(service)
      const { status, body, text } = await upload(videoId, await readFile(await makeImage(name)))
      assert.equal(status, 200, text)
      assert.equal(body.assets.thumbnail, `${service.url}/vod/${videoId}/thumbnail.jpg`)
      const { headers, path } = await thumbnail(videoId)
      assert.equal(headers.get('content-type'), 'image/jpeg')
      assert.equal(headers.get('cache-control'), 'public, max-age=60')
      assert.equal(await formatOf(path), 'mjpeg,640,360')
      assert.ok(await isRed(videoId), name)
    }
  })

  test('a large image is scaled down, EXIF rotation is applied, and transparency becomes black', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, await readFile(await makeImage('large.jpg', { size: '4000x3000' })))
    assert.equal(await formatOf((await thumbnail(videoId)).path), 'mjpeg,1920,1440')

    const jpeg = await readFile(await makeImage('rotated.jpg', { size: '64x32' }))
    const exif = '4578696600004d4d002a00000008000101120003000000010006000000000000'
    const segment = Buffer.from(`ffe1${(2 + exif.length / 2).toString(16).padStart(4, '0')}${exif}`, 'hex')
    const rotated = Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)])
    assert.equal((await upload(videoId, rotated)).status, 200)
    assert.equal(await formatOf((await thumbnail(videoId)).path), 'mjpeg,32,64')

    const transparent = await makeImage('transparent.png', { color: 'white@0' })
    assert.equal((await upload(videoId, await readFile(transparent))).status, 200)
    const [levels = []] = await readBrightness((await thumbnail(videoId)).path, '2x2')
    assert.ok(Math.max(...levels) < 20, `${levels}`)
  })

  test('the uploaded thumbnail stays when the video is encoded', async () => {
    const videoId = await createVideo(service, { mp4Support: false })
    await upload(videoId, await readFile(await makeImage('stays.png')))
    const short = join(folder, 'short.mp4')
    await ffmpeg('-i', clip, '-t', '0.4', '-s', '160x90', ...x264, short)
    await sendFile(`${service.url}/videos/${videoId}/source`, rotateClockwise(await readFile(short)))
    await waitFor(async () => (await rowOf(videoId)).sprites_key !== null)
    assert.ok(await isRed(videoId))
    // A short video has one sprite, which is upright like the video.
    const { text } = await media(service.url, videoId, 'sprites.vtt')
    assert.equal(text, 'WEBVTT\n\n00:00:00.000 --> 00:00:00.400\nsprites/0.jpg#xywh=0,0,90,160\n')
    const sheet = await fetchImage(`${service.url}/vod/${videoId}/sprites/0.jpg`)
    assert.equal(await formatOf(sheet.path), 'mjpeg,90,160')
  })

  test('the published client uploads a path, a stream and a buffer, and picks a frame', async () => {
    const { videos } = client(service.url)
    const path = await makeImage('client.png')
    for (const file of [path, createReadStream(path), await readFile(path)]) {
      const videoId = await createVideo(service)
      const video = await videos.uploadThumbnail(videoId, file as string)
      assert.equal(video.videoId, videoId)
      assert.ok(await isRed(videoId))
    }
    const videoId = await createVideo(service)
    const video = await videos.pickThumbnail(videoId, { timecode: '00:15:22.05' })
    assert.equal(video.assets?.thumbnail?.endsWith('/thumbnail.jpg'), true)
  })

  test('a file that is not a valid image is rejected, and the previous thumbnail stays', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, await readFile(await makeImage('before.jpg')))
    const assertRejected = async (
      content: Buffer | string,
      slug: string,
      filename = 'a.jpg',
    ): Promise<ApiResponse> => {
      const response = await upload(videoId, Buffer.from(content as string), filename)
      assertProblem(response, 400, slug, 'file')
      return response
    }
    const kind = 'uploaded-file-extension-invalid'
    await assertRejected('', 'uploaded-file-empty')
    await assertRejected('hello', kind)
    await assertRejected(
      '<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>',
      kind,
      'a.svg',
    )
    await assertRejected(`#EXTM3U\n#EXTINF:3,\n${clip}\n#EXT-X-ENDLIST\n`, kind)
    await assertRejected(`ffconcat version 1.0\nfile '${clip}'\n`, kind)
    await assertRejected(await readFile(await makeImage('a.gif')), kind)
    await assertRejected(await readFile(clip), kind)

    const broken = 'uploaded-file-invalid-file'
    for (const name of ['b.jpg', 'b.png', 'b.webp']) {
      const complete = await readFile(await makeImage(name, { size: '320x180' }))
      await assertRejected(complete.subarray(0, Math.floor(complete.length / 2)), broken)
      await assertRejected(complete.subarray(0, 30), broken)
    }
    await assertRejected(Buffer.from([0xff, 0xd8, 0xff]), broken)
    await assertRejected(
      Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from('#EXTM3U\n')]),
      broken,
    )
    // A small file that claims to be 20,000 pixels wide and high.
    const bomb = await readFile(await makeImage('bomb.png', { size: '64x64' }))
    bomb.writeUInt32BE(20_000, 16)
    bomb.writeUInt32BE(20_000, 20)
    await assertRejected(bomb, broken)

    const large = Buffer.concat([await readFile(await makeImage('c.jpg')), Buffer.alloc(8 * MiB)])
    await assertRejected(large, 'uploaded-file-too-large')

    assert.ok(await isRed(videoId))
    await waitFor(async () => (await readdir(join(service.data, 'work'))).length === 0)
  })

  test('an upload without a file, for an unknown video or for the other environment is rejected', async () => {
    const videoId = await createVideo(service)
    const url = `${service.url}/videos/${videoId}/thumbnail`
    const empty = await call(url, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: '--x--\r\n',
    })
    assertProblem(empty, 400, 'uploaded-file-no-file', 'file')
    assertProblem(await call(url, { method: 'POST', json: {} }), 400, 'invalid-payload')
    const red = await readFile(await makeImage('d.jpg'))
    for (const id of ['nobody', `vi${'0'.repeat(22)}`])
      assertProblem(await upload(id, red), 404, 'resource-not-found', 'videoId')
    const other = `${service.url}/sandbox/videos/${videoId}/thumbnail`
    assertProblem(await sendFile(other, red, { key: sandboxKey }), 404, 'resource-not-found', 'videoId')
    assertProblem(await pick(`vi${'0'.repeat(22)}`, '1'), 404, 'resource-not-found', 'videoId')
  })
})

test('the thumbnail and sprites of a private video require its token', async () => {
  await waitForThumbnails(film)
  const change = (isPublic: boolean) =>
    call(`${service.url}/videos/${film}`, { method: 'PATCH', json: { public: isPublic } })
  const { body } = await change(false)
  try {
    for (const path of ['thumbnail.jpg', 'sprites.vtt', 'sprites/0.jpg'])
      assertProblem(await media(service.url, film, path), 403, 'private-video')
    assert.match(body.assets.thumbnail, /\/token\/[^/?]+\/thumbnail\.jpg$/)
    const response = await fetchImage(body.assets.thumbnail)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('cache-control')!, /private/)

    // The list requested with a playback session has the session in every URL.
    const base = body.assets.thumbnail.replace('/thumbnail.jpg', '')
    const master = await call(body.assets.hls, { key: '' })
    const session = /\?avh=[\w-]+/.exec(master.text)![0]
    const list = await call(`${base}/sprites.vtt${session}`, { key: '' })
    assert.equal(list.status, 200)
    const urls = [...list.text.matchAll(/^(sprites\/.*)#xywh/gm)].map(([, url]) => url!)
    assert.equal(urls.length, 13)
    for (const url of urls) assert.equal(url, `sprites/0.jpg${session}`)
    assert.equal((await fetchImage(`${base}/${urls[0]}`)).status, 200)
    assert.notEqual((await fetchImage(`${base}/sprites/0.jpg`)).status, 200)
  } finally {
    await change(true)
  }
})

test('deleting a video removes its thumbnail and sprites', async () => {
  const videoId = picked
  assert.equal(await fileExists(join(service.data, 'files/videos', videoId, 'pictures')), true)
  await pick(videoId, '6')
  const { status } = await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
  assert.equal(status, 204)
  assert.equal((await thumbnail(videoId)).status, 404)
  await waitFor(async () => !(await fileExists(join(service.data, 'files/videos', videoId))))
  await waitFor(async () => {
    const jobs = await query(
      service.database,
      `select id from pgboss.job where name = 'make-pictures' and state in ('created', 'retry', 'active')`,
    )
    return jobs.length === 0
  })
  assert.equal(await fileExists(join(service.data, 'files/videos', videoId)), false)
})

test('the retry of a killed job removes the files that it had stored for a deleted video', async () => {
  const videoId = `vi${'0'.repeat(22)}`
  const orphans = join(service.data, 'files/videos', videoId)
  await mkdir(join(orphans, 'pictures'), { recursive: true })
  await writeFile(join(orphans, 'pictures/automatic-240p-whole-old.jpg'), 'x')
  await query(service.database, "insert into pgboss.job (name, data) values ('make-pictures', $1)", [
    JSON.stringify({ videoId }),
  ])
  await waitFor(async () => !(await fileExists(orphans)))
})

test('another worker makes the thumbnail that a killed worker did not finish', async (t) => {
  const deployment = await createDeployment(t)
  const tiny = join(folder, 'tiny.mp4')
  await ffmpeg('-i', clip, '-ss', '6', '-t', '1', '-s', '160x90', ...x264, tiny)
  const marker = join(folder, 'hangs')
  const hanging = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/thumbnail.jpg*', marker))
  const one = await deployment.start({ KINORA_FFMPEG: hanging })
  const videoId = await uploadVideo(one, tiny, { mp4Support: false })
  await waitFor(() => fileExists(marker))
  await one.kill()
  await expireLeases(deployment.database)
  await deployment.start()
  await waitFor(async () => {
    const [row] = await query(deployment.database, 'select * from pictures where video_id = $1', [videoId])
    if (!row?.sprites_key) return false
    const kept = await readdir(join(deployment.data, 'files/videos', videoId, 'pictures'))
    const known = [row.thumbnail_key, row.sprites_key].map((key) => key.split('/').at(-1))
    return kept.sort().join() === known.sort().join()
  })
})
