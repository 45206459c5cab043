import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { appendFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { call, isThere, query, temporaryFolder, waitFor } from './harness.ts'
import { assertEncoded, encodingOf, ffmpeg, makeClip, uploadVideo, waitForEncoding } from './media.ts'
import { withoutThumbnails } from './programs.ts'
import {
  assertComplete,
  assertNoOrphans,
  createDeployment,
  type Deployment,
  expireLeases,
  fakeProgram,
  hangsOnce,
  processesWith,
} from './recovery.ts'

// Whatever is killed, hangs or has no room: the video is finished, and nothing of it twice.

let folder: string
let clip: string
const seconds = 18
const frames = seconds * 8
const events = ['hls 240p', 'hls 360p', 'mp4 360p']

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '640x360', rate: '8', seconds })
})

const chunksOf = (deployment: Deployment, videoId: string) =>
  query(deployment.database, 'select * from chunks where video_id = $1 order by id', [videoId])

/** All but what hangs is encoded. */
const waitForOneChunk = (deployment: Deployment, videoId: string) =>
  waitFor(
    async () => {
      const chunks = await chunksOf(deployment, videoId)
      return chunks.length === 1 && chunks[0]?.holder != null
    },
    () => 'never was one chunk left',
  )

/** One whose ffmpeg hangs, and another that has encoded all the rest. */
async function startTwo(t: TestContext) {
  const deployment = await createDeployment(t, withoutThumbnails())
  const marker = join(folder, randomUUID())
  const hanging = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/240p.mp4*/360p.mp4*', marker))
  const one = await deployment.start({ KINORA_FFMPEG: hanging })
  const videoId = await uploadVideo(one, clip)
  await waitFor(() => isThere(marker))
  const two = await deployment.start()
  await waitForOneChunk(deployment, videoId)
  return { deployment, one, two, videoId }
}

