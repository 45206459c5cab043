import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { appendFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { call, fileExists, type Kinora, query, temporaryFolder, waitFor } from '../support/harness.ts'
import { ffmpeg, makeClip } from '../support/media/media.ts'
import { splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import {
  assertComplete,
  assertNoOrphans,
  createDeployment,
  type Deployment,
  expireLeases,
  fakeProgram,
  hangsOnce,
  processesWith,
} from '../support/recovery.ts'
import { assertEncoded, encodingOf, uploadVideo, waitForEncoding } from '../support/videos.ts'

// Workers are killed, programs hang, the disk is full. The video is completed, and nothing is stored or announced twice.

let folder: string
let clip: string
let longClip: string
const seconds = 14
const frames = seconds * 4
const events = ['hls 240p', 'hls 360p', 'mp4 360p']

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '640x360', rate: '4', seconds })
  longClip = join(folder, 'long.mp4')
  const inputs = `-f lavfi -i testsrc2=s=640x360:r=2:d=${longSeconds} -f lavfi -i sine=r=48000:d=${longSeconds}`
  const codecs = '-c:v libx264 -preset ultrafast -g 8 -pix_fmt yuv420p -c:a aac -ac 2 -b:a 64k'
  await ffmpeg(...splitArgs(`${inputs} ${codecs}`), longClip)
})

/** Copying is so fast that only a long video is still being copied when the service is killed. */
const longSeconds = 400
const sources = () => ({
  encoded: { source: clip, frames, maxDelayMs: 1_000 },
  copied: { source: longClip, frames: longSeconds * 2, maxDelayMs: 150 },
})

/** A program that hangs is not killed before the test goes on, however slow the machine is. */
const withoutStalls = { KINORA_ENCODE_STALL_SECONDS: '3600' }

const chunksOf = (deployment: Deployment, videoId: string) =>
  query(deployment.database, 'select * from chunks where video_id = $1 order by id', [videoId])

/** Waits until only the chunk whose ffmpeg hangs is left. */
const waitForOneChunk = (deployment: Deployment, videoId: string) =>
  waitFor(
    async () => {
      const chunks = await chunksOf(deployment, videoId)
      return chunks.length === 1 && chunks[0]?.lease_owner != null
    },
    () => 'the number of chunks never went down to one',
  )

/** Starts two services. The ffmpeg of the first hangs, and the second has encoded all other chunks. */
async function startTwo(t: TestContext) {
  const deployment = await createDeployment(t, withoutThumbnails())
  const marker = join(folder, randomUUID())
  const hanging = await fakeProgram(folder, 'ffmpeg', hangsOnce('*/360p.mp4*', marker))
  const one = await deployment.start({ KINORA_FFMPEG: hanging, ...withoutStalls })
  const videoId = await uploadVideo(one, clip)
  await waitFor(() => fileExists(marker))
  const two = await deployment.start()
  await waitForOneChunk(deployment, videoId)
  return { deployment, one, two, videoId }
}

