import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Installation, openInstallation } from '../../machines/installation.ts'
import type { KinoraMachine } from '../../machines/kinora.ts'
import { lacksNftables, setLinkFaults } from '../../machines/links.ts'
import { lacksProxy } from '../../machines/proxy.ts'
import { lacksMachines } from '../../machines/requirements.ts'
import { type Dashboard, logIn } from '../support/browser/dashboard.ts'
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
import { createWebhook, encoded, startReceiver } from '../support/receiver.ts'
import { createVideo, encodingOf, sourceUrl, uploadVideo, waitForEncoding } from '../support/videos.ts'

const readsPerMinute = 600

describe('several machines', { skip: lacksMachines }, () => {
  let installation: Installation
  let [api1, api2] = [] as unknown as [KinoraMachine, KinoraMachine]
  let dashboard: Dashboard
  const ends: (() => unknown)[] = []

  before(async () => {
    installation = await openInstallation({
      env: {
        KINORA_RATE_LIMITS: 'on',
        KINORA_RATE_LIMIT_READS: String(readsPerMinute),
        KINORA_LIVE_RECONNECT_SECONDS: '2',
      },
    })
    ;[api1, api2] = installation.api as [KinoraMachine, KinoraMachine]
    dashboard = await logIn({ url: api1.url, database: installation.postgres.primaryUrl() })
  })
  after(async () => {
    for (const end of ends) await end()
    await installation?.close()
  })

  const createKey = async (name: string): Promise<{ keyId: string; key: string }> => {
    const { status, body, text } = await dashboard.call('/dashboard/keys/production', {
      method: 'POST',
      json: { name },
    })
    assert.equal(status, 201, text)
    return body
  }

  test('chunks of one file go through two machines, and two machines encode it while a third plays it', async (t) => {
    const folder = await temporaryFolder(t)
    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '426x240', rate: '25', seconds: 60 })
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
    assert.equal(frames.length, 60 * 25)
    assert.equal(hash(await readFile(one.joined)), hash(await readFile(two.joined)))
    await t.test('viewers get the same through the proxy and its cache', { skip: lacksProxy }, async () => {
      const { url } = installation.proxy!
      const cached = await download(url, videoId, '240p', await temporaryFolder(t))
      assert.equal(cached.playlist, one.playlist)
      assert.equal(hash(await readFile(cached.joined)), hash(await readFile(one.joined)))
      const segment = await fetch(`${url}/vod/${videoId}/hls/240p/${lastFile(one.playlist)}`)
      assert.equal(segment.headers.get('x-cache'), 'HIT')
    })
    await t.test('the proxy keeps nothing of a private video', { skip: lacksProxy }, async () => {
      const { url } = installation.proxy!
      const changed = await call(`${url}/videos/${videoId}`, { method: 'PATCH', json: { public: false } })
      assert.equal(changed.status, 200, changed.text)
      const { pathname } = new URL(changed.body.assets.hls)
      // The token is for the first viewer.
      for (const status of [200, 404]) assert.equal((await fetch(url + pathname)).status, status)
    })
  })

  test('a broadcast that one machine receives is watched through two others at low latency', async (t) => {
    const source = join(await temporaryFolder(t), 'source.flv')
    await ffmpeg(
      ...['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10', '-f', 'lavfi', '-i', 'sine=r=44100', '-t', '10'],
      ...[
        '-c:v',
        'libx264',
        '-preset',
        'ultrafast',
        '-pix_fmt',
        'yuv420p',
        '-g',
        '10',
        '-c:a',
        'aac',
        source,
      ],
    )
    const live = installation.live[0]!
    const { liveStreamId, streamKey } = await createLiveStream(api1, { record: true })
    const input = ['-re', '-stream_loop', '-1', '-i', source]
    const encoder = startFfmpegEncoder(t, { output: () => live.rtmpUrl }, streamKey, ...input)
    for (const { url } of [api1, api2]) await watchParts(url, liveStreamId, encoder.output)
    await t.test('and through the proxy', { skip: lacksProxy }, () =>
      watchParts(installation.proxy!.url, liveStreamId, encoder.output),
    )
    await t.test('and by the other one if a link is cut', { skip: lacksNftables }, async () => {
      setLinkFaults(api1, [{ kind: 'cut', peer: live.address }])
      await waitFor(async () => !(await sourcePlaylist(api1.url, liveStreamId)).text.includes('#EXT-X-PART:'))
      await watchParts(api2.url, liveStreamId, encoder.output)
      setLinkFaults(api1, [])
      await watchParts(api1.url, liveStreamId, encoder.output)
    })
    await encoder.stop()
    const recording = await recordingOf(api2, liveStreamId)
    await waitForEncoding(api2, recording)
  })

  test('each event is delivered once', async (t) => {
    const receiver = await startReceiver(t, undefined, installation.network.ownAddress)
    const { webhookId } = await createWebhook(api1.url, `${receiver.url}/hook`)
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '160x120', seconds: 3 })
    const videos = [await uploadVideo(api1, clip), await uploadVideo(api2, clip)]
    for (const each of videos) await waitForEncoding(api1, each)
    const database = installation.postgres.primaryUrl()
    const events = await query(database, 'select id from events where video_id = any($1) and type = $2', [
      videos,
      encoded,
    ])
    assert.equal(events.length, 4)
    await waitFor(async () => {
      const states = await query(database, 'select state from deliveries where webhook_id = $1', [webhookId])
      return states.length >= events.length && states.every(({ state }) => state === 'succeeded')
    })
    const ids = receiver.requestsTo('/hook').map(({ headers }) => headers['webhook-id'])
    assert.deepEqual([...new Set(ids)].sort(), events.map(({ id }) => id).sort())
    // A request that two workers send is one attempt. On a busy machine, an attempt may take too long and be repeated.
    const [attempts] = await query(
      database,
      'select count(*)::int as rows, sum(tries)::int as sum from deliveries where webhook_id = $1',
      [webhookId],
    )
    assert.deepEqual(attempts, { rows: events.length, sum: ids.length })
  })

  test('a key that is revoked at one machine is refused by the other one', async () => {
    const { keyId, key } = await createKey('shared')
    assert.equal((await call(`${api2.url}/videos`, { key })).status, 200)
    const revoked = await dashboard.call(`/dashboard/keys/production/${keyId}`, { method: 'DELETE' })
    assert.equal(revoked.status, 204, revoked.text)
    await waitFor(async () => (await call(`${api2.url}/videos`, { key })).status === 401)
  })

  test('the rate limit of a key applies to all machines together', async () => {
    const { key } = await createKey('limited')
    const read = ({ url }: KinoraMachine) => call(`${url}/videos?pageSize=1`, { key })
    const isRefused = async (machine: KinoraMachine) => (await read(machine)).status === 429
    // A minute may end in between. Then the test begins again.
    await waitFor(async () => {
      for (let i = 0; i <= readsPerMinute && !(await isRefused(api1)); i++);
      await setTimeout(1_000)
      return await isRefused(api2)
    })
  })

  test('a session of the dashboard works at all machines, and ends at all of them', async () => {
    const { call: browse } = await logIn({ url: api1.url, database: installation.postgres.primaryUrl() })
    const list = ({ url }: KinoraMachine) => browse('/dashboard/api/production/videos', { url })
    assert.equal((await list(api2)).status, 200)
    assert.equal((await browse('/dashboard/logout', { method: 'POST', url: api2.url })).status, 204)
    await waitFor(async () => (await list(api1)).status === 401)
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

const lastFile = (playlist: string) =>
  playlist
    .trim()
    .split('\n')
    .findLast((line) => !line.startsWith('#'))

const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex')

/** The sum of a metric over all its labels. */
async function metric({ url }: KinoraMachine, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line.startsWith(name))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** The playlist of the quality that the encoder sends. */
async function sourcePlaylist(url: string, liveStreamId: string) {
  const master = await call(`${url}/live/${liveStreamId}.m3u8`, { key: '' })
  const folder = `${url}/live/${/^.*\/source\/(?=index\.m3u8)/m.exec(master.text)?.[0]}`
  return { folder, ...(await call(`${folder}index.m3u8`, { key: '' })) }
}

/** Waits for parts by blocking reloads, as players at low latency do. */
async function watchParts(url: string, liveStreamId: string, detail: () => string): Promise<void> {
  let parts = 0
  let text = ''
  await waitFor(
    async () => {
      const { folder, text: latest } = await sourcePlaylist(url, liveStreamId)
      const reloaded = await call(`${folder}index.m3u8${nextPart(latest)}`, { key: '' })
      text = reloaded.text
      if (reloaded.status === 200 && text.includes('#EXT-X-PART:')) parts++
      return parts >= 4
    },
    () => detail() + text,
  )
}

function nextPart(playlist: string): string {
  const [, sequence, part] = /PRELOAD-HINT:TYPE=PART,URI="(\d+)-\d+\.(\d+)\.m4s"/.exec(playlist) ?? []
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
