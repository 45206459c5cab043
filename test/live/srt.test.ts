import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { lacksSrt, makeTs, sendTs } from '../../server/live/ingest/srt/test-server.ts'
import { assertProblem, call, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'

// Broadcasts over SRT, sent by ffmpeg. Everything behind the ingest is that of RTMP.

const service = sharedKinora()
const ffmpegOnly = { skip: lacksSrt }

let film: string
before(async () => {
  film = join(await temporaryFolder({ after() {} }), 'film.ts')
  await writeFile(film, makeTs('-g', '25'))
})

const srtPort = () => Number(/srt:\/\/[^:\s]+:(\d+)/.exec(service.output())![1])
const broadcastsOf = async (id: string) =>
  (await call(`${service.url}/live-streams/${id}/broadcasts`)).body.data
const waitForState = (id: string, state: string) =>
  waitFor(async () => (await broadcastsOf(id))[0]?.state === state)

test('a broadcast over SRT is encrypted, watched and measured', ffmpegOnly, async (t) => {
  const passphrase = 'correct-horse'
  const stream = await createLiveStream(service, { srtPassphrase: passphrase })
  const { code, output } = await sendTs(t, film, srtPort(), {
    ...{ streamid: stream.streamKey, passphrase, pbkeylen: 32 },
  })
  assert.equal(code, 0, output)
  await waitForState(stream.liveStreamId, 'away')
  const [{ health, qualities }] = await broadcastsOf(stream.liveStreamId)
  assert.deepEqual([health.protocol, health.width, health.height], ['srt', 320, 180])
  assert.deepEqual([health.keyFrameInterval, health.droppedFrames, health.clockJumps], [1, 0, 0])
  assert.ok(health.link.roundTrip >= 0 && health.link.lostPackets === 0, JSON.stringify(health.link))
  assert.ok(qualities.includes('source'), qualities.join())
  const { status, text } = await call(stream.assets.hls, { key: '' })
  assert.equal(status, 200, text)
})

test('an encoder may return with another protocol', ffmpegOnly, async (t) => {
  const { liveStreamId: id, streamKey } = await createLiveStream(service)
  const encoder = await RtmpEncoder.connect(service, streamKey)
  await encoder.send(makeSource({ seconds: 3 }))
  await encoder.close()
  await waitForState(id, 'away')
  const { code, output } = await sendTs(t, film, srtPort(), { streamid: streamKey })
  assert.equal(code, 0, output)
  await waitFor(async () => (await broadcastsOf(id))[0].health.protocol === 'srt')
  await waitForState(id, 'away')
  assert.equal((await broadcastsOf(id)).length, 1)
})

test(
  'a refused encoder learns it in the handshake, and the owner of the live stream reads why',
  ffmpegOnly,
  async (t) => {
    const { liveStreamId: id, streamKey } = await createLiveStream(service, {
      srtPassphrase: 'correct-horse',
    })
    const refused = await Promise.all([
      sendTs(t, film, srtPort(), { streamid: 'unknown' }),
      sendTs(t, film, srtPort(), { streamid: streamKey, passphrase: 'another-horse' }),
    ])
    for (const { code } of refused) assert.notEqual(code, 0)
    const { body } = await call(`${service.url}/live-streams/${id}`)
    assert.equal(body.lastRefusal.reason, 'The passphrase is wrong.')
    assert.deepEqual(await broadcastsOf(id), [])
  },
)

test('a passphrase can be changed and removed, and has 10 to 79 characters', async () => {
  const { liveStreamId: id } = await createLiveStream(service)
  const change = (srtPassphrase: string | null) =>
    call(`${service.url}/live-streams/${id}`, { method: 'PATCH', json: { srtPassphrase } })
  assert.equal((await change('correct-horse')).body.srtPassphrase, 'correct-horse')
  assert.equal((await change(null)).body.srtPassphrase, null)
  for (const wrong of ['too short', 'x'.repeat(80), 'correct-hörse'])
    assertProblem(await change(wrong), 400, 'invalid-attribute', 'srtPassphrase')
})
