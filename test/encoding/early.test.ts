import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { assertBegun, assertContinued, assertGrowing, assertSame } from '../support/early-results.ts'
import { earlyClip, heavyH264, pauseUpload, waitUntilPlayable } from '../support/early-uploads.ts'
import {
  call,
  fileExists,
  MiB,
  productionKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'
import { splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createVideo, sourceUrl, uploadVideo } from '../support/videos.ts'

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

const assertSameAs = async (
  videoId: string,
  content: Buffer,
  { isCopied = false }: Pick<Clip, 'isCopied'> = {},
) => assertSame(service, videoId, { folder, expectedId: await uploadVideo(service, content), isCopied })

async function assertWatchable(videoId: string): Promise<string[]> {
  const keys = await assertBegun(service, videoId)
  await assertGrowing(service, videoId)
  return keys
}

for (const [name, clip] of Object.entries(clips))
  test(`${name}: its beginning is encoded and played during the upload, and the result is the same`, async () => {
    const content = await makeClip(name)
    const videoId = await createVideo(service)
    const upload = await pauseUpload(service, videoId, content)
    const keys = await assertWatchable(videoId)
    const { status, text } = await upload.end()
    assert.equal(status, 201, text)
    await assertContinued(service, videoId, keys)
    await assertSameAs(videoId, content, clip)
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
  const keys = await assertWatchable(videoId)
  await upload.end()
  await assertContinued(service, videoId, keys)
  await assertSameAs(videoId, content)
})

test('a recording in progress is watched while its parts arrive, and is complete with the last one', async () => {
  const content = await makeLongClip('recording.ts', ...splitArgs('-c:a aac'))
  const videoId = await createVideo(service)
  const send = (part: Buffer, range: string) => sendFile(sourceUrl(service, videoId), part, { range })
  assert.equal((await send(content.subarray(0, 5 * MiB), 'part 1/*')).status, 201)
  const keys = await assertWatchable(videoId)
  assert.equal((await send(content.subarray(5 * MiB), 'part 2/2')).status, 201)
  await assertContinued(service, videoId, keys)
  await assertSameAs(videoId, content)
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
  const keys = await assertWatchable(videoId)
  release()
  await assertContinued(service, videoId, keys)
  await assertSameAs(videoId, content)
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
  const keys = await assertWatchable(videoId)
  assert.equal((await send(3 * MiB, content.length)).status, 204)
  await assertContinued(service, videoId, keys)
  await assertSameAs(videoId, content)
})