suite('recovery', { concurrency: 4 }, () => {
  test('a service that is killed again and again at random moments finishes the video, all of it once', async (t) => {
    const deployment = await createDeployment(t, withoutThumbnails())
    let service = await deployment.start()
    const videoId = await uploadVideo(service, clip)
    const isDone = async () => {
      const { qualities } = await encodingOf(service, videoId)
      return qualities.length === 3 && qualities.every(({ status }) => status === 'encoded')
    }
    await waitFor(async () => (await chunksOf(deployment, videoId)).length > 0)
    const moments: string[] = []
    for (let round = 0; round < 5 && !(await isDone()); round++) {
      const ms = randomInt(1, 1_000)
      await delay(ms)
      const left = (await chunksOf(deployment, videoId)).length
      await service.kill()
      moments.push(`${ms} ms, ${left} left`)
      await expireLeases(deployment.database)
      service = await deployment.start()
    }
    t.diagnostic(`killed after ${moments.join('; ')}`)
    // Jobs that were cut off so often wait for long before they are tried again: that passes at once.
    await waitFor(async () => {
      await query(deployment.database, `update pgboss.job set start_after = now() where state = 'retry'`)
      return isDone()
    })
    await assertEncoded(service, videoId, events)
    await waitFor(
      async () =>
        (await query(deployment.database, `select from pgboss.job where state = 'active'`)).length === 0,
    )
    await assertComplete(service, deployment, videoId, { events, frames })
    // Each start has cleared the work folders of those that were killed before.
    await waitFor(async () => (await readdir(join(deployment.data, 'work')).catch(() => [])).length === 0)
  })

  test('files that a killed worker had stored but not noted are gone when the video is finished', async (t) => {
    const deployment = await createDeployment(t, withoutThumbnails())
    const service = await deployment.start()
    const videoId = await uploadVideo(service, clip)
    await waitFor(async () => (await encodingOf(service, videoId)).playable)
    const files = join(deployment.data, 'files/videos', videoId)
    const strays = [
      `hls/240p/3-${randomUUID()}/1.m4s`,
      `hls/sound/0-${randomUUID()}/0.m4s`,
      `mp4/360p-sound-x.mp4`,
    ]
    for (const stray of strays) {
      await mkdir(dirname(join(files, stray)), { recursive: true })
      await writeFile(join(files, stray), 'left behind')
    }
    await assertEncoded(service, videoId, events)
    await waitFor(async () => !(await isThere(join(files, strays[2]!))))
    await assertNoOrphans(deployment, videoId)
    assert.equal(await isThere(join(files, dirname(strays[0]!))), false)
  })

  test('what a killed worker was encoding is taken over by another', async (t) => {
    const { deployment, one, two, videoId } = await startTwo(t)
    const start = Date.now()
    await one.kill()
    // By the clock of the database: how long the rest takes depends on the machine.
    const late = `select from chunks where video_id = $1 and held_until > now() + interval '29 seconds'`
    assert.deepEqual(await query(deployment.database, late, [videoId]), [], 'taken over within 30 s')
    await assertEncoded(two, videoId, events)
    const took = Date.now() - start
    t.diagnostic(`taken over and finished after ${took} ms`)
    await assertComplete(two, deployment, videoId, { events, frames })
  })

  test('an orderly stop gives back what is being encoded at once', async (t) => {
    const { deployment, one, two, videoId } = await startTwo(t)
    const [held] = await chunksOf(deployment, videoId)
    assert.equal(await one.stop(), 0)
    const [given] = await chunksOf(deployment, videoId)
    // Free, with the other, or encoded by it; not lost, which is found out later.
    assert.notEqual(given?.holder, held!.holder)
    assert.equal(given?.losses ?? 0, held!.losses)
    await assertEncoded(two, videoId, events)
    // The other may still be making pictures; one that hangs would stay.
    await waitFor(async () => (await processesWith(deployment.data)).length === 0)
    await assertComplete(two, deployment, videoId, { events, frames })
    await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
  })

  for (const [job, name, pattern] of [
    ['look at a source', 'ffprobe', '*/source*'],
    ['make an MP4', 'ffmpeg', '*/output.mp4*'],
  ] as const) {
    test(`a worker that is killed when it was about to ${job} is replaced`, async (t) => {
      const deployment = await createDeployment(t, withoutThumbnails())
      const marker = join(folder, randomUUID())
      const program = await fakeProgram(folder, name, hangsOnce(pattern, marker))
      const one = await deployment.start({ [`KINORA_${name.toUpperCase()}`]: program })
      const videoId = await uploadVideo(one, clip)
      await waitFor(() => isThere(marker))
      const two = await deployment.start({ KINORA_ROLES: 'worker' })
      const start = Date.now()
      await one.kill()
      const late = `select from pgboss.job where state = 'active' and not (heartbeat_seconds <= 15)`
      assert.deepEqual(
        await query(deployment.database, late),
        [],
        'missed within 15 s, and tried again with the next look',
      )
      const isGoingOn = async () => {
        const key = name === 'ffprobe' ? 'hls' : 'mp4'
        const [row] = await query(
          deployment.database,
          `select from renditions where video_id = $1 and type = $2 and (type = 'hls' or state = 'encoded')`,
          [videoId, key],
        )
        return row !== undefined
      }
      await waitFor(isGoingOn)
      const took = Date.now() - start
      t.diagnostic(`taken over after ${took} ms`)
      const three = await deployment.start({ KINORA_ROLES: 'api' })
      await assertEncoded(three, videoId, events)
      await assertComplete(three, deployment, videoId, { events, frames })
      assert.equal(await two.stop(), 0)
    })
  }

  test('a deleted video takes the programs that work on it along', async (t) => {
    const deployment = await createDeployment(t, withoutThumbnails())
    const marker = join(folder, randomUUID())
    const hanging = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/240p.mp4*/360p.mp4*', marker))
    const service = await deployment.start({ KINORA_FFMPEG: hanging })
    const videoId = await uploadVideo(service, clip)
    await waitForOneChunk(deployment, videoId)
    assert.notDeepEqual(await processesWith(videoId), [])
    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    await waitFor(async () => (await processesWith(videoId)).length === 0)
    await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
    await waitFor(async () => !(await isThere(join(deployment.data, 'files/videos', videoId))))
  })

  test('a video that is deleted while its source is copied leaves nothing behind', async (t) => {
    const deployment = await createDeployment(t, withoutThumbnails())
    const [copied, go] = [join(folder, randomUUID()), join(folder, randomUUID())]
    const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`
    const script = `case "$*" in *source.mkv*) ffmpeg "$@"; touch '${copied}'; ${wait}; exit 0;; esac`
    const service = await deployment.start({ KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', script) })
    const source = join(folder, 'unseekable.ts')
    await ffmpeg('-i', clip, '-c', 'copy', '-t', '3', source)
    const videoId = await uploadVideo(service, source)
    await waitFor(() => isThere(copied))
    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    await waitFor(async () => !(await isThere(join(deployment.data, 'files/videos', videoId))))
    await writeFile(go, '')
    await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
    const jobs = 'select 1 from pgboss.job where name = $1 and state in ($2, $3)'
    await waitFor(
      async () => (await query(deployment.database, jobs, ['plan-encoding', 'active', 'retry'])).length === 0,
    )
    assert.equal(await isThere(join(deployment.data, 'files/videos', videoId)), false)
  })

  test('a full disk makes the encoding wait, and does not count as a failure', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk')
    const disk = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'kinora-test', disk], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`no small disk can be mounted here: ${(error as Error).message}`)
    }
    const deployment = await createDeployment(t, {
      ...withoutThumbnails(),
      KINORA_DATA_DIR: disk,
      KINORA_ENCODE_SLOTS: '1',
    })
    t.after(() => execFileSync('umount', ['-l', disk]))
    const service = await deployment.start()
    const videoId = await uploadVideo(service, clip)
    await waitFor(async () => (await encodingOf(service, videoId)).playable)
    const ballast = join(disk, 'ballast')
    let waiting: { failures: number }[] = []
    const zeros = Buffer.alloc(256 * 1024)
    await waitFor(async () => {
      // What gave up gives its room back: that is taken, too.
      for (let isFull = false; !isFull; ) {
        await appendFile(ballast, zeros).catch(() => {
          isFull = true
        })
      }
      waiting = await query(deployment.database, `select failures from chunks where not_before > now()`)
      return waiting.length > 2
    })
    const { qualities } = await encodingOf(service, videoId)
    assert.ok(
      qualities.every(({ status }) => status !== 'failed'),
      JSON.stringify(qualities),
    )
    await rm(ballast)
    const failures = await query(deployment.database, 'select failures from chunks where failures > 0')
    assert.deepEqual(failures, [], service.output())
    await waitForEncoding(service, videoId)
    await assertComplete(service, deployment, videoId, { events, frames })
  })
})
