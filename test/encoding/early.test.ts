import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  earlyClip,
  heavyH264,
  pauseUpload,
  segmentKeys,
  waitForBeginning,
  waitUntilPlayable,
} from '../support/early-uploads.ts'
import {
  call,
  fileExists,
  listFiles,
  MiB,
  productionKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { download, ffmpeg } from '../support/media/media.ts'
import { findViolations } from '../support/media/playlist-validator.ts'
import { readFrameNumbers, splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import {
  createVideo,
  eventsOf,
  media,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../support/videos.ts'

// The beginning of each clip is encoded while its upload pauses. The video must then be the same as if the clip had been
// uploaded at once, and nothing of its beginning may have been encoded again.

const service = sharedKinora({
  ...withoutThumbnails(),
  KINORA_ENCODE_DURING_UPLOAD: 'on',
  KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
})
let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
})

const stereo = '-ac 2 -c:a aac'

type Clip = {
  args: string[]
  seconds?: number
  size?: string
  filter?: string
  /** Whether the highest quality is copied. */
  isCopied?: boolean
}

const clips: Record<string, Clip> = {
  'index-in-front.mp4': { args: [...heavyH264(), ...splitArgs(`${stereo} -movflags +faststart`)] },
  'pcm.mov': { args: [...heavyH264(2_000), ...splitArgs('-c:a pcm_s16le -movflags +faststart')] },
  'mpeg4.mp4': {
    args: splitArgs(
      '-c:v mpeg4 -g 25 -b:v 3M -minrate 3M -maxrate 3M -bufsize 1M -c:a aac -movflags +faststart',
    ),
    filter: 'noise=alls=80:allf=t+u',
  },
  'fragmented.mp4': {
    args: [...heavyH264(), ...splitArgs('-c:a aac -movflags frag_keyframe+empty_moov+default_base_moof')],
  },
  'matroska.mkv': { args: [...heavyH264(), ...splitArgs('-c:a aac')] },
  'live.mkv': { args: [...heavyH264(), ...splitArgs('-c:a libopus -f matroska -live 1')] },
  'vp8.webm': {
    args: splitArgs('-c:v libvpx -deadline realtime -cpu-used -16 -g 50 -b:v 3M -c:a libopus'),
    filter: 'noise=alls=40:allf=t+u',
  },
  'stream.ts': { args: [...heavyH264(), ...splitArgs('-c:a aac')] },
  'stream.flv': { args: [...heavyH264(), ...splitArgs('-ar 44100 -c:a aac')] },
  'copied.mp4': {
    args: [...heavyH264(780), ...splitArgs(`${stereo} -movflags +faststart`)],
    seconds: 36,
    size: '640x360',
    isCopied: true,
  },
  'copied.ts': {
    args: [...heavyH264(780), ...splitArgs(stereo)],
    seconds: 36,
    size: '640x360',
    isCopied: true,
  },
}

async function makeClip(name: string): Promise<Buffer> {
  const { args, seconds = 14, ...options } = clips[name]!
  const path = join(folder, name)
  if (!(await fileExists(path))) await ffmpeg(...earlyClip(seconds, options), ...args, path)
  return readFile(path)
}

async function renditionsOf(videoId: string): Promise<string[]> {
  const { qualities } = await waitForEncoding(service, videoId)
  assert.deepEqual([...new Set(qualities.map(({ status }) => status))], ['encoded'])
  return [...qualities.filter(({ type }) => type === 'hls').map(({ quality }) => quality), 'sound']
}

/** Without what depends on how many segments were encoded together. */
const withoutBandwidth = (playlist: string) => playlist.replaceAll(/(?:AVERAGE-)?BANDWIDTH=\d+,/g, '')

async function assertSame(videoId: string, expectedId: string, { isCopied = false }: Pick<Clip, 'isCopied'>) {
  const renditions = await renditionsOf(expectedId)
  assert.deepEqual(await renditionsOf(videoId), renditions)
  const masters = await Promise.all(
    [videoId, expectedId].map((id) => media(service.url, id, 'hls/manifest.m3u8')),
  )
  const [master, expectedMaster] = masters.map(({ text }) => withoutBandwidth(text))
  assert.equal(master, expectedMaster)
  for (const rendition of renditions) {
    const [found, expected] = await Promise.all(
      [videoId, expectedId].map((id) => download(service.url, id, rendition, folder)),
    )
    assert.equal(found!.playlist, expected!.playlist, rendition)
    assert.deepEqual(findViolations(found!.playlist, 'media'), [])
    if (rendition === 'sound') continue
    const [numbers, expectedNumbers] = await Promise.all(
      [found!, expected!].map(({ joined }) => readFrameNumbers(joined)),
    )
    assert.deepEqual(numbers, expectedNumbers, rendition)
    const isTop = rendition === renditions.at(-2)
    if (isCopied && isTop) assert.deepEqual(await readFile(found!.joined), await readFile(expected!.joined))
  }
  assert.deepEqual(await eventsOf(service.database, videoId), await eventsOf(service.database, expectedId))
  const { encoding } = await videoStatus(service, videoId)
  assert.deepEqual(encoding.metadata, (await videoStatus(service, expectedId)).encoding.metadata)
}

/** Checks a video whose upload pauses, and returns the keys of its segments. */
async function assertBegun(videoId: string): Promise<string[]> {
  await waitForBeginning(service, videoId)
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.match(ingest.status, /^(uploading|ingesting)$/)
  assert.equal(encoding.playable, true)
  for (const { status, progress } of encoding.qualities.filter(
    ({ type }: { type: string }) => type === 'hls',
  ))
    assert.ok(status === 'encoding' && progress > 0 && progress < 100, JSON.stringify(encoding))
  const { text } = await media(service.url, videoId, 'hls/240p/manifest.m3u8')
  assert.match(text, /EXT-X-PLAYLIST-TYPE:EVENT[\s\S]*video-0\.m4s/)
  assert.doesNotMatch(text, /ENDLIST/)
  assert.deepEqual(await eventsOf(service.database, videoId), [])
  return segmentKeys(service.database, videoId)
}

async function assertContinued(videoId: string, keys: string[]): Promise<void> {
  await waitForEncoding(service, videoId)
  const final = await segmentKeys(service.database, videoId)
  assert.deepEqual(
    keys.filter((key) => !final.includes(key)),
    [],
    'the beginning was encoded again',
  )
  const copies = (await listFiles(service)).filter(
    (path) => path.includes(videoId) && path.includes('early-'),
  )
  assert.deepEqual(copies, [])
}

for (const [name, clip] of Object.entries(clips))
  test(`${name}: its beginning is encoded and played during the upload, and the result is the same`, async () => {
    const content = await makeClip(name)
    const videoId = await createVideo(service)
    const upload = await pauseUpload(service, videoId, content)
    const keys = await assertBegun(videoId)
    const { status, text } = await upload.end()
    assert.equal(status, 201, text)
    await assertContinued(videoId, keys)
    await assertSame(videoId, await uploadVideo(service, content), clip)
  })

/** Larger than a chunk. */
async function makeLongClip(name: string, ...args: string[]): Promise<Buffer> {
  const path = join(folder, name)
  await ffmpeg(...earlyClip(20), ...heavyH264(), ...args, path)
  return readFile(path)
}

test('an MP4 whose index is at its end is encoded early if the end is sent first', async () => {
  const content = await makeLongClip('index-at-end.mp4', ...splitArgs('-c:a aac'))
  const total = content.length
  const [first, last] = [content.subarray(0, 5 * MiB), content.subarray(5 * MiB)]
  const videoId = await createVideo(service)
  const end = await sendFile(sourceUrl(service, videoId), last, {
    range: `bytes ${first.length}-${total - 1}/${total}`,
  })
  assert.equal(end.status, 201, end.text)
  const upload = await pauseUpload(service, videoId, first, { range: `bytes 0-${first.length - 1}/${total}` })
  const keys = await assertBegun(videoId)
  await upload.end()
  await assertContinued(videoId, keys)
  await assertSame(videoId, await uploadVideo(service, content), {})
})

test('a recording in progress is watched while its parts arrive, and is complete with the last one', async () => {
  const content = await makeLongClip('recording.ts', ...splitArgs('-c:a aac'))
  const videoId = await createVideo(service)
  const send = (part: Buffer, range: string) => sendFile(sourceUrl(service, videoId), part, { range })
  assert.equal((await send(content.subarray(0, 5 * MiB), 'part 1/*')).status, 201)
  const keys = await assertBegun(videoId)
  assert.equal((await send(content.subarray(5 * MiB), 'part 2/2')).status, 201)
  await assertContinued(videoId, keys)
  await assertSame(videoId, await uploadVideo(service, content), {})
})

test('a file that is fetched from a URL is encoded while it arrives', async (t) => {
  const content = await makeClip('index-in-front.mp4')
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const origin = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-length': content.length })
    response.write(content.subarray(0, 3 * MiB))
    await isReleased
    response.end(content.subarray(3 * MiB))
  }).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  t.after(() => origin.close())
  const source = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/film.mp4`
  const videoId = await createVideo(service, { source })
  const keys = await assertBegun(videoId)
  release()
  await assertContinued(videoId, keys)
  await assertSame(videoId, await uploadVideo(service, content), {})
})

test('a file that is sent over tus is encoded while it arrives', async () => {
  const content = await makeClip('index-in-front.mp4')
  const headers = { authorization: `Basic ${btoa(`${productionKey}:`)}`, 'tus-resumable': '1.0.0' }
  const created = await call(`${service.url}/tus`, {
    method: 'POST',
    headers: { ...headers, 'upload-length': String(content.length) },
  })
  const url = created.headers.get('location') ?? ''
  const videoId = created.headers.get('x-video-id') ?? ''
  const send = (from: number, to: number) =>
    fetch(url, {
      method: 'PATCH',
      headers: {
        ...headers,
        'upload-offset': String(from),
        'content-type': 'application/offset+octet-stream',
      },
      body: new Uint8Array(content.subarray(from, to)),
    })
  assert.equal((await send(0, 3 * MiB)).status, 204)
  await waitUntilPlayable(service, videoId)
  const keys = await assertBegun(videoId)
  assert.equal((await send(3 * MiB, content.length)).status, 204)
  await assertContinued(videoId, keys)
  await assertSame(videoId, await uploadVideo(service, content), {})
})
