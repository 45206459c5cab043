import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../../server/database.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { newId } from '../../server/lib/ids.ts'
import { createLog } from '../../server/lib/log.ts'
import { readConfig } from '../../server/read-config.ts'
import type { Finding } from '../../server/sweep/findings.ts'
import { sweepAll } from '../../server/sweep/sweep.ts'
import {
  call,
  fileExists,
  type Kinora,
  kinora,
  MiB,
  openUpload,
  query,
  runKinora,
  type Service,
  sendFile,
  settingsOf,
  sharedKinora,
  sourcePath,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { createDeployment, type Deployment } from '../support/recovery.ts'
import { type S3Store, startS3Store } from '../support/s3-store.ts'
import { makeVideo, onDisk } from '../support/stored-video.ts'
import { createVideo, uploadVideo } from '../support/videos.ts'

// The sweep removes files without rows, reports rows without files, and keeps everything in use.

const day = 86_400

/** Writes files with a modification time in the past. */
async function writeOldFiles(data: string, keys: string[], ageSeconds = day): Promise<void> {
  const time = Date.now() / 1_000 - ageSeconds
  for (const key of keys) {
    const path = join(data, 'files', key)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, 'orphan file')
    await utimes(path, time, time)
  }
}

const envOf = ({ database, data }: Pick<Service, 'database' | 'data'>) => ({
  KINORA_DATABASE_URL: database,
  KINORA_DATA_DIR: data,
})

async function runSweep(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await runKinora(['files', 'sweep', '--json', ...args], env)
  assert.equal(stderr, '')
  assert.equal(code, 0)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Finding)
}

const keysOf = (findings: Finding[]) =>
  findings.flatMap((finding) => (finding.kind === 'missing' ? [] : [finding.key])).sort()

const checkExistence = async (data: string, keys: string[]) =>
  Promise.all(keys.map((key) => fileExists(join(data, 'files', key))))

const deleteVideo = ({ url }: Pick<Service, 'url'>, videoId: string) =>
  call(`${url}/videos/${videoId}`, { method: 'DELETE' })

/** Waits until these queues have no waiting or active job. */
const waitForJobs = (database: string, ...names: string[]) =>
  waitFor(async () => {
    const open = `select from pgboss.job where name = any($1) and state in ('created', 'retry', 'active')`
    return (await query(database, open, [names])).length === 0
  })

/** Makes the next sweep start a new pass at once. */
const resetSweepState = (database: string) =>
  query(database, `delete from sweep_state where name not in ('store', 'store generation')`)

