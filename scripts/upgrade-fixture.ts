// Makes the fixture of a version for the test of upgrades: a data folder with something of everything, and what this version
// answers. `node scripts/upgrade-fixture.ts` runs the checkout that it belongs to. The path of another checkout, installed
// and built, can be an argument. The settings and routes that are used here exist since version 0.1.0.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  call,
  type Kinora,
  root,
  runKinora,
  sandboxKey,
  sendFile,
  startKinora,
  waitFor,
} from '../test/support/harness.ts'
import { makeSource, RtmpEncoder } from '../test/support/live/encoders.ts'
import { createLiveStream } from '../test/support/live/live-streams.ts'
import { gatedFfmpeg } from '../test/support/media/gated-ffmpeg.ts'
import { ffmpeg } from '../test/support/media/media.ts'
import { startReceiver } from '../test/support/receiver.ts'
import { processesWith } from '../test/support/recovery.ts'
import { makeSpeech, startSpeechServer } from '../test/support/speech.ts'
import {
  ask,
  type Fixture,
  fixtureSettings,
  fixturesFolder,
  hashOf,
  load,
  loadMedia,
  packFixture,
  paddedFile,
  playlistOf,
  readSchemaOf,
  shrinkCluster,
} from '../test/support/upgrade-fixture.ts'
import {
  createVideo,
  encodingOf,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEncoding,
} from '../test/support/videos.ts'
import { viewing } from '../test/support/viewings.ts'

const checkout = resolve(process.argv[2] ?? root)
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => ends.push(end) }
const folder = await mkdtemp(join(tmpdir(), 'kinora-fixture-'))
ends.push(() => rm(folder, { recursive: true, force: true }))
// If root runs this, ffmpeg runs as another user.
await chmod(folder, 0o755)
const data = join(folder, 'data')
const file = (name: string) => join(folder, name)

const start = (env: Record<string, string>) =>
  startKinora({ KINORA_DATA_DIR: data, ...fixtureSettings, ...env }, [join(checkout, 'server/main.ts')])

type Made = Omit<Fixture, 'version' | 'migrations' | 'queueSchema' | 'answers' | 'media' | 'files'>

try {
  const made = await makeContent()
  const interruptedVideo = await interruptEncoding()
  const service = await start({ KINORA_ROLES: 'api' })
  ends.unshift(() => service.stop())
  const fixture = await describe(service, { ...made, interruptedVideo })
  await shrinkCluster(data, () => service.stop())
  await packFixture(version, data)
  await writeFile(join(fixturesFolder, `${version}.json`), `${JSON.stringify(fixture, null, 2)}\n`)
  const { size } = await stat(join(fixturesFolder, `${version}.tar.zst`))
  console.log(`made the fixture of version ${version}: ${Math.round(size / 1024)} KiB`)
} finally {
  for (const end of ends) await end()
}

async function post(service: Kinora, path: string, json: object) {
  const { status, body, text } = await call(`${service.url}${path}`, { method: 'POST', json })
  assert.ok(status < 300, `${path}: ${text}`)
  return body
}

async function send(service: Kinora, path: string, content: Buffer, options = {}) {
  const { status, body, text } = await sendFile(`${service.url}${path}`, content, options)
  assert.ok(status < 300, `${path}: ${text}`)
  return body
}

async function makeFiles(): Promise<void> {
  const picture = (size: string, name: string) =>
    ffmpeg('-f', 'lavfi', '-i', `testsrc2=s=${size}`, '-frames:v', '1', file(name))
  const film = ['-f', 'lavfi', '-i', 'testsrc2=s=64x36:r=5:d=12', '-c:v', 'libx264', '-preset', 'ultrafast']
  await Promise.all([
    picture('64x32', 'logo.png'),
    picture('32x32', 'watermark.png'),
    picture('64x36', 'thumbnail.jpg'),
    makeSpeech(file('film.mp4'), 3),
    ffmpeg(...film, '-pix_fmt', 'yuv420p', file('long.mp4')),
  ])
}

