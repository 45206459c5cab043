import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, suite, type TestContext, test } from 'node:test'
import { type FauxqsServer, startFauxqs } from 'fauxqs'
import { openInput } from '../../server/encoding/source/input.ts'
import { FileStoreError, type Files } from '../../server/lib/files/files.ts'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { Unreadable } from '../../server/media/probe.ts'
import { call, kinora, query, type Service, sendFile, temporaryFolder, waitFor } from '../support/harness.ts'
import { download, ffmpeg, makeClip, readStreams } from '../support/media/media.ts'
import { splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertComplete, fakeProgram } from '../support/recovery.ts'
import { lacksSwift, startSwift } from '../support/swift.ts'
import { assertEncoded, encodingOf, uploadVideo } from '../support/videos.ts'

// Encoding with an S3 store: ffmpeg reads the source through a loopback URL, and the output is stored in the bucket.

let folder: string
let clip: string
const seconds = 10
const frames = seconds * 6
const events = ['hls 240p', 'hls 360p', 'mp4 360p']

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '640x360', rate: '6', seconds, audioCodec: 'aac' })
})

/** Starts a store that can stop and restart on the same port. */
async function startStore(t: { after(end: () => unknown): void }) {
  const storage = await temporaryFolder(t)
  const options = { host: '127.0.0.1', logger: false, s3StorageDir: storage } as const
  let server: FauxqsServer = await startFauxqs({ ...options, port: 0 })
  const { port } = server
  server.createBucket('videos')
  t.after(() => server.stop())
  const settings = { endpoint: `http://127.0.0.1:${port}`, bucket: 'videos', region: 'us-east-1' }
  const files = openS3Files({ ...settings, accessKey: 'test', secretKey: 'test' })
  t.after(() => files.close())
  return {
    files,
    env: {
      KINORA_S3_ENDPOINT: settings.endpoint,
      KINORA_S3_BUCKET: settings.bucket,
      KINORA_S3_REGION: settings.region,
      KINORA_S3_ACCESS_KEY: 'test',
      KINORA_S3_SECRET_KEY: 'test',
    },
    stop: () => server.stop(),
    async restart() {
      server = await startFauxqs({ ...options, port })
    },
  }
}

async function startSwiftStore(t: TestContext) {
  const swift = await startSwift(t)
  const bucket = await swift.createBucket()
  const { endpoint, keys } = swift
  const files = openS3Files({ ...keys, endpoint, bucket })
  t.after(() => files.close())
  return {
    swift,
    files,
    env: {
      KINORA_S3_ENDPOINT: endpoint,
      KINORA_S3_BUCKET: bucket,
      KINORA_S3_REGION: keys.region,
      KINORA_S3_ACCESS_KEY: keys.accessKey,
      KINORA_S3_SECRET_KEY: keys.secretKey,
      KINORA_S3_REDIRECT: 'on',
    },
  }
}

async function keysOf(files: Files, videoId: string): Promise<string[]> {
  const keys: string[] = []
  for await (const key of files.list(`videos/${videoId}`)) keys.push(key)
  return keys.sort()
}

async function assertAllInBucket(
  files: Files,
  database: string,
  videoId: string,
  more: string[] = [],
): Promise<void> {
  const rows = await query(
    database,
    `select key || '/' || i - 1 || '.m4s' as key from segments, generate_subscripts(sizes, 1) i where video_id = $1
     union all select key from renditions where video_id = $1 and key is not null`,
    [videoId],
  )
  // The cleanup runs after the last event.
  const known = [`videos/${videoId}/source`, ...rows.map(({ key }) => key), ...more].sort()
  // Thumbnails have a job of their own, which may still be running.
  const found = async () => (await keysOf(files, videoId)).filter((key) => !key.includes('/pictures/'))
  await waitFor(async () => (await found()).length === known.length)
  assert.deepEqual(await found(), known)
}