suite('sweep on disk', () => {
  // Without a worker: its sweep could remove the files before the test or the command finds them.
  const service = sharedKinora({ KINORA_ROLES: 'api' })
  beforeEach(async () => {
    await resetSweepState(service.database)
    for (const name of ['videos', 'watermarks', 'live'])
      await rm(join(service.data, 'files', name), { recursive: true, force: true })
  })

  /** Starts another process with the same database and files, and kills it after the test. */
  async function startWorker(t: TestContext, env: Record<string, string> = {}): Promise<Kinora> {
    const worker = await startKinora({ ...envOf(service), KINORA_ROLES: 'worker', ...env })
    t.after(() => worker.kill())
    return worker
  }

  test('the sweep reports and then removes files that no row refers to, and keeps known, recent, used and foreign files', async () => {
    const { data } = service
    const videoId = await makeVideo(service, onDisk(service))
    const busyId = await makeVideo(service, onDisk(service))
    await query(
      service.database,
      `insert into chunks (video_id, environment, track, qualities, first_segment, segments, priority, not_before)
       values ($1, 'production', 'picture', '{240p}', 1, 1, 1, now() + interval '1 day')`,
      [busyId],
    )
    const known = [
      `videos/${videoId}/hls/240p/0-x/0.m4s`,
      `videos/${videoId}/mp4/240p-silent-x.mp4`,
      `videos/${busyId}/hls/240p/0-x/2.m4s`,
    ]
    for (const key of known) await utimes(join(data, 'files', key), 0, 0)
    const orphans = [
      `videos/${videoId}/source`,
      `videos/${videoId}/watermark.png`,
      `videos/${videoId}/copy/source.mkv`,
      `videos/${videoId}/hls/240p/0-${randomUUID()}/0.m4s`,
      `videos/${videoId}/hls/sound/5-${randomUUID()}/3.m4s`,
      // Its worker was killed after it had recorded other segments below the same key.
      `videos/${videoId}/hls/240p/0-x/999.m4s`,
      `videos/${videoId}/mp4/240p-silent-${randomUUID()}.mp4`,
      `videos/${videoId}/pictures/automatic-240p-whole-${randomUUID()}.jpg`,
      `videos/${videoId}/pictures/sprites-${randomUUID()}/0.jpg`,
    ]
    const [deleted, recent] = [newId('vi'), newId('vi')]
    const [deletedBroadcast, broadcast] = [newId('br'), newId('br')]
    await query(
      service.database,
      `insert into broadcasts (id, live_stream_id, environment, record, state, completing, fence, owner_url, lease_until,
         qualities, restreams, started_at)
       values ($1, 'li', 'sandbox', false, 'ended', false, 3, '', now(), '[]', '[]', now())`,
      [broadcast],
    )
    await query(
      service.database,
      `insert into live_segments values ($1, 'source', 1, 1, 0, 2000, 11, 2, now())`,
      [broadcast],
    )
    orphans.push(`live/${broadcast}/source/1-1.m4s`, `live/${broadcast}/360p/7-2.m4s`)
    const [deletedMark, recentMark, knownMark] = [1, 2, 3].map(() => newId('watermark_'))
    const ofDeleted = [
      `videos/${deleted}/source`,
      `videos/${deleted}/hls/240p/0-x/0.m4s`,
      `watermarks/${deletedMark}/image.png`,
      `live/${deletedBroadcast}/source/0-1.m4s`,
    ]
    await query(
      service.database,
      `insert into watermarks (id, environment, width, height, created_at) values ($1, 'sandbox', 9, 9, now())`,
      [knownMark],
    )
    const kept = [
      `videos/${busyId}/hls/240p/1-${randomUUID()}/0.m4s`,
      `videos/${videoId}/notes.txt`,
      'videos/of-somebody-else/source',
      `watermarks/${knownMark}/image.png`,
      `live/${broadcast}/source/1-2.m4s`,
      `live/${broadcast}/notes.txt`,
      'live/of-somebody-else/source/1-1.m4s',
      'watermarks/of-somebody-else/image.png',
      'elsewhere/file',
    ]
    await writeOldFiles(data, [...orphans, ...ofDeleted, ...kept])
    const recentKeys = [
      `videos/${recent}/source`,
      `videos/${videoId}/hls/240p/9-${randomUUID()}/0.m4s`,
      `watermarks/${recentMark}/image.png`,
      `live/${broadcast}/source/2-3.m4s`,
    ]
    await writeOldFiles(data, recentKeys, 60)
    for (const folder of [`videos/${videoId}/mp4/empty/deep`, `videos/${newId('vi')}/hls`])
      await mkdir(join(data, 'files', folder), { recursive: true })

    const reported = await runSweep(envOf(service))
    assert.deepEqual(
      keysOf(reported),
      [...orphans, `videos/${deleted}`, `watermarks/${deletedMark}`, `live/${deletedBroadcast}`].sort(),
    )
    const all = [...known, ...orphans, ...ofDeleted, ...kept, ...recentKeys]
    assert.ok((await checkExistence(data, all)).every(Boolean), 'a sweep without --remove removed files')

    const removed = await runSweep(envOf(service), '--remove')
    assert.deepEqual(keysOf(removed), keysOf(reported))
    const ofVideo = removed.find((each) => each.kind === 'orphans' && each.key === `videos/${deleted}`)
    assert.deepEqual(ofVideo, {
      kind: 'orphans',
      key: `videos/${deleted}`,
      files: 2,
      bytes: 22,
      isRemoved: true,
    })
    assert.ok((await checkExistence(data, [...known, ...kept, ...recentKeys])).every(Boolean))
    assert.ok(!(await checkExistence(data, [...orphans, ...ofDeleted])).some(Boolean))
    const entries = await readdir(join(data, 'files/videos'), { recursive: true, withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory())
    for (const { parentPath, name } of folders)
      assert.notEqual((await readdir(join(parentPath, name))).length, 0, `${name} is empty`)

    assert.deepEqual(await runSweep({ ...envOf(service), KINORA_SWEEP_GRACE_MINUTES: '30' }), [])
    const late = await runSweep({ ...envOf(service), KINORA_SWEEP_GRACE_MINUTES: '0' }, '--remove')
    assert.deepEqual(
      keysOf(late),
      [`videos/${recent}`, recentKeys[1], `watermarks/${recentMark}`, recentKeys[3]].sort(),
    )
  })

  test('missing files that a row refers to are reported per video, in the log and as a metric', async (t) => {
    const [broken, intact] = [
      await makeVideo(service, onDisk(service)),
      await makeVideo(service, onDisk(service)),
    ]
    await rm(join(service.data, `files/videos/${broken}/hls/240p/0-x/1.m4s`))
    await rm(join(service.data, `files/videos/${broken}/mp4/240p-silent-x.mp4`))
    await query(service.database, `update videos set watermark = '{}' where id = $1`, [broken])
    const gone = ['watermark.png', 'hls/240p/0-x/1.m4s', 'mp4/240p-silent-x.mp4'].map(
      (name) => `videos/${broken}/${name}`,
    )
    assert.deepEqual(await runSweep(envOf(service), '--remove'), [
      { kind: 'missing', videoId: broken, files: 3, keys: gone },
    ])
    const worker = await startWorker(t, { KINORA_LOG_LEVEL: 'warn' })
    const metric = async () => (await call(`${worker.url}/metrics`)).text
    await waitFor(async () => /kinora_sweep_missing_files_total 3\n/.test(await metric()))
    assert.match(worker.output(), new RegExp(`"videoId":"${broken}".*files of a video are missing`))
    assert.doesNotMatch(worker.output(), new RegExp(intact))
  })

  test('a worker sweeps periodically and logs what it removed', async (t) => {
    const videoId = await makeVideo(service, onDisk(service))
    const orphans = [`videos/${newId('vi')}/source`, `videos/${videoId}/mp4/${randomUUID()}.mp4`]
    await writeOldFiles(service.data, orphans)
    const reporting = await startWorker(t, { KINORA_SWEEP: 'report' })
    await waitFor(() => /the sweep found orphaned files/.test(reporting.output()))
    assert.deepEqual(await checkExistence(service.data, orphans), [true, true])
    await resetSweepState(service.database)
    const worker = await startWorker(t)
    await waitFor(() => /the sweep removed orphaned files/.test(worker.output()))
    assert.deepEqual(await checkExistence(service.data, orphans), [false, false])
    assert.match(worker.output(), /"files":2,"bytes":22/)
    assert.match((await call(`${worker.url}/metrics`)).text, /kinora_sweep_files_total 2\n/)
  })

  test('the sweep removes no file of a video while one of its jobs may store files', async () => {
    const videoId = await makeVideo(service, onDisk(service))
    const stored = {
      finish: `videos/${videoId}/mp4/240p-silent-${randomUUID()}.mp4`,
      pictures: `videos/${videoId}/pictures/automatic-${randomUUID()}.jpg`,
    }
    await writeOldFiles(service.data, Object.values(stored))
    for (const name of ['finish', 'pictures'] as const) {
      const job = new pg.Client(service.database)
      await job.connect()
      await job.query('select pg_advisory_lock(hashtextextended($1, 0))', [`${name} ${videoId}`])
      assert.deepEqual(await runSweep(envOf(service), '--remove'), [])
      await job.end()
    }
    assert.equal((await runSweep(envOf(service), '--remove')).length, 2)
  })

  test('the sweep never touches the files of another database', async (t) => {
    const videoId = await makeVideo(service, onDisk(service))
    const source = `videos/${videoId}/hls/240p/0-x/0.m4s`
    await utimes(join(service.data, 'files', source), 0, 0)
    await runSweep(envOf(service), '--remove')
    assert.ok(await fileExists(join(service.data, 'files/kinora-store-id')))
    const other = await kinora(t, { KINORA_DATA_DIR: service.data, KINORA_SWEEP_GRACE_MINUTES: '0' })
    await waitFor(() => /the sweep does not touch the file store/.test(other.output()))
    const grace = { KINORA_SWEEP_GRACE_MINUTES: '0' }
    const rejected = await runKinora(['files', 'sweep', '--remove'], { ...envOf(other), ...grace })
    assert.match(rejected.stderr, /belongs to another database/)
    assert.equal(rejected.code, 1)
    // A store that an older version wrote has no id.
    await rm(join(service.data, 'files/kinora-store-id'))
    const unknown = await runKinora(['files', 'sweep', '--remove'], { ...envOf(other), ...grace })
    assert.match(unknown.stderr, /knows none of its videos/)
    assert.ok(await fileExists(join(service.data, 'files', source)))
    assert.deepEqual(await runSweep({ ...envOf(service), ...grace }), [])
  })

  test('the next start removes the unfinished uploads and work folders of a killed process, but not those of others', async (t) => {
    const at = await createDeployment(t, { KINORA_LOG_LEVEL: 'info' })
    const [killed, running] = [await at.start(), await at.start({ KINORA_ROLES: 'api' })]
    const { body } = await call(`${killed.url}/upload-tokens`, { method: 'POST', json: {} })
    const bytes = randomBytes(6 * MiB)
    const upload = ({ url }: { url: string }) =>
      openUpload(`${url}/upload?token=${body.token}`, bytes, { key: '' })
    const uploads = join(at.data, 'files/.uploads')
    const listed = () => readdir(uploads).catch(() => [] as string[])
    const videoId = (await call(`${killed.url}/videos`, { method: 'POST', json: { title: 'x' } })).body
      .videoId
    const part = await sendFile(`${killed.url}/videos/${videoId}/source`, bytes, { range: 'part 1/2' })
    assert.equal(part.status, 201, part.text)
    const [recorded] = await listed()
    await upload(killed).write(5 * MiB)
    await waitFor(async () => (await listed()).length === 2)
    const abandoned = (await listed()).find((name) => name !== recorded)!
    const open = upload(running)
    await open.write(5 * MiB)
    // It must not become too slow while another process starts.
    const sending = setInterval(() => open.write(1_024).catch(() => {}), 1_000)
    t.after(() => clearInterval(sending))
    await waitFor(async () => (await listed()).length === 3)
    const owner = abandoned.split('.')[0]
    const work = join(at.data, 'work')
    const spooled = `spool/${owner}.${randomUUID()}`
    await writeOldFiles(at.data, [spooled], 0)
    for (const name of [`${owner}.${randomUUID()}`, randomUUID()])
      await mkdir(join(work, name), { recursive: true })
    await waitFor(() => fileExists(join(uploads, abandoned, 'whole')))
    await killed.kill()
    // Old enough that the last transaction of the process must have ended.
    for (const name of ['', 'claims', 'whole'])
      await utimes(join(uploads, abandoned, name), Date.now() / 1_000 - 60, Date.now() / 1_000 - 60)

    await at.start()
    await waitFor(async () => !(await fileExists(join(uploads, abandoned))))
    await waitFor(async () => !(await fileExists(join(at.data, 'files', spooled))))
    await waitFor(async () => (await readdir(work)).length === 1)
    // The recorded upload and that of the running process remain. Files that are being written are there for a moment.
    await waitFor(async () => (await listed()).length === 2)
    clearInterval(sending)
    const response = await open.end()
    assert.equal(response.status, 201, response.text)
    const last = await sendFile(`${running.url}/videos/${videoId}/source`, bytes, { range: 'part 2/2' })
    assert.equal(last.status, 201, last.text)
    await waitFor(() => fileExists(sourcePath(at.data, videoId)))
  })
})

suite('sweep on S3', () => {
  const isSource = (videoId: string) => (method: string, path: string) =>
    method === 'PUT' && path.split('?')[0] === `/videos/videos/${videoId}/source`

  let store: S3Store
  let files: Files
  let at: Deployment
  let service: Kinora
  const ends: (() => unknown)[] = []
  before(async () => {
    const t = { after: (end: () => unknown) => ends.push(end) }
    store = await startS3Store(t)
    files = openS3Files(store.settings)
    t.after(() => files.close())
    at = await createDeployment(t, { KINORA_RESTORE_DAYS: '0', ...store.env })
    service = await at.start()
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const listed = async (prefix: string) => (await Array.fromAsync(files.list(prefix))).sort()

  /** Sweeps as the command does, with the clock two hours ahead. */
  async function sweepLater(t: TestContext): Promise<Finding[]> {
    const log = createLog('silent', false)
    const config = readConfig({ KINORA_DATABASE_URL: at.database })
    const { db, locks, close } = await openDatabase(config, log)
    t.after(() => close())
    const findings: Finding[] = []
    const now = () => new Date(Date.now() + 2 * 3_600_000)
    const sweep = { removes: true, graceMs: 3_600_000, report: (each: Finding) => findings.push(each) }
    assert.equal(await sweepAll({ config, db, locks, files, log, now }, sweep), undefined)
    return findings
  }

  test('a clone that is deleted during the copy leaves no files', async () => {
    const original = await createVideo(service, { title: 'Film' })
    const bytes = randomBytes(1_000_000)
    assert.equal((await sendFile(`${service.url}/videos/${original}/source`, bytes)).status, 201)
    await waitForJobs(at.database, 'store-source')
    let clone = ''
    const copies = () => store.requests.filter(({ method, path }) => isSource(clone)(method, path))
    const release = store.hold(
      (method, path) =>
        !isSource(original)(method, path) && /\/vi\w+\/source$/.test(path) && method === 'PUT',
    )
    clone = await createVideo(service, { title: 'Clone', source: original })
    await waitFor(() => copies().length > 0)
    await deleteVideo(service, clone)
    await waitForJobs(at.database, 'remove-files')
    release()
    // A request that was held for too long is sent again.
    await waitFor(() => copies().some(({ state }) => state === 'completed'))
    await waitForJobs(at.database, 'fetch-source', 'plan-encoding')
    assert.deepEqual(await listed(`videos/${clone}`), [])
    assert.ok((await listed(`videos/${original}`)).includes(`videos/${original}/source`))
    await deleteVideo(service, original)
    await waitForJobs(at.database, 'remove-files')
  })

  test('a video that is deleted while its parts are joined leaves no parts and no files', async () => {
    const videoId = await createVideo(service)
    const isCopy = (method: string, path: string) =>
      isSource(videoId)(method, path) && path.includes('partNumber')
    const release = store.hold(isCopy)
    for (const i of [1, 2]) {
      const range = `part ${i}/2`
      const response = await sendFile(`${service.url}/videos/${videoId}/source`, randomBytes(6 * MiB), {
        range,
      })
      assert.equal(response.status, 201, response.text)
    }
    await waitFor(() => store.requests.filter(({ method, path }) => isCopy(method, path)).length >= 2)
    await deleteVideo(service, videoId)
    await waitForJobs(at.database, 'remove-files')
    release()
    await waitForJobs(at.database, 'store-source', 'plan-encoding')
    await waitFor(async () => (await store.openUploads()).length === 0)
    assert.deepEqual(await listed(`videos/${videoId}`), [])
    assert.deepEqual(await Array.fromAsync(files.listUploads()), [])
  })

  test('the sweep removes segments that a worker stored for a deleted video before it was killed', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x240', rate: '8', seconds: 4 })
    const isSegment = (method: string, path: string) => method === 'PUT' && path.includes('/hls/')
    const release = store.hold(isSegment)
    const videoId = await uploadVideo(service, clip)
    const puts = () => store.requests.filter(({ method, path }) => isSegment(method, path))
    await waitFor(() => puts().length > 0)
    await deleteVideo(service, videoId)
    await waitForJobs(at.database, 'remove-files')
    // Keeps the worker from removing the segments itself before it is killed.
    store.hold((method, path) => method === 'DELETE' && path.includes(videoId))
    release()
    await waitFor(() => puts().some(({ state }) => state === 'completed'))
    await waitFor(async () => (await listed(`videos/${videoId}`)).length > 0)
    await service.kill()
    store.releaseAll()
    await files.put(`watermarks/${newId('watermark_')}/image.png`, Buffer.from('orphan'))
    const orphans = await listed(`videos/${videoId}`)
    assert.ok(
      orphans.every((key) => key.includes('/hls/')),
      orphans.join(),
    )

    await resetSweepState(at.database)
    const next = await at.start({ KINORA_SWEEP_GRACE_MINUTES: '0', KINORA_LOG_LEVEL: 'info' })
    await waitFor(() => /the sweep removed orphaned files/.test(next.output()))
    assert.deepEqual([...(await listed('videos')), ...(await listed('watermarks'))], [])
    await next.stop()
  })

  test('the sweep aborts the multipart uploads of a killed process, with or without a lease, and removes their parts', async (t) => {
    // Another test has killed the previous one.
    service = await at.start()
    const videoId = await createVideo(service)
    const bytes = randomBytes(20 * MiB)
    // The first upload is killed while it sends parts, the second before it could write its lease.
    const isLease = (_: string, path: string) => path.includes('lease-')
    await openUpload(`${service.url}/videos/${videoId}/source`, bytes, { range: 'part 1/2' }).write(18 * MiB)
    await waitFor(async () => (await store.openUploads()).length === 1)
    await waitFor(async () => (await Array.fromAsync(files.listUploads())).length === 1)
    store.hold(isLease)
    const { body } = await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })
    // Not awaited, because the service stops reading when it cannot store.
    void openUpload(`${service.url}/upload?token=${body.token}`, bytes, { key: '' }).write(18 * MiB)
    await waitFor(async () => (await store.openUploads()).length === 2)
    await service.kill()
    store.releaseAll()

    const findings = await sweepLater(t)
    assert.equal(
      findings.filter(({ kind }) => kind === 'multipart upload').length,
      2,
      JSON.stringify(findings),
    )
    assert.deepEqual(await store.openUploads(), [])
    // The client can still complete the upload.
    const next = await at.start()
    for (const i of [1, 2]) {
      const range = `part ${i}/2`
      const part = bytes.subarray(0, 6 * MiB)
      const response = await sendFile(`${next.url}/videos/${videoId}/source`, part, { range })
      assert.equal(response.status, 201, response.text)
    }
    await waitFor(async () => (await files.stat(`videos/${videoId}/source`))?.size === 12 * MiB)
  })
})

