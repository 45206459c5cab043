import assert from 'node:assert/strict'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { before, beforeEach, suite, test } from 'node:test'
import pg from 'pg'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { recordBroadcast } from '../../server/live/output/recording/record.ts'
import {
  assertProblem,
  call,
  type Kinora,
  productionKey,
  query,
  sandboxKey,
  sharedKinora,
  sourcePath,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream, type LiveStream } from '../support/live/live-streams.ts'
import { ffmpeg, frameHashes, readStreams } from '../support/media/media.ts'
import { withoutEncoding, withoutThumbnails } from '../support/programs.ts'
import { createDeployment, expireLeases } from '../support/recovery.ts'
import { startS3Store } from '../support/s3-store.ts'
import { assertEncoded, waitForEnds } from '../support/videos.ts'

// Recordings of broadcasts. ffmpeg is the encoder, and mostly sends as fast as it can.

const service = sharedKinora(withoutEncoding())

let folder: string
/** 4 s each, with 10 frames per second and a key frame every 2 s. */
let clip: string
let largerClip: string
const frames = 40
const frameMs = 100
let clipHashes: string[]

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.flv')
  largerClip = join(folder, 'larger.flv')
  const encode = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '20', '-bf', '2', '-c:a', 'aac']
  const sources = ['testsrc2=s=160x120:r=10:d=4', 'testsrc2=s=320x180:r=10:d=4', 'sine=d=4:r=44100']
  await ffmpeg(
    ...sources.flatMap((source) => ['-f', 'lavfi', '-i', source]),
    ...['-map', '0', '-map', '2', ...encode, clip],
    ...['-map', '1', '-map', '2', ...encode, largerClip],
  )
  clipHashes = await frameHashes(clip)
})

beforeEach(() =>
  query(service.database, 'delete from broadcasts; delete from live_streams; delete from events'),
)

type Target = Pick<Kinora, 'url' | 'output'> & { database: string }

/** Sends a file and waits until all of it is stored. */
async function publish(target: Target, stream: LiveStream, ...args: string[]): Promise<void> {
  const { ended, output } = startFfmpegEncoder({ after() {} }, target, stream.streamKey, ...args)
  assert.equal(await ended, 0, output())
  const away = `select from broadcasts where live_stream_id = $1 and state = 'away' and visible_at is not null`
  await waitFor(async () => (await query(target.database, away, [stream.liveStreamId])).length > 0)
}

const complete = (target: Target, { liveStreamId }: LiveStream, key = productionKey) =>
  call(`${target.url}/live-streams/${liveStreamId}/complete`, { method: 'PUT', key })

type Recording = { state: string; reason: string | null; videoId: string | null }

async function broadcastsOf(target: Target, { liveStreamId }: LiveStream, key = productionKey) {
  const { body, text } = await call(`${target.url}/live-streams/${liveStreamId}/broadcasts`, { key })
  assert.ok(body?.data, text)
  return body.data as { broadcastId: string; state: string; recordings: Recording[] }[]
}

/** Waits until nothing of the only broadcast waits to be recorded. */
async function waitForRecordings(
  target: Target,
  stream: LiveStream,
  key = productionKey,
): Promise<Recording[]> {
  let broadcast: { state: string; recordings: Recording[] } | undefined
  await waitFor(
    async () => {
      ;[broadcast] = await broadcastsOf(target, stream, key)
      return broadcast?.state === 'ended' && broadcast.recordings.every(({ state }) => state !== 'waiting')
    },
    () => `${JSON.stringify(broadcast)}\n${target.output()}`,
  )
  return broadcast!.recordings
}

async function record(target: Target, stream: LiveStream, key = productionKey): Promise<string> {
  await complete(target, stream, key)
  const recordings = await waitForRecordings(target, stream, key)
  assert.deepEqual(
    recordings.map(({ state, reason }) => [state, reason]),
    [['recorded', null]],
  )
  return recordings[0]!.videoId!
}

/** The second segment begins after the first twelve hours. */
const beginAfterTwelveHours = 'update live_segments set start_ms = start_ms + 43200000 where sequence = 1'

const eventTypes = async (database: string) =>
  (await query(database, 'select type from events order by position')).map(({ type }) => type)

test('without record, a broadcast becomes no video', async () => {
  const stream = await createLiveStream(service, { record: false })
  await publish(service, stream, '-i', clip)
  await complete(service, stream)
  assert.deepEqual(await waitForRecordings(service, stream), [])
  assert.deepEqual(await eventTypes(service.database), [
    'live-stream.broadcast.started',
    'live-stream.broadcast.ended',
  ])
  assert.deepEqual(await query(service.database, 'select from all_videos'), [])
})

