import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import {
  kinora,
  productionKey,
  query,
  runKinora,
  type Service,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { assertComplete, assertNoOrphans, fakeProgram, hangsOnce } from '../support/recovery.ts'
import {
  assertEncoded,
  encodingOf,
  eventsOf,
  media,
  uploadVideo,
  waitForEncoding,
  waitForEnds,
} from '../support/videos.ts'

// ffmpeg hangs, crashes or reports an error. The qualities that can be encoded play, and the others can be retried.

let folder: string
let clip: string
/** Two chunks: a boundary at 2 s. */
const seconds = 5
const frames = seconds * 6
const events = ['hls 240p', 'hls 360p', 'mp4 360p']
let service: Service
/** The ffmpeg of the service runs this script first. */
let script: string
const ends: (() => unknown)[] = []

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  script = join(folder, 'script')
  await makeClip(clip, { size: '640x360', rate: '6', seconds, audioCodec: 'aac' })
  const program = await fakeProgram(folder, 'ffmpeg', `. '${script}'`)
  await writeFile(script, '')
  const settings = { KINORA_FFMPEG: program, KINORA_ENCODE_SLOTS: '2' }
  service = await kinora({ after: (end) => ends.push(end) }, settings)
})
after(async () => {
  for (const end of ends) await end()
})

const summary = ({ qualities }: { qualities: { type: string; quality: string; status: string }[] }) =>
  qualities.map(({ type, quality, status }) => `${type} ${quality} ${status}`)

/** Breaks ffmpeg until the returned function is called. The fault is active while its file exists. */
async function breakFfmpeg(scriptOf: (fault: string) => string): Promise<() => Promise<void>> {
  const fault = join(folder, randomUUID())
  await writeFile(fault, '')
  await writeFile(script, scriptOf(fault))
  return () => rm(fault)
}

/** While the fault is active, calls whose arguments match run `action`. */
const failsFor = (pattern: string, action: string) => (fault: string) =>
  `case "$*" in ${pattern}) [ -e '${fault}' ] && { ${action}; };; esac`

const reportError = `echo 'Error while opening /secret/place/encoder: it is broken' >&2; exit 1`

const reportNoMemory = `echo 'Error while filtering: Cannot allocate memory' >&2; exit 1`

const retry = (videoId: string) =>
  runKinora(['videos', 'retry', videoId], { KINORA_URL: service.url, KINORA_KEY: productionKey })

async function assertRetried(videoId: string): Promise<void> {
  const { code, stdout, stderr } = await retry(videoId)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /are being encoded again/)
}