test('every start of a worker increases the number that tells how old the database is', async (t) => {
  const { database, data, stop } = await kinora(t)
  const generation = async () => Number(await readFile(join(data, 'files/kinora-store-generation'), 'utf8'))
  await waitFor(async () => (await generation().catch(() => 0)) > 0)
  await stop()
  const before = await generation()
  const again = await startKinora(settingsOf({ database, data }))
  t.after(() => again.stop())
  await waitFor(async () => (await generation()) > before)
})

test('with an older database, the sweep removes nothing until an operator says so', async (t) => {
  const { database, data, stop } = await kinora(t)
  const generation = async () => Number(await readFile(join(data, 'files/kinora-store-generation'), 'utf8'))
  await waitFor(async () => (await generation().catch(() => 0)) > 0)
  await stop()
  const orphan = `videos/${newId('vi')}/source`
  await writeOldFiles(data, [orphan])
  // What a restored backup of the database looks like: its number is lower than that of the store.
  await query(database, `update sweep_state set value = '{"number": "0"}' where name = 'store generation'`)
  await query(database, `delete from sweep_state where name not in ('store', 'store generation')`)
  const before = await generation()
  const again = await startKinora({ ...settingsOf({ database, data }) })
  t.after(() => again.stop())
  await waitFor(async () => (await generation()) > before)
  await waitFor(() => /the database is older than the file store/.test(again.output()))
  await again.stop()
  assert.deepEqual(await checkExistence(data, [orphan]), [true])
  const report = await runKinora(['files', 'sweep'], envOf({ database, data }))
  assert.match(report.stderr, /The database is older than the file store/)
  assert.deepEqual(await checkExistence(data, [orphan]), [true])
  assert.deepEqual(keysOf(await runSweep(envOf({ database, data }), '--remove')), [
    orphan.replace('/source', ''),
  ])
  assert.deepEqual(await checkExistence(data, [orphan]), [false])
  const { stderr } = await runKinora(['files', 'sweep'], envOf({ database, data }))
  assert.equal(stderr, '')
})