suite('encoding with an S3 store', { concurrency: false }, () => {
  let store: Awaited<ReturnType<typeof startStore>>
  let service: Service
  /** The ffmpeg of the service runs this script first. */
  let script: string
  const ends: (() => unknown)[] = []

  before(async () => {
    const cleanup = { after: (end: () => unknown) => ends.push(end) }
    store = await startStore(cleanup)
    script = join(folder, 'script')
    await writeFile(script, '')
    const program = await fakeProgram(folder, 'ffmpeg', `. '${script}'`)
    const settings = {
      ...store.env,
      KINORA_RESTORE_DAYS: '0',
      KINORA_FFMPEG: program,
      KINORA_ENCODE_SLOTS: '2',
    }
    service = await kinora(cleanup, settings)
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('a video and its watermark are read from the bucket, encoded into it and played from it', async () => {
    const { files } = store
    const image = join(folder, 'mark.png')
    await ffmpeg('-f', 'lavfi', '-i', 'color=red:s=64x36', '-frames:v', '1', image)
    const { body } = await sendFile(`${service.url}/watermarks`, await readFile(image))
    const videoId = await uploadVideo(service, clip, { watermark: { id: body.watermarkId } })
    await assertEncoded(service, videoId, events)
    await assertComplete(service, service, videoId, { events, frames, isOnDisk: false })
    await assertAllInBucket(files, service.database, videoId, [`videos/${videoId}/watermark.png`])
    await call(`${service.url}/watermarks/${body.watermarkId}`, { method: 'DELETE' })
    await waitFor(async () => (await Array.fromAsync(files.list('watermarks'))).length === 0)
    assert.deepEqual(await readdir(join(service.data, 'files')), [])
    await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
    await waitFor(async () => (await keysOf(files, videoId)).length === 0)
  })

  test('a source that every device plays is copied within the bucket', async () => {
    const source = join(folder, 'conforming.mp4')
    const inputs = `-f lavfi -i testsrc2=s=640x360:r=6:d=${seconds} -f lavfi -i sine=r=48000:d=${seconds}`
    const codecs = '-c:v libx264 -preset ultrafast -crf 35 -g 12 -pix_fmt yuv420p -c:a aac -ac 2'
    await ffmpeg(...splitArgs(`${inputs} ${codecs}`), source)
    const videoId = await uploadVideo(service, source)
    await assertEncoded(service, videoId, events)
    const [{ plan }] = await query(service.database, 'select plan from encodings where video_id = $1', [
      videoId,
    ])
    assert.deepEqual([plan.copiesVideo, plan.copiesAudio], [true, true])
    await assertComplete(service, service, videoId, { events, frames, isOnDisk: false, isCopied: true })
    await assertAllInBucket(store.files, service.database, videoId)
    const [original, copied] = await Promise.all([
      readStreams([source]),
      download(service.url, videoId, '360p', folder).then(({ joined }) => readStreams([joined])),
    ])
    assert.deepEqual(copied.streams[0]!.hashes, original.streams[0]!.hashes)
  })

  test('on Swift, a video is encoded although the store is killed, and viewers are redirected to the store', {
    skip: lacksSwift,
  }, async (t) => {
    const { swift, env, files } = await startSwiftStore(t)
    const service = await kinora(t, { ...env, ...withoutThumbnails() })
    const small = join(folder, 'small.mp4')
    await makeClip(small, { size: '320x240', rate: '6', seconds: 4 })
    const videoId = await uploadVideo(service, small)
    // The upload is complete, and jobs do the rest.
    await swift.kill()
    await swift.start()
    const events = ['hls 240p', 'mp4 240p']
    const frames = 4 * 6
    await assertEncoded(service, videoId, events)
    await assertComplete(service, service, videoId, { events, frames, isOnDisk: false })
    await assertAllInBucket(files, service.database, videoId)
    const { status, headers } = await fetch(`${service.url}/vod/${videoId}/mp4/source.mp4`, {
      redirect: 'manual',
    })
    assert.deepEqual([status, new URL(headers.get('location') ?? '').origin], [302, swift.endpoint])
  })

  test('a source without seek support is first copied in the bucket, and the copy is removed at the end', async () => {
    const { files } = store
    const source = join(folder, 'clip.ts')
    await ffmpeg('-i', clip, '-c', 'copy', source)
    // The encoding waits until the test has seen the copy.
    const seen = join(folder, 'seen')
    const wait = `while ! [ -e '${seen}' ]; do sleep 0.05; done`
    await writeFile(script, `case "$*" in *"/240p.mp4"*) ${wait};; esac`)
    const videoId = await uploadVideo(service, source)
    await waitFor(async () => (await keysOf(files, videoId)).includes(`videos/${videoId}/copy/source.mkv`))
    await writeFile(seen, '')
    await assertEncoded(service, videoId, events)
    const [{ plan }] = await query(service.database, 'select plan from encodings where video_id = $1', [
      videoId,
    ])
    assert.equal(plan.key, `videos/${videoId}/copy/source.mkv`)
    await assertComplete(service, service, videoId, { events, frames: plan.frames, isOnDisk: false })
    await assertAllInBucket(files, service.database, videoId)
  })

  test('the encoding waits while the store is unreachable, and this does not count as a failure', async () => {
    const { stop, restart, files } = store
    // From the second chunk on, ffmpeg starts only after the store has stopped, so it cannot read the source. The output
    // of earlier chunks cannot be stored.
    const stopped = join(folder, 'gone')
    const wait = `while ! [ -e '${stopped}' ]; do sleep 0.05; done`
    await writeFile(script, `case "$*" in *"/360p.mp4"*) ${wait};; esac`)
    const videoId = await uploadVideo(service, clip)
    await waitFor(async () => (await encodingOf(service, videoId)).playable)
    await stop()
    await writeFile(stopped, '')
    const waiting = () => query(service.database, 'select failures from chunks where not_before > now()')
    await waitFor(async () => (await waiting()).length >= 2, service.output)
    const chunks = await query(service.database, 'select distinct failures from chunks')
    assert.deepEqual(chunks, [{ failures: 0 }], service.output())
    await restart()
    await assertEncoded(service, videoId, events)
    await assertComplete(service, service, videoId, { events, frames, isOnDisk: false })
    await assertAllInBucket(files, service.database, videoId)
  })
})

/** A store with one file whose reads fail after some bytes. */
function brokenFiles(size: number, breaksAt: number): Files {
  const read = async (_key: string, range?: { from: number; to: number }) => {
    const { from, to } = range ?? { from: 0, to: size - 1 }
    return Readable.from(
      (async function* () {
        for (let at = from; at <= to; at += 1_000) {
          if (at >= breaksAt) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
          yield Buffer.alloc(Math.min(1_000, to - at + 1))
        }
      })(),
    )
  }
  return {
    pathOf: () => undefined,
    stat: async () => ({ size, modified: new Date() }),
    read,
  } as Partial<Files> as Files
}

async function readAll(url: string, untilBytes = Number.POSITIVE_INFINITY): Promise<number> {
  const request = get(url, { agent: false })
  const [response] = await once(request, 'response')
  let bytes = 0
  try {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes >= untilBytes) break
    }
  } catch {
    // The response was cut off.
  }
  request.destroy()
  return bytes
}

test('a file that is missing from the store cannot be read', async (t) => {
  const { files } = await startStore(t)
  await assert.rejects(openInput(files, 'videos/x/source'), {
    constructor: Unreadable,
    message: 'The source file is missing.',
  })
})

test('closing an input that the store cut off reports that the store is unreachable', async () => {
  const input = await openInput(brokenFiles(1_000_000, 500_000), 'videos/x/source')
  assert.ok((await readAll(input.path)) <= 500_000)
  await assert.rejects(
    input.close(),
    (error) => error instanceof FileStoreError && error.kind === 'unreachable',
  )
})

test('a reader that stops early and seeks is not a failure of the store', async () => {
  const size = 20_000_000
  const input = await openInput(brokenFiles(size, size), 'videos/x/source')
  for (let i = 0; i < 3; i++) assert.ok((await readAll(input.path, 100_000)) < size)
  assert.equal(await readAll(input.path), size)
  await input.close()
})
