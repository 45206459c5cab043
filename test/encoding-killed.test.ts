import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import {
  assertProblem,
  call,
  kinora,
  query,
  type Service,
  sendFile,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { assertEncoded, createVideo, ffmpeg, makeClip, uploadVideo, waitForEncoding } from './media.ts'
import { assertComplete, fakeProgram } from './recovery.ts'

// An ffmpeg or ffprobe that is killed, as the kernel does when memory is short, says nothing about the file.

let folder: string
/** Has to be copied before it can be encoded. */
let stream: string
let picture: string
const frames = 36

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const clip = join(folder, 'clip.mp4')
  stream = join(folder, 'clip.ts')
  picture = join(folder, 'picture.png')
  await makeClip(clip, { size: '320x240', rate: '12', seconds: 3 })
  await ffmpeg('-i', clip, '-c', 'copy', stream)
  await ffmpeg('-i', clip, '-frames:v', '1', picture)
})

/** Kills itself the first time that its arguments look like one of these, once for each. */
const killsOnce = (patterns: string[], name: string) =>
  patterns
    .map((pattern, i) => {
      const marker = join(folder, `killed-${name}-${i}`)
      return `case "$*" in ${pattern}) mkdir '${marker}' 2>/dev/null && kill -KILL $$;; esac`
    })
    .join('\n')

/** Jobs that wait for another try get it at once. */
const hurry = ({ database }: Service) =>
  query(database, `update pgboss.job set start_after = now() where state = 'retry'`)

suite('killed programs', { concurrency: 2 }, () => {
  test('a video survives that each of its programs is killed once', async (t) => {
    const probes = ['*format_name*', '*read_intervals*']
    const encodes = ['*-f\\ matroska*', '*/240p.mp4*', '*/sound.aac*', '*/output.mp4*', '*/thumbnail.jpg*']
    const patterns = [...encodes, '*/sheets/*']
    const service = await kinora(t, {
      KINORA_FFPROBE: await fakeProgram(folder, 'ffprobe', killsOnce(probes, 'probe')),
      KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', killsOnce(patterns, 'encode')),
    })
    const videoId = await uploadVideo(service, stream)
    await waitFor(async () => {
      await hurry(service)
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

  test('what is killed again and again fails in the end, with a reason, and may be tried again', async (t) => {
    const [probes, encodes, pictures] = ['probe', 'encode', 'picture'].map((name) =>
      join(folder, `${name}-fault`),
    )
    const fault = (pattern: string, file = '') =>
      `case "$*" in ${pattern}) [ -e '${file}' ] && kill -KILL $$;; esac`
    const service = await kinora(t, {
      KINORA_FFPROBE: await fakeProgram(folder, 'ffprobe', fault('*format_name*', probes)),
      KINORA_FFMPEG: await fakeProgram(
        folder,
        'ffmpeg',
        `${fault('*/240p.mp4*', encodes)}\n${fault('*png_pipe*/upload*', pictures)}`,
      ),
    })
    for (const file of [probes, encodes, pictures]) await writeFile(file!, '')
    const reason =
      /^The video encoder was stopped from outside repeatedly \(SIGKILL\): the server may be short of memory\.$/

    const unread = await uploadVideo(service, stream, { mp4Support: false })
    await waitFor(async () => {
      // As if it had happened before.
      const waiting = `name = 'plan-encoding' and state = 'retry'`
      await query(
        service.database,
        `update pgboss.job set start_after = now(), retry_count = 19 where ${waiting} and retry_count < 19`,
      )
      const { body } = await call(`${service.url}/videos/${unread}/status`)
      return body.encoding.qualities.length > 0
    }, service.output)
    const [quality] = (await waitForEncoding(service, unread)).qualities
    assert.match(quality?.failure ?? '', reason)

    await rm(probes!)
    await call(`${service.url}/videos/${unread}/retry`, { method: 'POST' })
    await waitFor(async () => {
      await query(
        service.database,
        `update chunks set losses = 19, not_before = now() where track = 'picture' and losses between 1 and 18`,
      )
      const [rendition] = await query(service.database, 'select state from renditions')
      return rendition?.state === 'failed'
    }, service.output)
    const [failed] = (await waitForEncoding(service, unread)).qualities
    assert.match(failed?.failure ?? '', reason)
    await rm(encodes!)
    await call(`${service.url}/videos/${unread}/retry`, { method: 'POST' })
    await assertEncoded(service, unread, ['hls 240p'])

    const videoId = await createVideo(service)
    const upload = async () =>
      sendFile(`${service.url}/videos/${videoId}/thumbnail`, await readFile(picture), { filename: 'p.png' })
    const refused = await upload()
    assertProblem(refused, 503, 'service-unavailable')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    await rm(pictures!)
    assert.equal((await upload()).status, 200)
  })
})
