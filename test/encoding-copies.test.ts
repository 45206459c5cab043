import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { query, sharedKinora, temporaryFolder } from './harness.ts'
import {
  assertEncoded,
  download,
  durationsIn,
  eventsOf,
  ffmpeg,
  frameHashes,
  readStreams,
  startsWithKeyFrame,
  uploadVideo,
} from './media.ts'
import { findViolations } from './playlist-validator.ts'
import { withoutThumbnails } from './programs.ts'
import { lavfi, numberedFrames, readFrameNumbers, splitArgs, tone } from './sources.ts'

// Sources that are copied instead of encoded, and sources that look as if they could be.

const service = sharedKinora(withoutThumbnails())
let folder: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
})

type Plan = {
  copiesVideo?: true
  copiesAudio?: true
  starts?: number[]
  frames: number
  audioRate?: number
  rungs: { maxKbps: number }[]
}

async function planOf(videoId: string): Promise<Plan> {
  const [row] = await query(service.database, 'select plan from encodings where video_id = $1', [videoId])
  return row.plan
}

/** Makes a source and uploads it. */
async function upload(
  name: string,
  args: string,
  input = [...lavfi(numberedFrames({ size: '480x360', seconds: 9 }))],
) {
  const path = join(folder, name)
  await ffmpeg(...input, ...splitArgs(args), path)
  return path
}

const x264 =
  '-c:v libx264 -preset ultrafast -tune zerolatency -x264-params bframes=3:b-adapt=0:scenecut=0 -pix_fmt yuv420p'

const all = ['hls 240p', 'hls 360p', 'mp4 360p']

test('frames and audio of a source that every device plays are copied as the highest quality', async () => {
  const source = join(folder, 'conforming.mp4')
  const video = lavfi(numberedFrames({ size: '640x360', rate: '24000/1001', seconds: 13 }))
  const aac = '-c:a aac -b:a 96k -ac 2'
  await ffmpeg(...video, ...tone(440, 13, 44_100), ...splitArgs(`${x264} -g 60 ${aac}`), source)
  const videoId = await uploadVideo(service, source, { mp4Support: true })
  await assertEncoded(service, videoId, all)
  assert.deepEqual(await eventsOf(service.database, videoId), all)
  const plan = await planOf(videoId)
  assert.deepEqual([plan.copiesVideo, plan.copiesAudio, plan.audioRate], [true, true, 44_100])
  assert.deepEqual(
    plan.starts,
    [0, 60, 180, 300].filter((start) => plan.frames - start >= 24),
  )

  const [low, high, sound] = await Promise.all(
    ['240p', '360p', 'sound'].map((rendition) => download(service.url, videoId, rendition, folder)),
  )
  for (const { playlist } of [low!, high!, sound!]) assert.deepEqual(findViolations(playlist, 'media'), [])
  assert.deepEqual(durationsIn(low!.playlist), durationsIn(high!.playlist))
  assert.deepEqual(await startsWithKeyFrame([...low!.segments, ...high!.segments]), [
    ...low!.segments.map(() => true),
    ...high!.segments.map(() => true),
  ])
  const { streams, warnings } = await readStreams([source, low!.joined, high!.joined, sound!.joined])
  assert.equal(warnings, '')
  const [sourceVideo, sourceAudio, lowVideo, highVideo, highAudio] = streams
  assert.deepEqual(highVideo!.hashes, sourceVideo!.hashes)
  assert.equal(lowVideo!.hashes.length, sourceVideo!.hashes.length)
  const times = (each: typeof lowVideo) => each!.packets.map(({ pts }) => pts).sort((a, b) => a - b)
  assert.deepEqual(times(lowVideo), times(highVideo))
  // The first frame lacks the one before it, which is not played.
  assert.deepEqual(highAudio!.hashes.slice(1), sourceAudio!.hashes.slice(1, highAudio!.hashes.length))
  const { numbers } = await readFrameNumbers(low!.joined)
  assert.deepEqual(numbers, [...numbers.keys()])
  const response = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
  assert.ok(response.status === 200 || response.status === 404)
})
void [suite, frameHashes, upload]
