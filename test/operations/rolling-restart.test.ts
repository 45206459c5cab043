import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertNoErrorsLogged, call, createDatabase, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeSource } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { liveViewer, Publisher } from '../support/rolling/broadcast.ts'
import { ClusterProcess } from '../support/rolling/cluster.ts'
import { operations } from '../support/rolling/operations.ts'
import { startHttpProxy, startTcpProxy } from '../support/rolling/proxies.ts'
import { Traffic } from '../support/rolling/traffic.ts'
import { uploadVideo, waitForEncoding, waitForEnds } from '../support/videos.ts'

const settings = {
  KINORA_STOP_DELAY_SECONDS: '1',
  // A busy machine takes longer for an upload.
  KINORA_STOP_TIMEOUT_SECONDS: '300',
  KINORA_ENCODE_SLOTS: '1',
  KINORA_RATE_LIMITS: 'off',
}

test('a restart of every process, one after the other, fails no request and interrupts no upload, broadcast or viewer', async (t) => {
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const database = await createDatabase({ after: (end) => ends.push(end) })
  const data = await temporaryFolder(t)
  const processes: ClusterProcess[] = []
  for (const role of ['api', 'api', 'worker', 'worker', 'live', 'live']) {
    const started = await ClusterProcess.start(role, { database, data }, settings)
    ends.push(() => started.stop())
    processes.push(started)
  }
  const of = (wanted: string) => processes.filter(({ role }) => role === wanted)
  const url = await startHttpProxy(
    { after: (end) => ends.push(end) },
    of('api').map(({ port }) => port),
  )
  const rtmpPort = await startTcpProxy(
    t,
    of('live').map(({ rtmpPort }) => rtmpPort),
  )
  const target = { url }

  const clip = join(data, 'clip.mp4')
  await makeClip(clip, { size: '64x36', rate: '5', seconds: 4 })
  const videoId = await uploadVideo(target, clip, { title: 'Watched' })
  await waitForEncoding(target, videoId)
  const stream = await createLiveStream(target, { record: true })
  const publisher = new Publisher(
    rtmpPort,
    stream.streamKey,
    makeSource({ size: '64x36', seconds: 8, frameRate: 5 }),
  )
  ends.push(() => publisher.stop())
  await waitFor(
    async () => (await call(stream.assets.hls.replace(/^https?:\/\/[^/]+/, url), { key: '' })).status === 200,
  )
  const watch = liveViewer(target, stream)
  let newest = -1
  const uploaded: string[] = []
  const encoded: string[] = []
  const traffic = new Traffic({
    // No worker has to encode this.
    ...operations(target, { film: randomBytes(20_000), videoId, uploaded }),
    'watch a live stream': async () => {
      newest = await watch()
    },
  })
  ends.push(() => traffic.stop())

  for (const each of processes) {
    const { rounds } = traffic
    await waitFor(
      () => traffic.rounds > rounds,
      () => JSON.stringify(traffic.counts),
    )
    encoded.push(await uploadVideo(target, clip))
    await each.restart()
    const before = newest
    await waitFor(
      () => newest > before || traffic.failures.length > 0,
      () => `no segment after ${before}`,
    )
  }
  const { rounds } = traffic
  await waitFor(() => traffic.rounds > rounds)
  await traffic.stop()
  assert.deepEqual(traffic.failures, [])

  await publisher.stop()
  assert.ok(publisher.connections > 1, 'the encoder has connected again')
  const { body } = await call(`${url}/live-streams/${stream.liveStreamId}/broadcasts`)
  assert.equal(body.data.length, 1, 'it is one broadcast')
  for (const id of encoded) await waitForEncoding(target, id)
  for (const id of [...encoded, ...uploaded!]) {
    const [end = '', ...others] = await waitForEnds(database, id)
    assert.match(end, encoded.includes(id) ? /^completed$/ : /^failed: The file/)
    assert.deepEqual(others, [])
  }
  for (const each of processes) assertNoErrorsLogged(each)
})