async function makeContent(): Promise<Omit<Made, 'interruptedVideo'>> {
  await makeFiles()
  const speech = await startSpeechServer(cleanup)
  const receiver = await startReceiver(cleanup)
  const service = await start({ KINORA_TRANSCRIPTION_URL: speech.url })
  const events = ['video.encoding.quality.completed', 'video.source.recorded', 'live-stream.broadcast.ended']
  const { webhookId } = await post(service, '/webhooks', { url: `${receiver.url}/hook`, events })
  const { token: uploadToken } = await post(service, '/upload-tokens', {})
  const signing = await post(service, '/signing-keys', { name: 'Site' })
  const { playerId } = await post(service, '/players', { name: 'Brand', link: 'rgba(10, 20, 30, 1)' })
  const logo = await readFile(file('logo.png'))
  await send(service, `/players/${playerId}/logo`, logo, {
    filename: 'logo.png',
    before: { link: 'https://example.com/' },
  })
  const image = await readFile(file('watermark.png'))
  const { watermarkId } = await send(service, '/watermarks', image, { filename: 'watermark.png' })

  const film = await readFile(file('film.mp4'))
  const publicVideo = await uploadVideo(service, film, {
    title: 'Überraschung',
    description: 'A film with everything',
    tags: ['film', 'kept'],
    metadata: [
      { key: 'author', value: 'Ada' },
      { key: 'viewer', value: '__viewer__' },
    ],
    playerId,
    watermark: { id: watermarkId, top: '1px', left: '1px' },
    transcript: true,
  })
  const privateVideo = await uploadVideo(service, film, { title: 'Private', public: false })
  const discardedVideo = await uploadVideo(service, film, { title: 'Discarded' })
  const sandbox = { url: `${service.url}/sandbox`, key: sandboxKey }
  const sandboxVideo = await createVideo(sandbox, { title: 'Sandbox' })
  for (const videoId of [publicVideo, privateVideo, discardedVideo]) await waitForEncoding(service, videoId)
  await call(`${service.url}/videos/${discardedVideo}`, { method: 'DELETE' })
  await send(
    service,
    `/videos/${publicVideo}/captions/de`,
    Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHallo\n'),
  )
  await send(
    service,
    `/videos/${publicVideo}/chapters/en`,
    Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nStart\n'),
  )
  await send(service, `/videos/${publicVideo}/thumbnail`, await readFile(file('thumbnail.jpg')), {
    filename: 'a.jpg',
  })
  await waitFor(async () => (await videoStatus(service, publicVideo)).transcript?.status === 'completed')

  const unfinishedVideo = await createVideo(service, { title: 'Unfinished' })
  const { firstChunk, range } = paddedFile(film)
  assert.equal((await sendFile(sourceUrl(service, unfinishedVideo), firstChunk, { range })).status, 201)
  await watch(service, publicVideo)
  const recordedVideo = await broadcast(service)
  await waitForEncoding(service, recordedVideo)
  const apiKey = await createKey()
  await waitFor(async () =>
    (await call(`${service.url}/webhooks/${webhookId}/deliveries?pageSize=100`)).body.data.every(
      ({ state }: { state: string }) => state === 'succeeded',
    ),
  )
  // Nothing listens there, so that no test sends events to another program.
  await call(`${service.url}/webhooks/${webhookId}`, {
    method: 'PATCH',
    json: { url: 'http://127.0.0.1:1/hook' },
  })
  await service.stop()
  return {
    publicVideo,
    privateVideo,
    unfinishedVideo,
    discardedVideo,
    sandboxVideo,
    recordedVideo,
    webhookId,
    uploadToken,
    signingKey: { id: signing.signingKeyId, privateKey: signing.privateKey },
    apiKey,
  }
}

async function createKey(): Promise<string> {
  const args = ['keys', 'create', '--environment', 'production', '--name', 'old', '--json']
  process.env.TEST_COMMAND_LINE = join(checkout, 'bin/kinora.mjs')
  const { stdout, stderr } = await runKinora(args, { KINORA_DATA_DIR: data })
  assert.match(stdout, /"key"/, stderr)
  return JSON.parse(stdout).key
}

/** Two viewers of the video. */
async function watch(service: Kinora, videoId: string): Promise<void> {
  for (const viewer of ['Ada', 'Bob']) {
    const { event, report } = viewing(videoId, 30_000, { metadata: [{ viewer }] })
    const events = [event(1, 'ready', { at: 0 }), event(2, 'play', { at: 0 }), event(4, 'pause', { at: 2 })]
    const { status, text } = await call(`${service.url}/collector/vod`, {
      method: 'POST',
      key: '',
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
      body: JSON.stringify(report(events)),
    })
    assert.equal(status, 200, text)
  }
}

