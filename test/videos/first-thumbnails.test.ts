import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import {
  call,
  deleteAllVideos,
  fileExists,
  identifyStore,
  kinora,
  productionKey,
  query,
  type Service,
  sandboxKey,
  sendFile,
  type Target,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { ffmpeg } from '../support/media/media.ts'
import { aac, lavfi, numberedFrames, readFrameNumbers, splitArgs, tone } from '../support/media/sources.ts'
import { createDeployment, expireLeases, fakeProgram, hangsOnce } from '../support/recovery.ts'
import { uploadVideo } from '../support/videos.ts'

// A video has a thumbnail as soon as it is playable, and a better one when it is encoded.

let service: Service
let folder: string
let gated: GatedFfmpeg
/** 10 s with 25 numbered frames per second. They have to be encoded, in one quality. */
let clip: string
/** A larger video. Its highest quality is copied, and the other one is encoded. */
let copiedClip: string
/** While this file exists, ffmpeg makes no thumbnails of frames. Another file then tells that it has been started. */
let gate: string
const ends: (() => unknown)[] = []

/** The arguments of ffmpeg when it makes a thumbnail of a frame. */
const firstThumbnail = '*/frame.mp4*/thumbnail.jpg*'

/** The frame at 10 % of the first segment, which has a second. */
const isFromBeginning = (frame: number) => frame > 0 && frame < 25
/** The frame at 10 % of the video. */
const wholeFrame = 25

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  copiedClip = join(folder, 'copied.mp4')
  gate = join(folder, 'gate-of-thumbnails')
  const mpeg4 = splitArgs('-c:v mpeg4 -q:v 2')
  await ffmpeg(...lavfi(numberedFrames({ seconds: 10 })), ...tone(440, 10), ...mpeg4, ...aac, clip)
  const x264 = splitArgs('-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -pix_fmt yuv420p')
  await ffmpeg(...lavfi(numberedFrames({ size: '640x360', seconds: 6 })), ...x264, copiedClip)
  const wait = `touch '${gate}.reached'; while test -e '${gate}'; do sleep 0.1; done`
  const program = `case "$*" in ${firstThumbnail}) test ! -e '${gate}' || { ${wait}; };; esac`
  gated = await gatedFfmpeg(folder, await fakeProgram(await temporaryFolder({ after }), 'ffmpeg', program))
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  await identifyStore(service)
})
beforeEach(async () => {
  for (const file of [gate, `${gate}.reached`]) await rm(file, { force: true })
  await gated.encodeUntil(1)
  await query(service.database, deleteAllVideos)
})
after(async () => {
  await gated.encodeAll()
  for (const end of ends) await end()
})

async function statusOf({ url, key = productionKey }: Target, videoId: string) {
  const { status, body, text } = await call(`${url}/videos/${videoId}?include[]=status`, { key })
  assert.equal(status, 200, text)
  return { ...body.status, url: body.assets.thumbnail }
}

/** Waits for a thumbnail, or for another one than that with the version. Returns its version and its frame. */
async function waitForThumbnail(target: Target, videoId: string, before: string | null = null) {
  let status = await statusOf(target, videoId)
  await waitFor(
    async () => {
      status = await statusOf(target, videoId)
      return status.thumbnailVersion !== before
    },
    () => JSON.stringify(status),
  )
  const response = await fetch(status.url)
  assert.match(response.headers.get('cache-control') ?? '', /^(public|private), max-age=60$/)
  const path = join(folder, `${status.thumbnailVersion}.jpg`)
  await writeFile(path, Buffer.from(await response.arrayBuffer()))
  const frame = (await readFrameNumbers(path)).numbers[0]!
  return { version: status.thumbnailVersion, state: status.state, playable: status.playable, frame }
}

