import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import {
  assertProblem,
  call,
  callUntilAvailable,
  kinora,
  query,
  type Service,
  sendFile,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { assertComplete, fakeProgram } from '../support/recovery.ts'
import { assertEncoded, createVideo, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The kernel kills ffmpeg or ffprobe when memory is short. This says nothing about the file.

let folder: string
/** A source that is copied before it is encoded. */
let stream: string
let image: string
const frames = 36

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const clip = join(folder, 'clip.mp4')
  stream = join(folder, 'clip.ts')
  image = join(folder, 'picture.png')
  await makeClip(clip, { size: '320x240', rate: '12', seconds: 3, audioCodec: 'aac' })
  await ffmpeg('-i', clip, '-c', 'copy', stream)
  await ffmpeg('-i', clip, '-frames:v', '1', image)
})

/** A script that kills itself on the first call for each pattern. */
const killsOnce = (patterns: string[], name: string) =>
  patterns
    .map((pattern, i) => {
      const marker = join(folder, `killed-${name}-${i}`)
      return `case "$*" in ${pattern}) mkdir '${marker}' 2>/dev/null && kill -KILL $$;; esac`
    })
    .join('\n')

/** Makes the retries of jobs due at once. */
const retryJobsNow = ({ database }: Service) =>
  query(database, `update pgboss.job set start_after = now() where state = 'retry'`)

suite('killed programs', { concurrency: 2 }, () => {
  test('a video is encoded although each program that works on it is killed once', async (t) => {
    const probes = ['*format_name*', '*read_intervals*']
    const encodes = ['*-f\\ matroska*', '*/240p.mp4*', '*/sound.aac*', '*/output.mp4*', '*/thumbnail.jpg*']
    const patterns = [...encodes, '*/sheets/*']
    const service = await kinora(t, {
      KINORA_COPY_SOURCES: 'off',
      KINORA_FFPROBE: await fakeProgram(folder, 'ffprobe', killsOnce(probes, 'probe')),
      KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', killsOnce(patterns, 'encode')),
    })
    const videoId = await uploadVideo(service, stream)
    await waitFor(async () => {
      await retryJobsNow(service)
      const [row] = await query(service.database, 'select sprites_key, thumbnail_key from pictures')
      const done = await query(service.database, `select from renditions where state = 'encoded'`)
      return Boolean(row?.sprites_key && row.thumbnail_key) && done.length === 2
    }, service.output)
    const killed = (await readdir(folder)).filter((name) => name.startsWith('killed-'))
    assert.equal(killed.length, probes.length + patterns.length, `${killed}`)
    const events = ['hls 240p', 'mp4 240p']
    await assertEncoded(service, videoId, events)
    await assertComplete(service, service, videoId, { events, frames })
  })

  test('a program that is killed repeatedly fails the video with a reason, and a retry succeeds', async (t) => {
    const [probes, encodes, thumbnails] = ['probe', 'encode', 'picture'].map((name) =>
      join(folder, `${name}-fault`),
    )
    const fault = (pattern: string, file = '') =>
      `case "$*" in ${pattern}) [ -e '${file}' ] && kill -KILL $$;; esac`
    const service = await kinora(t, {
      KINORA_COPY_SOURCES: 'off',
      KINORA_FFPROBE: await fakeProgram(folder, 'ffprobe', fault('*format_name*', probes)),
      KINORA_FFMPEG: await fakeProgram(
        folder,
        'ffmpeg',
        `${fault('*/240p.mp4*', encodes)}\n${fault('*png_pipe*/upload*', thumbnails)}`,
      ),
    })
    for (const file of [probes, encodes, thumbnails]) await writeFile(file!, '')
    const reason =
      /^The video encoder was stopped from outside repeatedly \(SIGKILL\): the server may be short of memory\.$/

    const unreadable = await uploadVideo(service, stream, { mp4Support: false })
    await waitFor(async () => {
      // Continues with the last retry, as if the earlier ones had failed too.
      const waiting = `name = 'plan-encoding' and state = 'retry'`
      await query(
        service.database,
        `update pgboss.job set start_after = now(), retry_count = 19 where ${waiting} and retry_count < 19`,
      )
      const { body } = await callUntilAvailable(`${service.url}/videos/${unreadable}/status`)
      return body.encoding.qualities.length > 0
    }, service.output)
    const [quality] = (await waitForEncoding(service, unreadable)).qualities
    assert.match(quality?.failure ?? '', reason)

    await rm(probes!)
    await call(`${service.url}/videos/${unreadable}/retry`, { method: 'POST' })
    await waitFor(async () => {
      await query(
        service.database,
        `update chunks set losses = 19, not_before = now() where track = 'picture' and losses between 1 and 18`,
      )
      const [rendition] = await query(service.database, 'select state from renditions')
      return rendition?.state === 'failed'
    }, service.output)
    const [failed] = (await waitForEncoding(service, unreadable)).qualities
    assert.match(failed?.failure ?? '', reason)
    await rm(encodes!)
    await call(`${service.url}/videos/${unreadable}/retry`, { method: 'POST' })
    await assertEncoded(service, unreadable, ['hls 240p'])

    const videoId = await createVideo(service)
    const upload = async () =>
      sendFile(`${service.url}/videos/${videoId}/thumbnail`, await readFile(image), { filename: 'p.png' })
    const rejected = await upload()
    assertProblem(rejected, 503, 'service-unavailable')
    assert.ok(Number(rejected.headers.get('retry-after')) > 0)
    await rm(thumbnails!)
    assert.equal((await upload()).status, 200)
  })
})