/** Broadcasts some seconds, and returns the video of the recording. */
async function broadcast(service: Kinora): Promise<string> {
  const { liveStreamId, streamKey } = await createLiveStream(service, { name: 'Show', record: true })
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(makeSource({ size: '64x36', seconds: 4, frameRate: 5, audio: 'aac' }))
  await encoder.close()
  const broadcasts = async () =>
    (await call(`${service.url}/live-streams/${liveStreamId}/broadcasts`)).body.data
  await waitFor(async () => (await broadcasts()).length > 0)
  await call(`${service.url}/live-streams/${liveStreamId}/complete`, { method: 'PUT' })
  await waitFor(async () => (await broadcasts())[0].recordings[0]?.state === 'recorded')
  return (await broadcasts())[0].recordings[0].videoId
}

/** Kills the service while it encodes the second half of a video. */
async function interruptEncoding(): Promise<string> {
  const programs = await mkdtemp(join(folder, 'programs-'))
  await chmod(programs, 0o755)
  const gated = await gatedFfmpeg(programs)
  await gated.encodeUntil(6)
  const service = await start({
    KINORA_FFMPEG: gated.path,
    KINORA_COPY_SOURCES: 'off',
    KINORA_ENCODE_SLOTS: '2',
  })
  const videoId = await uploadVideo(service, file('long.mp4'), { title: 'Interrupted' })
  await waitFor(async () => (await encodingOf(service, videoId)).playable)
  await service.kill()
  for (const { pid } of await processesWith(programs)) process.kill(pid, 'SIGKILL')
  for (const { pid } of await processesWith(join(data, 'work'))) process.kill(pid, 'SIGKILL')
  return videoId
}

async function describe(service: Kinora, made: Made): Promise<Fixture> {
  const { publicVideo, privateVideo, recordedVideo, discardedVideo, webhookId } = made
  const answers: Record<string, unknown> = {}
  const get = async (path: string) => {
    answers[path] = await ask(service, path)
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    return answers[path] as any
  }
  const page = 'pageSize=100'
  const videos = await get(`/videos?${page}&sortBy=title&sortOrder=asc`)
  for (const { videoId } of videos.data) {
    await get(`/videos/${videoId}`)
    await get(`/videos/${videoId}/status`)
  }
  const streams = await get(`/live-streams?${page}`)
  for (const { liveStreamId } of streams.data) await get(`/live-streams/${liveStreamId}/broadcasts`)
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const period = `from=${day(-1)}&to=${day(1)}`
  const lists = [
    'players',
    'watermarks',
    'webhooks',
    'upload-tokens',
    'signing-keys',
    'tags',
    'events',
    'summaries',
    'discarded/videos',
  ]
  for (const name of lists) await get(`/${name}?${page}`)
  const deliveries = await get(`/webhooks/${webhookId}/deliveries?${page}`)
  await get(`/webhooks/${webhookId}/deliveries/${deliveries.data[0].deliveryId}`)
  await get(`/discarded/videos/${discardedVideo}`)
  await get(`/videos/${publicVideo}/captions`)
  await get(`/videos/${publicVideo}/chapters`)
  await get(`/videos?search=uberraschung`)
  await get(`/videos?metadata[author]=Ada`)
  await get(`/analytics/videos/${publicVideo}`)
  await get(`/analytics/metadata/viewer?${period}`)
  await get(`/analytics/videos/${publicVideo}/retention?${period}`)
  for (const metric of ['play/count', 'play/rate', 'watch-time/sum'])
    await get(`/data/metrics/${metric}?${period}`)
  await get(`/data/buckets/play/media-id?${period}`)

  const media: Fixture['media'] = {}
  for (const id of [publicVideo, privateVideo, recordedVideo])
    media[id] = await loadMedia(await playlistOf(service, id))
  const files: Fixture['files'] = {}
  const { assets } = (await call(`${service.url}/videos/${publicVideo}`)).body
  const { data: themes } = (await call(`${service.url}/players`)).body
  const captions = [`/vod/${publicVideo}/captions/de.vtt`, `/vod/${publicVideo}/sprites.vtt`]
  const urls = [
    assets.mp4,
    assets.thumbnail,
    themes[0].assets.logo,
    ...captions.map((path) => service.url + path),
  ]
  for (const url of urls) files[new URL(url).pathname] = hashOf(await load(url))
  return { version, ...readSchemaOf(checkout), ...made, answers, media, files }
}
