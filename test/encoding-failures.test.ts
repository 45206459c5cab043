import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { kinora, productionKey, query, runKinora, type Service, temporaryFolder, waitFor } from './harness.ts'
import {
  assertEncoded,
  encodingOf,
  eventsOf,
  ffmpeg,
  makeClip,
  media,
  uploadVideo,
  waitForEncoding,
} from './media.ts'
import { assertComplete, assertNoOrphans, fakeProgram, hangsOnce } from './recovery.ts'

// An ffmpeg that hangs, crashes or says no: what can be played is played, and the rest may be tried again.

let folder: string
let clip: string
/** Its second chunk is its last. */
const seconds = 5
const frames = seconds * 12
const events = ['hls 240p', 'hls 360p', 'mp4 360p']

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '640x360', rate: '12', seconds })
})

const summary = ({ qualities }: { qualities: { type: string; quality: string; status: string }[] }) =>
  qualities.map(({ type, quality, status }) => `${type} ${quality} ${status}`)

/** What is in the way of ffmpeg as long as its file is there. */
async function makeFault(script: (fault: string) => string) {
  const fault = join(folder, randomUUID())
  await writeFile(fault, '')
  const program = await fakeProgram(folder, 'ffmpeg', script(fault))
  return { program, repair: () => rm(fault) }
}

/** As long as the file is there, what has such arguments ends like this. */
const failsFor = (pattern: string, end: string) => (fault: string) =>
  `case "$*" in ${pattern}) [ -e '${fault}' ] && { ${end}; };; esac`

const saysNo = `echo 'Error while opening /secret/place/encoder: it is broken' >&2; exit 1`

const noMemory = `echo 'Error while filtering: Cannot allocate memory' >&2; exit 1`

const retry = ({ url }: Service, videoId: string) =>
  runKinora(['videos', 'retry', videoId], { KINORA_URL: url, KINORA_KEY: productionKey })

async function assertRetried(service: Service, videoId: string): Promise<void> {
  const { code, stdout, stderr } = await retry(service, videoId)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /is encoded again/)
}

