import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileExists, query, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import {
  download,
  durationsIn,
  ffmpeg,
  ffprobe,
  readStreams,
  startsWithKeyFrame,
} from '../support/media/media.ts'
import { findViolations } from '../support/media/playlist-validator.ts'
import { lavfi, numberedFrames, readFrameNumbers, splitArgs, tone } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, eventsOf, uploadVideo } from '../support/videos.ts'

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
  // The copied quality may be complete first.
  assert.deepEqual((await eventsOf(service.database, videoId)).sort(), all)
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
  const { streams: inMp4 } = await readStreams([await downloadMp4(videoId)])
  assert.deepEqual(inMp4[0]!.hashes, sourceVideo!.hashes)
  assert.deepEqual(inMp4[1]!.hashes.slice(2), highAudio!.hashes.slice(2))
})

test('frames have exact times in any order and around gaps, in the segments and in the MP4', async () => {
  const source = join(folder, 'gaps.mp4')
  const types = join(folder, 'types.txt')
  // At first without B-frames, so that the order of frames changes midway.
  const list = Array.from({ length: 70 }, (_, i) => `${i} ${i % 50 === 0 ? 'I' : 'P'} -1`)
  await writeFile(types, `${list.join('\n')}\n`)
  const filter = 'select=not(between(n\\,30\\,39)+between(n\\,132\\,133)+eq(n\\,150))'
  await ffmpeg(
    ...lavfi(numberedFrames({ size: '480x360', seconds: 9, filter })),
    ...splitArgs('-fps_mode vfr -c:v libx264 -preset ultrafast -pix_fmt yuv420p -x264-params'),
    `bframes=3:b-adapt=0:b-pyramid=normal:ref=4:scenecut=0:keyint=50:qpfile=${types}`,
    source,
  )
  const videoId = await uploadVideo(service, source, { mp4Support: true })
  await assertEncoded(service, videoId, all)
  const plan = await planOf(videoId)
  assert.equal(plan.copiesVideo, true)
  const [low, high] = await Promise.all(
    ['240p', '360p'].map((rendition) => download(service.url, videoId, rendition, folder)),
  )
  const mp4 = await downloadMp4(videoId)
  const original = await readFrameNumbers(source)
  for (const path of [high!.joined, mp4]) {
    const { numbers, warnings } = await readFrameNumbers(path)
    assert.deepEqual([numbers, warnings], [original.numbers, ''])
  }
  const { numbers } = await readFrameNumbers(low!.joined)
  let shown = 0
  const repeated = Array.from({ length: plan.frames }, (_, i) => {
    if (original.numbers.includes(i)) shown = i
    return shown
  })
  assert.deepEqual(numbers, repeated)
  const times = await ffprobe(mp4, '-select_streams', 'v', '-show_entries', 'packet=pts_time')
  const frames = times.map((time) => Math.round(Number.parseFloat(time) * 25)).sort((a, b) => a - b)
  assert.deepEqual(frames, original.numbers)
  // Each segment on its own, without what ffmpeg concludes from the others.
  for (const [i, segment] of high!.segments.entries()) {
    const first = await readFrameNumbers(segment)
    assert.equal(first.numbers[0], plan.starts![i])
  }
})

test('a container without an index is copied to an MP4 first, and that copy is removed in the end', async () => {
  const source = join(folder, 'stream.ts')
  const video = lavfi(numberedFrames({ size: '480x360', rate: '30000/1001', seconds: 7 }))
  await ffmpeg(...video, ...tone(440, 7), ...splitArgs(`${x264} -g 60 -c:a aac -ac 2 -b:a 96k`), source)
  const videoId = await uploadVideo(service, source)
  await assertEncoded(service, videoId, all)
  const { copiesVideo, copiesAudio } = await planOf(videoId)
  assert.deepEqual([copiesVideo, copiesAudio], [true, true])
  const [low, high, sound] = await Promise.all(
    ['240p', '360p', 'sound'].map((rendition) => download(service.url, videoId, rendition, folder)),
  )
  const { streams } = await readStreams([source, low!.joined, high!.joined, sound!.joined])
  const [sourceVideo, sourceAudio, lowVideo, highVideo, highAudio] = streams
  assert.deepEqual(highVideo!.hashes, sourceVideo!.hashes)
  assert.equal(lowVideo!.hashes.length, sourceVideo!.hashes.length)
  assert.ok(sourceAudio!.hashes.join().includes(highAudio!.hashes.slice(1, -1).join()))
  const { numbers } = await readFrameNumbers(low!.joined)
  assert.deepEqual(numbers, [...numbers.keys()])
  await waitFor(async () => !(await fileExists(join(service.data, 'files/videos', videoId, 'copy'))))
})

async function downloadMp4(videoId: string): Promise<string> {
  const url = `${service.url}/vod/${videoId}/mp4/source.mp4`
  const path = join(folder, `${videoId}.mp4`)
  await waitFor(async () => (await fetch(url)).status === 200)
  await writeFile(path, Buffer.from(await (await fetch(url)).arrayBuffer()))
  return path
}
