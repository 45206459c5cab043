import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  assertBegun,
  assertContinued,
  assertGrowing,
  assertSame,
  mediaUrl,
} from '../support/early-results.ts'
import { earlyClip, heavyH264, pauseUpload } from '../support/early-uploads.ts'
import {
  call,
  productionKey,
  query,
  type Service,
  sandboxKey,
  sendFile,
  sharedKinora,
  type Target,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { download, ffmpeg } from '../support/media/media.ts'
import { frames, lavfi, readBrightness, readFrameNumbers, splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createVideo, encodingOf, media, uploadVideo, waitForEncoding } from '../support/videos.ts'

// What the settings of a video, and those of the sandbox, mean while its source still arrives.

const sandboxSeconds = 8
const service = sharedKinora({
  ...withoutThumbnails(),
  KINORA_ENCODE_DURING_UPLOAD: 'on',
  KINORA_SANDBOX_SECONDS: String(sandboxSeconds),
})
const inSandbox = (): Service & Target =>
  Object.assign(Object.create(service), { url: `${service.url}/sandbox`, key: sandboxKey })

let folder: string
/** The index of one is at its front, the other one is examined again and again, and says how long it is. */
const contents: Record<string, Buffer> = {}
const seconds = 14
/** Of the lowest quality. */
const [width, height] = [320, 180]
const names = ['film.mp4', 'film.mkv']

before(async () => {
  folder = await temporaryFolder({ after() {} })
  for (const name of names) {
    const path = join(folder, name)
    await ffmpeg(...earlyClip(seconds), ...heavyH264(), ...splitArgs('-c:a aac -movflags +faststart'), path)
    contents[name] = await readFile(path)
  }
})

/** The pictures are the same, but for what separate runs of an encoder make of them. */
async function assertSamePictures(found: string, expected: string): Promise<void> {
  const [pictures, expectedPictures] = await Promise.all(
    [found, expected].map((path) => readBrightness(path, '16x9')),
  )
  const differences = pictures!.flatMap((levels, frame) =>
    levels.map((level, i) => Math.abs(level - expectedPictures![frame]![i]!)),
  )
  assert.ok(Math.max(...differences) < 12, `a level differs by ${Math.max(...differences)}`)
}

type Shown = {
  videoId: string
  /** The first quality, as far as it is encoded. */
  joined: string
  numbers: number[]
  /** Of the first frame. */
  levels: number[]
}

/** Uploads a video with a pause, and checks what is shown before the rest arrives. */
async function uploadInTwo(
  target: Service & Target,
  name: string,
  { json = {}, check }: { json?: object; check(shown: Shown): void | Promise<void> },
): Promise<void> {
  const content = contents[name]!
  const videoId = await createVideo(target, json)
  const key = target.key ?? productionKey
  const upload = await pauseUpload(target, videoId, content, { key, share: 0.85 })
  const keys = await assertBegun(target, videoId)
  await assertGrowing(target, videoId)
  const { metadata } = await encodingOf(target, videoId)
  const { joined } = await download(mediaUrl(target), videoId, '240p', folder)
  const { numbers } = await readFrameNumbers(joined)
  const [levels = []] = await readBrightness(joined, `${width}x${height}`, ['-frames:v', '1'])
  await check({ videoId, joined, numbers, levels })
  assert.equal((await upload.end()).status, 201)
  await assertContinued(target, videoId, keys)
  const expectedId = await uploadVideo(target, content, json)
  await assertSame(target, videoId, { folder, expectedId, compare: assertSamePictures })
  assert.equal(metadata.duration, (await encodingOf(target, expectedId)).metadata.duration)
}

for (const name of names) {
  test(`${name}: in the sandbox, its beginning has the watermark and ends at the limit`, () =>
    uploadInTwo(inSandbox(), name, {
      async check({ videoId, numbers, levels }) {
        assert.ok(numbers.length > 0 && numbers.length < 25 * sandboxSeconds, String(numbers.length))
        // The columns of high numbers are dark.
        const isTopRight = (i: number) => i < 0.5 * height * width && i % width > 0.8 * width
        const brightest = Math.max(...levels.filter((_, i) => isTopRight(i)))
        assert.ok(brightest > 100, `no watermark: ${brightest}`)
        // What follows the limit is not examined.
        const source = `select from sources where video_id = $1 and examined_bytes > 2 ^ 52`
        await waitFor(async () => (await query(service.database, source, [videoId])).length > 0)
      },
    }))

  test(`${name}: the beginning of a clip contains nothing from outside of it`, () =>
    uploadInTwo(service, name, {
      json: { clip: { startTimecode: '00:00:02', endTimecode: '00:00:10' } },
      check({ numbers }) {
        assert.ok(numbers.length > 0 && numbers.length < 200, String(numbers.length))
        // The video of a Matroska file begins a little later than its audio.
        const [first = 0] = numbers
        assert.ok(first === 50 || first === 49, String(first))
        assert.deepEqual(
          numbers,
          frames(numbers.length, (frame) => first + frame),
        )
      },
    }))
}

test('the beginning of a video has its watermark', async () => {
  const image = join(folder, 'white.png')
  await ffmpeg(...lavfi('color=white:s=64x36,format=rgba'), '-frames:v', '1', '-y', image)
  const { body } = await sendFile(`${service.url}/watermarks`, await readFile(image))
  const json = { watermark: { id: body.watermarkId, right: '0px', bottom: '0px' } }
  await uploadInTwo(service, 'film.mp4', {
    json,
    check({ levels }) {
      const bottom = levels.slice(width * (height - 1))
      assert.ok(bottom.at(-1)! > 200 && bottom[0]! < 150, bottom.join())
    },
  })
})

/** The URLs in a playlist. */
const urisOf = (playlist: string) => [
  ...playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
  ...[...playlist.matchAll(/URI="([^"]*)"/g)].map(([, uri]) => uri!),
]

test('the beginning of a private video is played with its token only, and the result is the same', async () => {
  const content = contents['film.mp4']!
  const videoId = await createVideo(service, { public: false })
  const upload = await pauseUpload(service, videoId, content)
  const keys = await assertBegun(service, videoId)
  const files = ['manifest.m3u8', '240p/manifest.m3u8', '240p/init.mp4', '240p/video-0.m4s']
  for (const file of [...files, 'sound/manifest.m3u8', 'sound/sound-0.m4s'])
    assert.equal((await media(service.url, videoId, `hls/${file}`)).status, 403, file)
  assert.equal((await call(`${service.url}/vod/${videoId}`, { key: '' })).status, 403)
  const { assets } = (await call(`${service.url}/videos/${videoId}`)).body
  const load = async (url: string) => {
    const response = await fetch(url)
    assert.equal(response.status, 200, url)
    return /mpegurl/.test(response.headers.get('content-type') ?? '') ? response.text() : ''
  }
  const master = await load(assets.hls)
  for (const rendition of urisOf(master)) {
    const url = new URL(rendition, assets.hls).href
    const playlist = await load(url)
    assert.match(playlist, /EXT-X-PLAYLIST-TYPE:EVENT/)
    for (const uri of urisOf(playlist)) await load(new URL(uri, url).href)
  }
  assert.equal((await upload.end()).status, 201)
  await assertContinued(service, videoId, keys)
  const expectedId = await uploadVideo(service, content, { public: false })
  await waitForEncoding(service, expectedId)
  for (const id of [videoId, expectedId]) {
    const url = `${service.url}/videos/${id}`
    assert.equal((await call(url, { method: 'PATCH', json: { public: true } })).status, 200)
  }
  await assertSame(service, videoId, { folder, expectedId })
})