test('recordings of the sandbox have thirty seconds and belong to the sandbox', async () => {
  const stream = await createLiveStream({ url: service.url, key: sandboxKey })
  await publish(service, stream, '-stream_loop', '9', '-i', clip)
  const videoId = await record(service, stream, sandboxKey)
  assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
  const hashes = await frameHashes(sourcePath(service.data, videoId))
  // Segments are not cut. The encoding is.
  assert.ok(hashes.length >= 300 && hashes.length <= 320, String(hashes.length))
  const path = `${service.url}/live-streams/${stream.liveStreamId}/broadcasts`
  assertProblem(await call(path), 404, 'resource-not-found', 'liveStreamId')
  const [{ broadcastId } = { broadcastId: '' }] = await broadcastsOf(service, stream, sandboxKey)
  assertProblem(
    await call(`${path}/${broadcastId}/retry`, { method: 'POST' }),
    ...([404, 'resource-not-found', 'liveStreamId'] as const),
  )
})

test('a failed recording says why and can be retried, and a lost segment costs only itself', async () => {
  const stream = await createLiveStream(service)
  await publish(service, stream, '-i', clip)
  const [{ broadcastId } = { broadcastId: '' }] = await broadcastsOf(service, stream)
  const segments = join(service.data, 'files/live', broadcastId, 'source')
  // The last segment is stored in the background.
  await waitFor(async () => (await readdir(segments).catch(() => [])).length === 2)
  await rename(segments, `${segments}-away`)
  await complete(service, stream)
  const reason = 'The segments of the broadcast are missing from the file store.'
  assert.deepEqual(await waitForRecordings(service, stream), [{ state: 'failed', reason, videoId: null }])
  await rename(`${segments}-away`, segments)
  const [first, ...others] = (await readdir(segments)).sort()
  assert.equal(others.length, 1)
  await rm(join(segments, first!))
  const path = `${service.url}/live-streams/${stream.liveStreamId}/broadcasts/${broadcastId}/retry`
  const retried = await call(path, { method: 'POST' })
  assert.deepEqual([retried.status, retried.body.recordings[0].state], [202, 'waiting'])
  const [recording] = await waitForRecordings(service, stream)
  assert.equal(recording?.state, 'recorded')
  const hashes = await frameHashes(sourcePath(service.data, recording.videoId!))
  assert.deepEqual(hashes, clipHashes.slice(20))
})

test('a run of the job that fails leaves the recording alone that another run has completed', async (t) => {
  const stream = await createLiveStream(service)
  await publish(service, stream, '-i', clip)
  await record(service, stream)
  const context = await openJobContext(t, service)
  const setState = (state: string) => query(service.database, 'update recordings set state = $1', [state])
  const put = async () => {
    await setState('recorded')
    throw new Error('the store has failed')
  }
  await setState('waiting')
  const [{ broadcast_id: broadcastId, part }] = await query(service.database, 'select * from recordings')
  const deps = { ...context, files: { ...context.files, put } }
  await assert.rejects(recordBroadcast(deps, { broadcastId, part }, 0), /the store has failed/)
  const [recording] = await waitForRecordings(service, stream)
  assert.deepEqual([recording!.state, recording!.reason], ['recorded', null])
})

test('long broadcasts become several videos, and so do those whose audio changes', async () => {
  const stream = await createLiveStream(service)
  await publish(service, stream, '-i', clip)
  await query(service.database, beginAfterTwelveHours)
  const other = join(folder, 'other-audio.flv')
  await ffmpeg('-i', clip, '-c:v', 'copy', '-c:a', 'aac', '-ar', '22050', other)
  await publish(service, stream, '-i', other)
  await complete(service, stream)
  const recordings = await waitForRecordings(service, stream)
  const parts = [clipHashes.slice(0, 20), clipHashes.slice(20), clipHashes]
  assert.equal(recordings.length, parts.length)
  for (const [i, { videoId }] of recordings.entries())
    assert.deepEqual(await frameHashes(sourcePath(service.data, videoId!)), parts[i])
  const types = await eventTypes(service.database)
  assert.equal(types.filter((type) => type === 'video.source.recorded').length, parts.length)
})

