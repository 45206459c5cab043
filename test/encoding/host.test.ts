import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { clusterOf } from '../../server/lib/postgres/cluster.ts'
import { findPostmaster, readPidFile } from '../../server/lib/postgres/process.ts'
import { ensureSystemUser } from '../../server/lib/system-user.ts'
import {
  callUntilAvailable,
  kinora,
  productionKey,
  root,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { fakeProgram } from '../support/recovery.ts'
import { assertEncoded, uploadVideo, waitForEncoding } from '../support/videos.ts'

// Isolation from other users of the machine and from an ffmpeg that a malicious file controls.

const isRoot = process.geteuid!() === 0
const rootOnly = { skip: isRoot ? false : 'needs root, because only root runs ffmpeg as another user' }
const events = ['hls 240p', 'mp4 240p']

let folder: string
let clip: string

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '320x240', rate: '12', seconds: 2 })
})

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8)

suite('ffmpeg', { concurrency: 2 }, () => {
  test('inherits no secrets, and runs as a separate user when the service runs as root', async (t) => {
    const observed = join(folder, randomUUID())
    await mkdir(observed)
    await chmod(observed, 0o777)
    // Complete files replace each other, because the programs may still run when the test reads them.
    const write = (command: string, name: string) =>
      `${command} > '${observed}/${name}-'$$ && mv '${observed}/${name}-'$$ '${observed}/${name}'`
    const script = `${write('env', 'env')} && ${write('id -u', 'uid')}`
    const service = await kinora(t, {
      KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', script),
      KINORA_FFPROBE: await fakeProgram(
        folder,
        'ffprobe',
        script.replaceAll(`${observed}/`, `${observed}/probe-`),
      ),
      AWS_SECRET_ACCESS_KEY: 'another secret',
    })
    await assertEncoded(service, await uploadVideo(service, clip), events)
    const user = isRoot ? await ensureSystemUser('kinora-media') : { uid: process.getuid!() }
    for (const program of ['', 'probe-']) {
      const environment = await readFile(join(observed, `${program}env`), 'utf8')
      assert.match(environment, /^PATH=/m)
      assert.doesNotMatch(environment, /KINORA_|secret|postgres:/)
      assert.equal(Number(await readFile(join(observed, `${program}uid`), 'utf8')), user?.uid)
    }
  })

  test('publishes nothing when its output file is a symbolic link', rootOnly, async (t) => {
    const secret = join(folder, randomUUID())
    await writeFile(secret, 'secret of root', { mode: 0o600 })
    const script = `for last; do :; done; case "$last" in *.mp4) ln -s '${secret}' "$last"; exit 0;; esac`
    const service = await kinora(t, { KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', script) })
    const encoding = await waitForEncoding(service, await uploadVideo(service, clip))
    assert.ok(encoding.qualities.every(({ status }) => status === 'failed'))
    assert.match(service.output(), /which is not a file/)
    await service.stop()
    for (const name of await readdir(service.data, { recursive: true })) {
      const path = join(service.data, name)
      if ((await stat(path)).isFile()) assert.doesNotMatch(await readFile(path, 'latin1'), /secret of root/)
    }
  })

  test('works with a data folder inside a folder that only root can enter', rootOnly, async (t) => {
    const closed = join(await temporaryFolder(t), 'closed')
    await mkdir(closed, { mode: 0o700 })
    const service = await kinora(t, { KINORA_DATA_DIR: join(closed, 'data') })
    await assertEncoded(service, await uploadVideo(service, clip), events)
  })

  test('prevents the start when the separate user may not run it', rootOnly, async (t) => {
    const closed = join(folder, randomUUID())
    await mkdir(closed, { mode: 0o700 })
    const program = await fakeProgram(closed, 'ffmpeg', '')
    await assert.rejects(
      kinora(t, { KINORA_FFMPEG: program }),
      /user kinora-media, .* may not run the program in KINORA_FFMPEG/,
    )
  })
})

suite('the data folder', { concurrency: 2 }, () => {
  test('is closed to other users, whatever its mode was, and its group can read media', async (t) => {
    const data = join(await temporaryFolder(t), 'data')
    await mkdir(join(data, 'files'), { recursive: true })
    for (const path of [data, join(data, 'files')]) await chmod(path, 0o755)
    const service = await kinora(t, { KINORA_DATA_DIR: data })
    const videoId = await uploadVideo(service, clip)
    await assertEncoded(service, videoId, events)
    for (const name of ['', 'files', 'work', 'files/videos', `files/videos/${videoId}`])
      assert.equal(await modeOf(join(data, name)), '750', name)
    const source = join(data, 'files/videos', videoId, 'source')
    assert.equal(await modeOf(source), '640')
    if (!isRoot) return
    const group = (await ensureSystemUser('kinora-media'))?.gid
    for (const path of [data, join(data, 'files'), source]) assert.equal((await stat(path)).gid, group, path)
  })

  test('keeps its mode when it contains other files, and the folders of Kinora in it are closed', async (t) => {
    const data = await temporaryFolder(t)
    await writeFile(join(data, 'holiday.jpg'), '')
    await chmod(data, 0o755)
    const service = await kinora(t, { KINORA_DATA_DIR: data })
    await assertEncoded(service, await uploadVideo(service, clip), events)
    assert.equal(await modeOf(data), '755')
    for (const name of ['files', 'work']) assert.equal(await modeOf(join(data, name)), '750', name)
  })
})

suite('the start of the service', { concurrency: 2 }, () => {
  test('succeeds when Postgres is killed as soon as it accepts connections', async (t) => {
    const data = await temporaryFolder(t)
    const cluster = clusterOf(join(data, 'postgres'))
    const starting = startKinora({ KINORA_DATA_DIR: data, KINORA_PRODUCTION_KEY: productionKey })
    t.after(async () => (await starting).stop())
    await waitFor(
      async () => (await readPidFile(cluster))?.status === 'ready',
      () => 'Postgres is not ready',
    )
    process.kill((await findPostmaster(cluster))!, 'SIGKILL')
    const { url } = await starting
    // On a busy machine, the service may be ready before Postgres is killed.
    assert.equal((await callUntilAvailable(`${url}/videos`)).status, 200)
  })

  test('loads no package that the settings do not require', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const names = new Set()
      registerHooks({ load(url, context, next) {
        names.add(/\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1])
        return next(url, context)
      } })
      for (const part of ['main', 'app', 'jobs']) await import('${root}/server/' + part + '.ts')
      console.log([...names].join(' '))`
    const args = ['--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    const names = stdout.trim().split(' ')
    assert.ok(names.includes('fastify') && names.includes('kysely'), 'the hook does not see the packages')
    for (const name of ['typebox', '@fastify/swagger', 'yaml', 'pino-pretty', 'vite', 'marked'])
      assert.ok(!names.includes(name), name)
    assert.deepEqual(
      names.filter((name) => /^@(aws-sdk|smithy)\//.test(name)),
      [],
    )
  })
})