test('a playable video has a thumbnail of its beginning, and a better one when it is encoded', async () => {
  const videoId = await uploadVideo(service, clip)
  const first = await waitForThumbnail(service, videoId)
  assert.deepEqual([first.state, first.playable], ['processing', true])
  assert.ok(isFromBeginning(first.frame), `it shows frame ${first.frame}`)
  await gated.encodeAll()
  const second = await waitForThumbnail(service, videoId, first.version)
  assert.equal(second.frame, wholeFrame)
})

test('videos without a thumbnail have no version of it', async () => {
  const { body } = await call(`${service.url}/videos`, { method: 'POST', json: {} })
  assert.equal((await statusOf(service, body.videoId)).thumbnailVersion, null)
})

for (const [what, json, prefix, key] of [
  ['a private video', { public: false }, '', productionKey],
  ['a video of the sandbox', {}, '/sandbox', sandboxKey],
] as const)
  test(`${what} has a thumbnail while it is encoded`, async () => {
    const target = { url: `${service.url}${prefix}`, key }
    const { state, frame } = await waitForThumbnail(target, await uploadVideo(target, clip, json))
    assert.equal(state, 'processing')
    assert.ok(isFromBeginning(frame), `it shows frame ${frame}`)
  })

test('a video that is copied has a thumbnail before its other quality is encoded', async () => {
  const videoId = await uploadVideo(service, copiedClip)
  const { state, frame } = await waitForThumbnail(service, videoId)
  assert.equal(state, 'processing')
  assert.ok(isFromBeginning(frame), `it shows frame ${frame}`)
})

/** Waits for the sprites, which are made after the last thumbnail. */
const waitForSprites = (videoId: string) =>
  waitFor(async () => {
    const sprites = 'select from pictures where video_id = $1 and sprites_key is not null'
    return (await query(service.database, sprites, [videoId])).length > 0
  })

test('a thumbnail that is uploaded while the first one is made stays', async () => {
  await writeFile(gate, '')
  const videoId = await uploadVideo(service, clip)
  await waitFor(() => fileExists(`${gate}.reached`))
  const image = join(folder, 'uploaded.png')
  await ffmpeg(...lavfi('color=red:s=320x240'), '-frames:v', '1', image)
  const sent = await sendFile(`${service.url}/videos/${videoId}/thumbnail`, await readFile(image))
  assert.equal(sent.status, 200, sent.text)
  const { thumbnailVersion } = await statusOf(service, videoId)
  assert.notEqual(thumbnailVersion, null)
  await rm(gate)
  await gated.encodeAll()
  await waitForSprites(videoId)
  assert.equal((await statusOf(service, videoId)).thumbnailVersion, thumbnailVersion)
})

test('a frame that is picked while the first thumbnail is made replaces it and stays', async () => {
  await writeFile(gate, '')
  const videoId = await uploadVideo(service, clip)
  await waitFor(() => fileExists(`${gate}.reached`))
  const json = { timecode: '00:00:00:20' }
  const picked = await call(`${service.url}/videos/${videoId}/thumbnail`, { method: 'PATCH', json })
  assert.equal(picked.status, 200, picked.text)
  await rm(gate)
  assert.equal((await waitForThumbnail(service, videoId)).frame, 20)
  await gated.encodeAll()
  await waitForSprites(videoId)
  assert.equal((await waitForThumbnail(service, videoId)).frame, 20)
})

test('a first thumbnail that a killed worker did not finish is made again', async (t) => {
  const marker = join(folder, 'hangs')
  const hanging = await fakeProgram(await temporaryFolder(t), 'ffmpeg', hangsOnce(firstThumbnail, marker))
  const own = await gatedFfmpeg(await temporaryFolder(t), hanging)
  await own.encodeUntil(1)
  const deployment = await createDeployment(t, { KINORA_FFMPEG: own.path })
  const one = await deployment.start()
  const videoId = await uploadVideo(one, clip)
  await waitFor(() => fileExists(marker))
  await one.kill()
  await expireLeases(deployment.database)
  const { state, frame } = await waitForThumbnail(await deployment.start(), videoId)
  assert.equal(state, 'processing')
  assert.ok(isFromBeginning(frame), `it shows frame ${frame}`)
})