suite('with encoding', () => {
  const service = sharedKinora(withoutThumbnails())

  test('a recording has every frame that was sent, and is an ordinary video', async () => {
    const player = await call(`${service.url}/players`, { method: 'POST', json: {} })
    const { playerId } = player.body
    const stream = await createLiveStream(service, { name: 'Morning show', public: false, playerId })
    await publish(service, stream, '-i', clip)
    const videoId = await record(service, stream)
    const { body: video } = await call(`${service.url}/videos/${videoId}`)
    const { title, public: isPublic, source } = video
    assert.deepEqual([title, isPublic, video.playerId], ['Morning show', false, playerId])
    assert.deepEqual(source, {
      type: 'liveStream',
      uri: `/videos/${videoId}/source`,
      liveStream: {
        liveStreamId: stream.liveStreamId,
        links: [{ rel: 'self', uri: `/live-streams/${stream.liveStreamId}` }],
      },
    })
    assertProblem(
      await call(`${service.url}/videos/${videoId}`, { key: sandboxKey }),
      404,
      'resource-not-found',
      'videoId',
    )
    const { streams, warnings } = await readStreams([clip, sourcePath(service.data, videoId)])
    assert.equal(warnings, '')
    const [sentVideo, sentAudio, video_, audio] = streams
    assert.deepEqual([video_!.hashes, audio!.hashes], [sentVideo!.hashes, sentAudio!.hashes])
    assert.equal(video_!.hashes.length, frames)
    const { metadata } = await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
    assert.deepEqual([metadata.duration, metadata.width, metadata.height], [4, 160, 120])
    const { body } = await call(`${service.url}/videos/${videoId}/status`)
    assert.equal(body.ingest.status, 'ingested')
    await waitForEnds(service.database, videoId)
    assert.deepEqual(await eventTypes(service.database), [
      'live-stream.broadcast.started',
      'live-stream.broadcast.ended',
      'video.source.recorded',
      'video.encoding.quality.completed',
      'video.encoding.quality.completed',
      'video.encoding.completed',
    ])
    const [recorded] = await query(
      service.database,
      `select environment, payload from events where type = 'video.source.recorded'`,
    )
    assert.equal(recorded.environment, 'production')
    const { emittedAt: _, ...payload } = recorded.payload
    assert.deepEqual(payload, { type: 'video.source.recorded', liveStreamId: stream.liveStreamId, videoId })
  })

  test('an encoder that returns with another size continues the recording, which shows all of it', async () => {
    const stream = await createLiveStream(service)
    await publish(service, stream, '-i', clip)
    await publish(service, stream, '-i', largerClip)
    await publish(service, stream, '-i', clip)
    const videoId = await record(service, stream)
    const path = sourcePath(service.data, videoId)
    const sent = [...clipHashes, ...(await frameHashes(largerClip)), ...clipHashes]
    assert.deepEqual(await frameHashes(path, '-reinit_filter', '0'), sent)
    const { metadata } = await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
    assert.equal(metadata.duration, 12)
    // The larger size has the shape of the video. Frames of the smaller one have bars on both sides.
    const joined = join(folder, 'joined.mp4')
    const mp4 = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)
    await writeFile(joined, Buffer.from(await mp4.arrayBuffer()))
    const bars = await barsOf(joined)
    assert.equal(bars.length, 3 * frames)
    for (const [i, isBlack] of bars.entries()) {
      // Compressed frames next to a change are not examined.
      if (i % frames > 2) assert.equal(isBlack, i < frames || i >= 2 * frames, `frame ${i}`)
    }
  })

  test('the broadcast of a deleted live stream is recorded, also without video', async () => {
    const stream = await createLiveStream(service, { name: 'Radio', public: false })
    await publish(service, stream, '-i', clip, '-vn')
    const { liveStreamId } = stream
    assert.equal(
      (await call(`${service.url}/live-streams/${liveStreamId}`, { method: 'DELETE' })).status,
      204,
    )
    const find = async () => (await call(`${service.url}/videos`)).body.data
    await waitFor(async () => (await find()).length > 0)
    const [{ videoId, title, public: isPublic, source }] = await find()
    assert.deepEqual([title, isPublic, source.liveStream.liveStreamId], ['Radio', false, liveStreamId])
    const { metadata } = await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
    assert.deepEqual([metadata.duration, metadata.audioCodec, metadata.videoCodec], [4, 'aac', null])
  })
})

/** Whether the left edge of each frame is black. */
async function barsOf(path: string): Promise<boolean[]> {
  const gray = `${path}.gray`
  const filter = 'crop=8:ih:0:0,scale=1:1:flags=area,format=gray'
  await ffmpeg('-i', path, '-vf', filter, '-fps_mode', 'passthrough', '-f', 'rawvideo', gray)
  return [...(await readFile(gray))].map((value) => value < 32)
}

