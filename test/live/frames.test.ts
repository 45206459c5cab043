import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { openAsBlob } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import {
  call,
  productionKey,
  query,
  sandboxKey,
  settingsOf,
  sharedKinora,
  startKinora,
  waitFor,
} from '../support/harness.ts'
import { makeSource, RtmpEncoder, stayConnected } from '../support/live/encoders.ts'
import { createLiveStream, type LiveStream } from '../support/live/live-streams.ts'

// The images of what is on air.

const service = sharedKinora()
beforeEach(() => query(service.database, 'delete from broadcasts; delete from live_streams'))

const red = makeSource({ picture: 'color=red', seconds: 4 })
const blue = makeSource({ picture: 'color=blue', seconds: 4 })

type Image = { status: number; etag: string; cacheControl: string; color: string }

async function load(url: string, headers: Record<string, string> = {}): Promise<Image> {
  const response = await fetch(url, { headers })
  const body = Buffer.from(await response.arrayBuffer())
  const [etag, cacheControl] = ['etag', 'cache-control'].map((name) => response.headers.get(name) ?? '')
  const color = response.status === 200 ? colorOf(body) : ''
  return { status: response.status, etag: etag!, cacheControl: cacheControl!, color }
}

function colorOf(jpeg: Buffer): string {
  const args = [
    '-v',
    'error',
    '-i',
    'pipe:0',
    '-vf',
    'scale=1:1',
    '-f',
    'rawvideo',
    '-pix_fmt',
    'rgb24',
    'pipe:1',
  ]
  const [r = 0, g = 0, b = 0] = execFileSync('ffmpeg', args, { input: jpeg })
  if (r > 200 && g < 60 && b < 60) return 'red'
  return b > 200 && r < 60 && g < 60 ? 'blue' : 'other'
}

const frameOf = ({ assets }: LiveStream) => assets.thumbnail.replace('/thumbnail.jpg', '/frame.jpg')

/** Another frame is made at most every ten seconds. */
const waitForColor = (url: string, color: string) =>
  waitFor(
    async () => (await load(url)).color === color,
    () => `the image is not ${color}`,
  )

async function end({ liveStreamId: id }: LiveStream): Promise<void> {
  await call(`${service.url}/live-streams/${id}/complete`, { method: 'PUT' })
  await waitFor(async () => !(await call(`${service.url}/live-streams/${id}`)).body.broadcasting)
}

test('the frame of a private live stream is as private as the stream', async () => {
  const stream = await createLiveStream(service, { public: false })
  const other = await createLiveStream(service, { public: false })
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(red)
  const { pathname } = new URL(frameOf(stream))
  await waitForColor(frameOf(stream), 'red')
  assert.equal((await load(frameOf(stream))).cacheControl, 'private, max-age=10')

  const { liveStreamId: id } = stream
  const tokenOf = ({ assets }: LiveStream) => /private\/([^/]+)/.exec(assets.thumbnail)![1]
  const plain = `${service.url}/live/${id}/frame.jpg`
  const refused = [
    [plain, {}],
    // A key is no token, whatever its environment.
    [plain, { authorization: `Bearer ${productionKey}` }],
    [plain, { authorization: `Bearer ${sandboxKey}` }],
    [`${service.url}${pathname.replace(tokenOf(stream)!, tokenOf(other)!)}`, {}],
    [`${service.url}${pathname.replace(tokenOf(stream)!, 'x')}`, {}],
  ] as const
  for (const [url, headers] of refused)
    for (const name of ['frame.jpg', 'thumbnail.jpg']) {
      const { status } = await load(url.replace('frame.jpg', name), headers)
      assert.ok([403, 404].includes(status), `${status} for ${url}`)
    }
  await encoder.close()
})

test('frames follow the broadcast, and the thumbnail is back after it', async (t) => {
  const stream = await createLiveStream(service)
  const { thumbnail } = stream.assets
  const before = await load(thumbnail)
  assert.equal((await load(frameOf(stream))).etag, before.etag, 'a placeholder')
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(red)
  t.after(stayConnected(encoder, red))
  await waitForColor(frameOf(stream), 'red')
  const first = await load(frameOf(stream))
  assert.equal(first.cacheControl, 'public, max-age=10')
  assert.equal((await load(frameOf(stream), { 'if-none-match': first.etag })).status, 304)
  assert.equal((await load(thumbnail)).color, 'red', 'there is no other thumbnail')

  await encoder.send(blue, 4_000)
  await waitForColor(frameOf(stream), 'blue')
  assert.notEqual((await load(frameOf(stream))).etag, first.etag)

  const form = new FormData()
  const image = join(import.meta.dirname, '../../docs/images/player.png')
  form.append('file', await openAsBlob(image), 'player.png')
  const url = `${service.url}/live-streams/${stream.liveStreamId}/thumbnail`
  assert.equal((await call(url, { method: 'POST', body: form })).status, 201)
  const uploaded = await load(thumbnail)
  assert.equal(uploaded.color, 'other', 'an uploaded thumbnail is kept during the broadcast')
  assert.equal((await load(frameOf(stream))).color, 'blue')

  await end(stream)
  await waitFor(async () => (await load(frameOf(stream))).etag === uploaded.etag)
  assert.equal((await call(url, { method: 'DELETE' })).status, 200)
  assert.equal((await load(thumbnail)).etag, before.etag)
  assert.equal((await load(frameOf(stream))).etag, before.etag)
  await encoder.close()
})

test('all processes share a frame, whoever is asked first', async (t) => {
  const other = await startKinora({ ...settingsOf(service), KINORA_ROLES: 'api' })
  t.after(other.stop)
  const stream = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, stream.streamKey)
  await encoder.send(red)
  const { pathname } = new URL(frameOf(stream))
  await waitForColor(other.url + pathname, 'red')
  const madeAt = async () => (await query(service.database, 'select made_at from live_frames'))[0].made_at
  const before = await madeAt()
  const images = await Promise.all([service, service, other].map(({ url }) => load(url + pathname)))
  assert.equal(new Set(images.map(({ etag }) => etag)).size, 1)
  assert.deepEqual(await madeAt(), before)
  await encoder.close()
})