suite('recovery of encodings', { concurrency: 4 }, () => {
  for (const kind of ['encoded', 'copied'] as const)
    test(`a service that is killed at random moments completes a video that is ${kind}, without duplicates`, async (t) => {
      const { source, frames, maxDelayMs } = sources()[kind]
      const deployment = await createDeployment(t, withoutThumbnails())
      let service = await deployment.start()
      const videoId = await uploadVideo(service, source)
      const isDone = async () => {
        const { qualities } = await encodingOf(service, videoId)
        return qualities.length === 3 && qualities.every(({ status }) => status === 'encoded')
      }
      await waitFor(async () => (await chunksOf(deployment, videoId)).length > 0)
      const kills: string[] = []
      for (let round = 0; round < 5 && !(await isDone()); round++) {
        const ms = randomInt(1, maxDelayMs)
        await delay(ms)
        const left = (await chunksOf(deployment, videoId)).length
        await service.kill()
        kills.push(`${ms} ms, ${left} left`)
        await expireLeases(deployment.database)
        service = await deployment.start()
      }
      t.diagnostic(`killed after ${kills.join('; ')}`)
      const [{ plan }] = await query(deployment.database, 'select plan from encodings where video_id = $1', [
        videoId,
      ])
      assert.equal(plan.copiesVideo === true, kind === 'copied')
      // Jobs that were interrupted often have long retry delays, which the test skips.
      const skipDelays = () =>
        query(deployment.database, `update pgboss.job set start_after = now() where state = 'retry'`)
      await waitFor(async () => {
        await skipDelays()
        return isDone()
      })
      await assertEncoded(service, videoId, events)
      const jobs = `select from pgboss.job where data->>'videoId' = $1 and state < 'completed'`
      await waitFor(async () => {
        await skipDelays()
        return (await query(deployment.database, jobs, [videoId])).length === 0
      })
      await assertComplete(service, deployment, videoId, { events, frames, isCopied: kind === 'copied' })
      // Each start removes the work folders of killed services.
      await waitFor(async () => (await readdir(join(deployment.data, 'work')).catch(() => [])).length === 0)
    })

  test('another worker takes over the chunk of a killed worker', async (t) => {
    const { deployment, one, two, videoId } = await startTwo(t)
    await one.kill()
    const tooLong = `select from chunks where video_id = $1 and lease_until > now() + interval '29 seconds'`
    assert.deepEqual(await query(deployment.database, tooLong, [videoId]), [], 'the lease ends within 29 s')
    await expireLeases(deployment.database)
    await assertEncoded(two, videoId, events)
    await assertComplete(two, deployment, videoId, { events, frames })
  })

  test('a graceful stop releases the chunk in progress at once', async (t) => {
    const { deployment, one, two, videoId } = await startTwo(t)
    const [leased] = await chunksOf(deployment, videoId)
    assert.equal(await one.stop(), 0)
    const [released] = await chunksOf(deployment, videoId)
    // The chunk is free, leased by the other worker or already encoded. It does not count as lost.
    assert.notEqual(released?.lease_owner, leased!.lease_owner)
    assert.equal(released?.losses ?? 0, leased!.losses)
    await assertEncoded(two, videoId, events)
    // The other worker may still make thumbnails. A hanging ffmpeg would never end.
    await waitFor(async () => (await processesWith(deployment.data)).length === 0)
    await assertComplete(two, deployment, videoId, { events, frames })
    await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
  })

  for (const [task, name, pattern] of [
    ['probes a source', 'ffprobe', '*/source*'],
    ['makes an MP4', 'ffmpeg', '*/output.mp4*'],
  ] as const) {
    test(`another worker takes over from a worker that is killed while it ${task}`, async (t) => {
      const deployment = await createDeployment(t, withoutThumbnails())
      const marker = join(folder, randomUUID())
      const program = await fakeProgram(folder, name, hangsOnce(pattern, marker))
      const one = await deployment.start({ [`KINORA_${name.toUpperCase()}`]: program })
      const videoId = await uploadVideo(one, clip)
      await waitFor(() => fileExists(marker))
      const two = await deployment.start()
      await one.kill()
      const tooLong = `select from pgboss.job where state = 'active' and not (heartbeat_seconds <= 15)`
      assert.deepEqual(
        await query(deployment.database, tooLong),
        [],
        'the heartbeat of the job expires within 15 s',
      )
      await expireLeases(deployment.database)
      await assertEncoded(two, videoId, events)
      await assertComplete(two, deployment, videoId, { events, frames })
      assert.equal(await two.stop(), 0)
    })
  }

  suite('of one service', { concurrency: false }, () => {
    let deployment: Deployment
    let service: Kinora
    /** The ffmpeg of the service runs this script first. */
    let script: string
    const ends: (() => unknown)[] = []

    before(async () => {
      const env = { KINORA_RESTORE_DAYS: '0', ...withoutThumbnails() }
      deployment = await createDeployment({ after: (end) => ends.push(end) }, env)
      script = join(folder, randomUUID())
      await writeFile(script, '')
      const program = await fakeProgram(folder, 'ffmpeg', `. '${script}'`)
      service = await deployment.start({ KINORA_FFMPEG: program, ...withoutStalls })
    })
    after(async () => {
      for (const end of ends) await end()
    })

    test('a completed video has no files that a killed worker stored without recording them', async () => {
      // The MP4 is made after the last quality, and orphans are removed afterwards.
      const go = join(folder, randomUUID())
      const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`
      await writeFile(script, `case "$*" in */output.mp4*) ${wait};; esac`)
      const videoId = await uploadVideo(service, clip)
      await waitFor(async () => (await encodingOf(service, videoId)).playable)
      const files = join(deployment.data, 'files/videos', videoId)
      const orphans = [
        `hls/240p/3-${randomUUID()}/1.m4s`,
        `hls/sound/0-${randomUUID()}/0.m4s`,
        `mp4/360p-sound-x.mp4`,
      ]
      for (const orphan of orphans) {
        await mkdir(dirname(join(files, orphan)), { recursive: true })
        await writeFile(join(files, orphan), 'left behind')
      }
      await writeFile(go, '')
      await assertEncoded(service, videoId, events)
      await waitFor(async () => !(await fileExists(join(files, orphans[2]!))))
      await assertNoOrphans(deployment, videoId)
      assert.equal(await fileExists(join(files, dirname(orphans[0]!))), false)
    })

    test('deleting a video ends the programs that work on it', async () => {
      const marker = join(folder, randomUUID())
      await writeFile(script, hangsOnce('*/360p.mp4*', marker))
      const videoId = await uploadVideo(service, clip)
      await waitForOneChunk(deployment, videoId)
      assert.notDeepEqual(await processesWith(videoId), [])
      await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
      await waitFor(async () => (await processesWith(videoId)).length === 0)
      await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
      await waitFor(async () => !(await fileExists(join(deployment.data, 'files/videos', videoId))))
    })

    test('a segment that a killed worker stored after others that it had recorded is removed', async () => {
      await writeFile(script, '')
      const videoId = await uploadVideo(service, clip)
      await assertEncoded(service, videoId, events)
      await assertNoOrphans(deployment, videoId)
      const [row] = await query(
        deployment.database,
        'select key, cardinality(sizes) as count from segments where video_id = $1 order by key limit 1',
        [videoId],
      )
      await writeFile(join(deployment.data, 'files', row!.key, `${row!.count}.m4s`), 'not recorded')
      const json = { mp4Support: false }
      await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })
      await assertNoOrphans(deployment, videoId)
    })

    test('a video that is deleted while its source is copied leaves no files behind', async () => {
      const [copied, go] = [join(folder, randomUUID()), join(folder, randomUUID())]
      const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`
      const copyThenWait = `ffmpeg "$@"; touch '${copied}'; ${wait}; exit 0`
      await writeFile(script, `case "$*" in *source.mkv*) ${copyThenWait};; esac`)
      const source = join(folder, 'unseekable.ts')
      await ffmpeg('-i', clip, '-c', 'copy', '-t', '3', source)
      const videoId = await uploadVideo(service, source)
      await waitFor(() => fileExists(copied))
      await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
      await waitFor(async () => !(await fileExists(join(deployment.data, 'files/videos', videoId))))
      await writeFile(go, '')
      await waitFor(async () => (await readdir(join(deployment.data, 'work'))).length === 0)
      const jobs = 'select 1 from pgboss.job where name = $1 and state in ($2, $3)'
      await waitFor(
        async () =>
          (await query(deployment.database, jobs, ['plan-encoding', 'active', 'retry'])).length === 0,
      )
      assert.equal(await fileExists(join(deployment.data, 'files/videos', videoId)), false)
    })
  })

  test('a full disk delays the encoding and does not count as a failure', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a file system')
    const disk = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'kinora-test', disk], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`a small file system cannot be mounted: ${(error as Error).message}`)
    }
    const deployment = await createDeployment(t, {
      ...withoutThumbnails(),
      KINORA_DATA_DIR: disk,
      KINORA_ENCODE_SLOTS: '1',
    })
    t.after(() => execFileSync('umount', ['-l', disk]))
    // All chunks but the first wait until the disk is full.
    const isFilled = join(folder, randomUUID())
    const script = `case "$*" in *-ss*) while [ ! -e '${isFilled}' ]; do sleep 0.05; done;; esac`
    const service = await deployment.start({ KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', script) })
    const videoId = await uploadVideo(service, clip)
    await waitFor(async () => (await encodingOf(service, videoId)).playable)
    const ballast = join(disk, 'ballast')
    const delayed = new Set<string>()
    const zeros = Buffer.alloc(256 * 1024)
    await waitFor(async () => {
      // Chunks that failed free their space, so the disk is filled again.
      for (let isFull = false; !isFull; ) {
        await appendFile(ballast, zeros).catch(() => {
          isFull = true
        })
      }
      await writeFile(isFilled, '')
      const rows = await query(deployment.database, `select id from chunks where not_before > now()`)
      for (const { id } of rows) delayed.add(id)
      return delayed.size > 2
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