test('after kills, what was stored is recorded exactly once, with the files in S3, and what nobody needs expires', async (t) => {
  const store = await startS3Store(t)
  const settings = { ...withoutEncoding(), ...store.env, KINORA_LIVE_RECONNECT_SECONDS: '3600' }
  const deployment = await createDeployment(t, settings)
  const { database } = deployment
  const start = async () => ({ ...(await deployment.start()), database })
  const files = openS3Files(store.settings)
  t.after(() => files.close())
  const hashesOf = async (videoId: string) => {
    const path = join(folder, videoId)
    await writeFile(path, await buffer(await files.read(`videos/${videoId}/source`)))
    return frameHashes(path)
  }

  const broadcaster = await start()
  const [stream, longStream] = [await createLiveStream(broadcaster), await createLiveStream(broadcaster)]
  await publish(broadcaster, longStream, '-i', clip)
  const encoder = startFfmpegEncoder(
    t,
    broadcaster,
    stream.streamKey,
    '-re',
    '-stream_loop',
    '-1',
    '-i',
    clip,
  )
  const stored = `select from live_segments join broadcasts on id = broadcast_id where live_stream_id = $1 and sequence >= 1`
  await waitFor(async () => (await query(database, stored, [stream.liveStreamId])).length > 0)
  await broadcaster.kill()
  await encoder.ended
  // Not earlier, because each process looks for long broadcasts all the time.
  const ofLongStream = 'broadcast_id = (select id from broadcasts where live_stream_id = $1)'
  await query(database, `${beginAfterTwelveHours} and ${ofLongStream}`, [longStream.liveStreamId])

  // The next process is killed when the files of both recordings are stored, but their videos are not.
  const blocker = new pg.Client(database)
  await blocker.connect()
  // The database is dropped before the connection is closed if the test fails.
  blocker.on('error', () => {})
  await blocker.query('begin; lock table all_videos in share row exclusive mode')
  const recorder = await start()
  await complete(recorder, stream)
  const waiting = `select from pg_locks where not granted and relation = 'all_videos'::regclass`
  await waitFor(async () => (await query(database, waiting)).length >= 2)
  await recorder.kill()
  await blocker.query('rollback')
  await blocker.end()
  assert.equal((await files.listNames('videos', '', 10)).length, 2)
  assert.deepEqual(await query(database, 'select from all_videos'), [])

  await expireLeases(database)
  const finisher = await start()
  const [recording] = await waitForRecordings(finisher, stream)
  assert.equal(recording?.state, 'recorded')
  const duration = `select sum(duration_ms)::int as ms from live_segments join broadcasts on id = broadcast_id
    where live_stream_id = $1`
  const [{ ms }] = await query(database, duration, [stream.liveStreamId])
  const hashes = await hashesOf(recording.videoId!)
  assert.ok(Math.abs(hashes.length - ms / frameMs) < 2, `${hashes.length} frames in ${ms} ms`)
  assert.deepEqual(
    hashes,
    hashes.map((_, i) => clipHashes[i % frames]),
  )
  const parts = async () => (await broadcastsOf(finisher, longStream))[0]!
  await waitFor(async () => (await parts()).recordings[0]?.state === 'recorded')
  const { state, recordings } = await parts()
  assert.deepEqual([state, recordings.length], ['away', 1])
  assert.deepEqual(await hashesOf(recordings[0]!.videoId!), clipHashes.slice(0, 20))
  assert.equal((await files.listNames('videos', '', 10)).length, 2)
  const recorded = (await eventTypes(database)).filter((type) => type === 'video.source.recorded')
  assert.equal(recorded.length, 2)
  await finisher.stop()

  // Workers look for what has expired when they start.
  await query(database, `update broadcasts set ended_at = now() - interval '2 hours' where state = 'ended'`)
  await query(
    database,
    `insert into broadcasts select (jsonb_populate_record(b, '{"id": "brDeleted", "live_stream_id": "li"}')).*
     from broadcasts b where state = 'ended'`,
  )
  const last = await start()
  const left = () => query(database, 'select sequence from live_segments')
  await waitFor(async () => (await left()).length === 1)
  assert.deepEqual(await left(), [{ sequence: 1 }])
  await waitFor(async () => (await query(database, 'select from broadcasts')).length === 2)
  // The broadcast that goes on may have reserved numbers in the store, too.
  const keys = (await Array.fromAsync(files.list('live'))).filter((key) => key.endsWith('.m4s'))
  assert.deepEqual(
    keys.map((key) => key.replace(/^live\/\w+\//, '')),
    ['source/1-1.m4s'],
  )
  await complete(last, longStream)
  const all = await waitForRecordings(last, longStream)
  assert.deepEqual(await hashesOf(all[1]!.videoId!), clipHashes.slice(20))
})