suite('failures', { concurrency: 3 }, () => {
  test('an ffmpeg that hangs is ended and its chunk tried again', async (t) => {
    const marker = join(folder, randomUUID())
    const program = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/360p.mp4*', marker))
    const service = await kinora(t, { KINORA_FFMPEG: program, KINORA_ENCODE_STALL_SECONDS: '2' })
    const videoId = await uploadVideo(service, clip)
    await assertEncoded(service, videoId, events)
    assert.match(service.output(), /did nothing for 2 seconds/)
    await assertComplete(service, service, videoId, { events, frames })
  })

  for (const [how, end, reason, logged] of [
    ['says no', saysNo, /^A part of the video cannot be decoded or encoded\.$/, /Error while opening/],
    ['crashes', 'kill -SEGV $$', /^The video encoder crashed .*\(SIGSEGV\)\.$/, /was ended by SIGSEGV/],
    ['has no memory', noMemory, /^The file needs more memory than/, /Cannot allocate memory/],
  ] as const) {
    test(`a quality for which ffmpeg ${how} three times fails by itself, and may be tried again`, async (t) => {
      const { program, repair } = await makeFault(failsFor('*/360p.mp4*', end))
      const service = await kinora(t, { KINORA_FFMPEG: program })
      const videoId = await uploadVideo(service, clip)
      const encoding = await waitForEncoding(service, videoId)
      assert.deepEqual(summary(encoding), ['hls 240p encoded', 'hls 360p failed', 'mp4 240p encoded'])
      assert.equal(encoding.playable, true)
      const { failure } = encoding.qualities[1]!
      assert.match(failure ?? '', reason)
      assert.match(service.output(), logged, 'what ffmpeg said is in the log')
      const before = ['hls 240p', 'mp4 240p']
      await assertComplete(service, service, videoId, { events: before, frames })
      const master = await media(service.url, videoId, 'hls/manifest.m3u8')
      assert.match(master.text, /240p\/manifest/)
      assert.doesNotMatch(master.text, /360p\/manifest/)

      await repair()
      await assertRetried(service, videoId)
      // The MP4 of less serves until the one of the better quality is there.
      const after = [...before, 'hls 360p', 'mp4 360p']
      await waitFor(
        async () => (await eventsOf(service.database, videoId)).length >= after.length,
        service.output,
      )
      await assertEncoded(service, videoId, events)
      await waitForClearance(service)
      await assertComplete(service, service, videoId, { events: after, frames })
      const again = await retry(service, videoId)
      assert.equal(again.code, 1)
      assert.match(again.stderr, /nothing/i)
    })
  }

  test('a quality that fails while a part of it is encoded elsewhere can be tried again', async (t) => {
    // Alone it fails; together with the other quality it waits until that has happened, then goes well.
    const { program, repair } = await makeFault(
      (fault) => `case "$*" in
        */240p.mp4*/360p.mp4*) while [ -e '${fault}' ]; do sleep 0.1; done;;
        */360p.mp4*) [ -e '${fault}' ] && exit 1;;
      esac`,
    )
    const service = await kinora(t, { KINORA_FFMPEG: program, KINORA_ENCODE_SLOTS: '2' })
    const videoId = await uploadVideo(service, clip)
    const hasFailed = async () =>
      (await encodingOf(service, videoId)).qualities.some(({ status }) => status === 'failed')
    await waitFor(hasFailed)
    await repair()
    const encoding = await waitForEncoding(service, videoId)
    assert.deepEqual(summary(encoding), ['hls 240p encoded', 'hls 360p failed', 'mp4 240p encoded'])
    assert.deepEqual(
      await query(service.database, `select * from segments where rendition = '360p'`),
      [],
      'segments of a quality that failed',
    )
    await assertRetried(service, videoId)
    const after = ['hls 240p', 'mp4 240p', 'hls 360p', 'mp4 360p']
    await waitFor(async () => (await eventsOf(service.database, videoId)).length >= after.length)
    await waitForClearance(service)
    await assertComplete(service, service, videoId, { events: after, frames })
  })

  test('without its sound the video plays; a retry brings it, in the MP4 too', async (t) => {
    // Of the two parts of the sound, the first is there last, when it is there.
    const { program, repair } = await makeFault(
      (fault) => `case "$*" in
        *-ss*/sound.aac*) [ -e '${fault}' ] && { ${saysNo}; };;
        */sound.aac*) [ -e '${fault}' ] && { ${saysNo}; }; sleep 2;;
      esac`,
    )
    const service = await kinora(t, { KINORA_FFMPEG: program, KINORA_ENCODE_SLOTS: '2' })
    // A source that has to be copied first: the copy is needed until nothing has failed.
    const source = join(folder, 'clip.ts')
    await ffmpeg('-i', clip, '-c', 'copy', source)
    const videoId = await uploadVideo(service, source)
    const encoding = await assertEncoded(service, videoId, events)
    assert.equal(encoding.playable, true)
    const master = await media(service.url, videoId, 'hls/manifest.m3u8')
    assert.doesNotMatch(master.text, /AUDIO/)
    assert.equal((await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)).status, 200)
    await waitForClearance(service)

    await repair()
    await assertRetried(service, videoId)
    const after = [...events, 'mp4 360p']
    await waitFor(
      async () => (await eventsOf(service.database, videoId)).length >= after.length,
      service.output,
    )
    await waitForClearance(service)
    assert.match((await media(service.url, videoId, 'hls/manifest.m3u8')).text, /AUDIO/)
    const [{ plan }] = await query(service.database, 'select plan from encodings')
    await assertComplete(service, service, videoId, { events: after, frames: plan.frames })
  })

  test('a video of which no quality can be encoded fails with a reason, and all of it may be tried again', async (t) => {
    const { program, repair } = await makeFault(failsFor('*/[23][46]0p.mp4*', saysNo))
    const service = await kinora(t, { KINORA_FFMPEG: program })
    const videoId = await uploadVideo(service, clip)
    const encoding = await waitForEncoding(service, videoId)
    assert.deepEqual(summary(encoding), ['hls 240p failed', 'hls 360p failed', 'mp4 360p failed'])
    assert.equal(encoding.playable, false)
    assert.deepEqual(await eventsOf(service.database, videoId), [])
    assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 404)
    await repair()
    await assertRetried(service, videoId)
    await assertEncoded(service, videoId, events)
    await waitForClearance(service)
    await assertComplete(service, service, videoId, { events, frames })
    await assertNoOrphans(service, videoId)
  })
})

/** What comes after the last event is done as well. */
const waitForClearance = ({ database }: Service) =>
  waitFor(
    async () =>
      (await query(database, `select from pgboss.job where state in ('created', 'active', 'retry')`))
        .length === 0,
  )