// One after the other, because they share a service and its ffmpeg.
suite('encoding failures', { concurrency: false }, () => {
  test('the worker ends an ffmpeg that hangs and retries its chunk', async (t) => {
    const marker = join(folder, randomUUID())
    const program = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/360p.mp4*', marker))
    const service = await kinora(t, { KINORA_FFMPEG: program, KINORA_ENCODE_STALL_SECONDS: '2' })
    const videoId = await uploadVideo(service, clip)
    await assertEncoded(service, videoId, events)
    assert.match(service.output(), /did nothing for 2 seconds/)
    await assertComplete(service, service, videoId, { events, frames })
  })

  for (const [how, action, reason, logged] of [
    [
      'reports an error',
      reportError,
      /^A part of the video cannot be decoded or encoded\.$/,
      /Error while opening/,
    ],
    ['crashes', 'kill -SEGV $$', /^The video encoder crashed .*\(SIGSEGV\)\.$/, /was ended by SIGSEGV/],
    ['runs out of memory', reportNoMemory, /^The file needs more memory than/, /Cannot allocate memory/],
  ] as const) {
    test(`only the quality for which ffmpeg ${how} three times fails, and it can be retried`, async () => {
      const repair = await breakFfmpeg(failsFor('*/360p.mp4*', action))
      const { length } = service.output()
      const videoId = await uploadVideo(service, clip)
      const encoding = await waitForEncoding(service, videoId)
      assert.deepEqual(summary(encoding), ['hls 240p encoded', 'hls 360p failed', 'mp4 240p encoded'])
      assert.equal(encoding.playable, true)
      const { failure } = encoding.qualities[1]!
      assert.match(failure ?? '', reason)
      assert.match(service.output().slice(length), logged, "ffmpeg's message is in the log")
      const before = ['hls 240p', 'mp4 240p']
      await assertComplete(service, service, videoId, { events: before, frames })
      const master = await media(service.url, videoId, 'hls/manifest.m3u8')
      assert.match(master.text, /240p\/manifest/)
      assert.doesNotMatch(master.text, /360p\/manifest/)

      await repair()
      await assertRetried(videoId)
      // The MP4 of the lower quality is served until the MP4 of the higher quality is made.
      const after = [...before, 'hls 360p', 'mp4 360p']
      await waitFor(
        async () => (await eventsOf(service.database, videoId)).length >= after.length,
        service.output,
      )
      await assertEncoded(service, videoId, events)
      await waitForIdleQueue()
      await assertComplete(service, service, videoId, { events: after, frames, ends: 2 })
      const again = await retry(videoId)
      assert.equal(again.code, 1)
      assert.match(again.stderr, /nothing/i)
    })
  }

  test('a quality that fails while another slot encodes a part of it can be retried', async () => {
    // The first chunk of 360p fails. A later one waits for this failure and then succeeds.
    const waits = join(folder, randomUUID())
    const repair = await breakFfmpeg(
      (fault) => `case "$*" in
        *-ss*/360p.mp4*) mkdir '${waits}' && while [ -e '${fault}' ]; do sleep 0.1; done;;
        */360p.mp4*) [ -e '${fault}' ] && exit 1;;
      esac`,
    )
    const videoId = await uploadVideo(service, clip)
    const hasFailed = async () =>
      (await encodingOf(service, videoId)).qualities.some(({ status }) => status === 'failed')
    await waitFor(hasFailed)
    await repair()
    const encoding = await waitForEncoding(service, videoId)
    assert.deepEqual(summary(encoding), ['hls 240p encoded', 'hls 360p failed', 'mp4 240p encoded'])
    assert.deepEqual(
      await query(service.database, `select * from segments where video_id = $1 and rendition = '360p'`, [
        videoId,
      ]),
      [],
      'the failed quality has no segments',
    )
    await assertRetried(videoId)
    const after = ['hls 240p', 'mp4 240p', 'hls 360p', 'mp4 360p']
    await waitFor(async () => (await eventsOf(service.database, videoId)).length >= after.length)
    await waitForIdleQueue()
    await assertComplete(service, service, videoId, { events: after, frames, ends: 2 })
  })

  test('a video whose audio failed plays without it, and a retry adds the audio to HLS and MP4', async () => {
    // After the repair, the second audio chunk is encoded before the first.
    const secondDone = join(folder, randomUUID())
    const repair = await breakFfmpeg(
      (fault) => `case "$*" in
        *-ss*/sound.aac*) [ -e '${fault}' ] && { ${reportError}; }
          ffmpeg "$@" || exit 1; touch '${secondDone}'; exit 0;;
        */sound.aac*) [ -e '${fault}' ] && { ${reportError}; }
          while [ ! -e '${secondDone}' ]; do sleep 0.05; done;;
      esac`,
    )
    // This source is copied before it is encoded, and the copy is kept while a retry may need it.
    const source = join(folder, 'clip.ts')
    await ffmpeg('-i', clip, '-c', 'copy', source)
    const videoId = await uploadVideo(service, source)
    const encoding = await assertEncoded(service, videoId, events)
    assert.equal(encoding.playable, true)
    const master = await media(service.url, videoId, 'hls/manifest.m3u8')
    assert.doesNotMatch(master.text, /AUDIO/)
    assert.equal((await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`)).status, 200)
    await waitForIdleQueue()

    await repair()
    await assertRetried(videoId)
    const after = [...events, 'mp4 360p']
    await waitFor(
      async () => (await eventsOf(service.database, videoId)).length >= after.length,
      service.output,
    )
    await waitForIdleQueue()
    assert.match((await media(service.url, videoId, 'hls/manifest.m3u8')).text, /AUDIO/)
    const [{ plan }] = await query(service.database, 'select plan from encodings where video_id = $1', [
      videoId,
    ])
    await assertComplete(service, service, videoId, { events: after, frames: plan.frames, ends: 2 })
  })

  test('a video fails with a reason if no quality can be encoded, and a retry encodes all of them', async () => {
    const repair = await breakFfmpeg(failsFor('*/[23][46]0p.mp4*', reportError))
    const videoId = await uploadVideo(service, clip)
    const encoding = await waitForEncoding(service, videoId)
    assert.deepEqual(summary(encoding), ['hls 240p failed', 'hls 360p failed', 'mp4 360p failed'])
    assert.equal(encoding.playable, false)
    assert.deepEqual(await eventsOf(service.database, videoId), [])
    assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 404)
    assert.deepEqual(await waitForEnds(service.database, videoId), [
      `failed: ${encoding.qualities[0]?.failure}`,
    ])
    await repair()
    await assertRetried(videoId)
    await assertEncoded(service, videoId, events)
    await waitForIdleQueue()
    await assertComplete(service, service, videoId, { events, frames, ends: 2 })
    await assertNoOrphans(service, videoId)
  })
})

/** Waits for the jobs that run after the last event, such as cleanup. */
const waitForIdleQueue = () =>
  waitFor(
    async () =>
      (await query(service.database, `select from pgboss.job where state in ('created', 'active', 'retry')`))
        .length === 0,
  )
