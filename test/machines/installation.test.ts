import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Installation, openInstallation } from '../../machines/installation.ts'
import type { KinoraMachine } from '../../machines/kinora.ts'
import { lacksMachines } from '../../machines/requirements.ts'
import {
  assertNoErrorsLogged,
  call,
  MiB,
  productionKey,
  query,
  sendFile,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { download, ffmpeg, frameHashes, makeClip } from '../support/media/media.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import { createVideo, encodingOf, sourceUrl, uploadVideo, waitForEncoding } from '../support/videos.ts'

const readsPerMinute = 600

describe('several machines', { skip: lacksMachines }, () => {
  let installation: Installation
  let [api1, api2] = [] as unknown as [KinoraMachine, KinoraMachine]
  const ends: (() => unknown)[] = []

  before(async () => {
    installation = await openInstallation({
      env: { KINORA_RATE_LIMITS: 'on', KINORA_RATE_LIMIT_READS: String(readsPerMinute) },
    })
    ;[api1, api2] = installation.api as [KinoraMachine, KinoraMachine]
  })
  after(async () => {
    for (const end of ends) await end()
    await installation?.close()
  })

  test('chunks of one file go through two machines, and two machines encode it while a third plays it', async (t) => {
    const folder = await temporaryFolder(t)
    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '426x240', rate: '25', seconds: 120 })
    // Chunks have at least 5 MiB.
    const content = Buffer.concat([await readFile(clip), mp4Padding(21 * MiB)])
    const videoId = await createVideo(api1)
    const chunk = 5 * MiB
    const count = Math.ceil(content.length / chunk)
    // The last chunk first: both machines know what the other one has.
    for (let part = count; part > 0; part--) {
      const sent = await sendFile(
        sourceUrl(part % 2 ? api1 : api2, videoId),
        content.subarray((part - 1) * chunk, part * chunk),
        { headers: { 'content-range': `part ${part}/${count}` } },
      )
      assert.equal(sent.status, 201, sent.text)
    }
    await waitFor(async () => (await encodingOf(api2, videoId)).playable)
    const early = await Promise.all(
      [api1, api2].map(({ url }) => fetch(`${url}/vod/${videoId}/hls/manifest.m3u8`)),
    )
    for (const { status } of early) assert.equal(status, 200)
    await waitForEncoding(api1, videoId)
    for (const worker of installation.worker)
      assert.ok((await metric(worker, 'kinora_encoded_seconds_total')) > 0, `${worker.name} encoded a part`)
    const [one, two] = await Promise.all([
      download(api1.url, videoId, '240p', await temporaryFolder(t)),
      download(api2.url, videoId, '240p', await temporaryFolder(t)),
    ])
    assert.equal(one.playlist, two.playlist)
    const frames = await frameHashes(one.joined)
    assert.equal(frames.length, 120 * 25)
    assert.equal(hash(await readFile(one.joined)), hash(await readFile(two.joined)))
  })

  test('a broadcast that one machine receives is watched through two others at low latency', async (t) => {
    const source = join(await temporaryFolder(t), 'source.flv')
    await ffmpeg(
      ...['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10', '-f', 'lavfi', '-i', 'sine=r=44100', '-t', '10'],
      ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '10', '-c:a', 'aac', source],
    )
    const live = installation.live[0]!
    const { liveStreamId, streamKey } = await createLiveStream(api1, { record: true })
    const input = ['-re', '-stream_loop', '-1', '-i', source]
    const encoder = startFfmpegEncoder(t, { output: () => live.rtmpUrl }, streamKey, ...input)
    for (const { url } of [api1, api2]) await watchParts(url, liveStreamId, encoder.output)
    await encoder.stop()
    const recording = await recordingOf(api2, liveStreamId)
    await waitForEncoding(api2, recording)
  })

  test('each event is delivered once', async (t) => {
    const receiver = await startReceiver(t, undefined, installation.network.ownAddress)
    await createWebhook(api1.url, `${receiver.url}/hook`)
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '160x120', seconds: 3 })
    const videos = [await uploadVideo(api1, clip), await uploadVideo(api2, clip)]
    for (const each of videos) await waitForEncoding(api1, each)
    const events = await query(installation.postgres.url, 'select id from events where video_id = any($1)', [
      videos,
    ])
    const expected = events.length
    await receiver.waitForEvents('/hook', 4)
    const ids = receiver.requestsTo('/hook').map(({ headers }) => headers['webhook-id'])
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(expected >= 4)
  })

  test('a key that is revoked at one machine is refused by all others within a second', async () => {
    const created = await call(`${api1.url}/api-keys`, { method: 'POST', json: { name: 'shared' } })
    assert.equal(created.status, 201, created.text)
    const { apiKeyId, key } = created.body
    assert.equal((await call(`${api2.url}/videos`, { key })).status, 200)
    assert.equal((await call(`${api1.url}/api-keys/${apiKeyId}`, { method: 'DELETE' })).status, 204)
    await withinSeconds(async () => (await call(`${api2.url}/videos`, { key })).status === 401)
  })

  test('the rate limit of a key applies to all machines together', async () => {
    const { body } = await call(`${api1.url}/api-keys`, { method: 'POST', json: { name: 'limited' } })
    const read = ({ url }: KinoraMachine) => call(`${url}/videos/${randomUUID()}`, { key: body.key })
    const remaining = async (machine: KinoraMachine) =>
      Number((await read(machine)).headers.get('x-ratelimit-remaining'))
    for (let i = 0; i < 200; i++) await read(api1)
    // The requests of this test may be in two minutes.
    await withinSeconds(async () => {
      const [one, two] = [await remaining(api1), await remaining(api2)]
      return Math.abs(one - two) <= 25 && two < readsPerMinute - 50
    })
  })

  test('a session of the dashboard works at all machines, and ends at all of them', async () => {
    const login = await fetch(`${api1.url}/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: api1.url },
      body: JSON.stringify({ password: 'machines' }),
    })
    assert.ok(login.ok, await login.text())
    const cookie = login.headers.getSetCookie()[0]!.split(';')[0]!
    const list = ({ url }: KinoraMachine) =>
      fetch(`${url}/dashboard/api/production/videos`, { headers: { cookie } })
    assert.equal((await list(api2)).status, 200)
    const ended = await fetch(`${api2.url}/dashboard/session`, {
      method: 'DELETE',
      headers: { cookie, origin: api2.url },
    })
    assert.ok(ended.ok, await ended.text())
    await withinSeconds(async () => (await list(api1)).status === 401)
  })

  test('a clock that is wrong by a minute changes nothing', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '160x120', seconds: 5 })
    const [worker1, worker2] = installation.worker as [KinoraMachine, KinoraMachine]
    await Promise.all([api2.setClock(-60_000), worker1.setClock(60_000), worker2.setClock(-60_000)])
    t.after(() => Promise.all(installation.kinora.map((each) => each.setClock(0))))
    const videoId = await uploadVideo(api2, clip, { public: false })
    const { qualities } = await waitForEncoding(api1, videoId)
    for (const { status } of qualities) assert.equal(status, 'encoded')
    // A token of a private video that one machine makes is valid at another one.
    for (const [from, at] of [
      [api1, api2],
      [api2, api1],
    ] as const) {
      const { body } = await call(`${from.url}/videos/${videoId}`)
      const { pathname } = new URL(body.assets.hls)
      assert.equal((await call(at.url + pathname, { key: '' })).status, 200)
    }
  })

  test('no service has logged an error', () => {
    for (const each of installation.kinora) assertNoErrorsLogged(each.service())
  })
})

/** A box that players skip, so that a small video becomes a large file. */
function mp4Padding(bytes: number): Buffer {
  const box = Buffer.alloc(bytes)
  box.writeUInt32BE(bytes, 0)
  box.write('free', 4)
  return box
}

const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex')

/** The sum of a metric over all its labels. */
async function metric({ url }: KinoraMachine, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith(name))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Machines agree after a second, but on a busy host this process may notice later. */
const withinSeconds = (condition: () => Promise<boolean>) => waitFor(condition)

/** Waits for parts by blocking reloads, as players at low latency do. */
async function watchParts(url: string, liveStreamId: string, detail: () => string): Promise<void> {
  let text = ''
  let folder = ''
  await waitFor(
    async () => {
      const master = await call(`${url}/live/${liveStreamId}.m3u8`, { key: '' })
      const path = /^.*\/source\/(?=index\.m3u8)/m.exec(master.text)?.[0]
      folder = `${url}/live/${path}`
      return path !== undefined
    },
    () => detail() + text,
  )
  let parts = 0
  await waitFor(
    async () => {
      const response = await call(`${folder}index.m3u8${await nextPart(folder)}`, { key: '' })
      text = response.text
      parts += response.status === 200 && text.includes('#EXT-X-PART:') ? 1 : 0
      return parts >= 4
    },
    () => text,
  )
}

async function nextPart(folder: string): Promise<string> {
  const { text } = await call(`${folder}index.m3u8`, { key: '' })
  const [, sequence, part] = /PRELOAD-HINT:TYPE=PART,URI="(\d+)-\d+\.(\d+)\.m4s"/.exec(text) ?? []
  return sequence === undefined ? '' : `?_HLS_msn=${sequence}&_HLS_part=${part}`
}

async function recordingOf({ url }: KinoraMachine, liveStreamId: string): Promise<string> {
  let videoId: string | undefined
  await waitFor(async () => {
    const { body } = await call(`${url}/videos?liveStreamId=${liveStreamId}`, { key: productionKey })
    videoId = body?.data?.[0]?.videoId
    return videoId !== undefined
  })
  return videoId!
}
