import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  call,
  listFiles,
  MiB,
  query,
  runKinora,
  type Service,
  sandboxKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { createVideo, sourceUrl, uploadVideo, waitForEncoding } from '../support/videos.ts'

// What `kinora storage` and the System page count.

type Row = { environment: string; kind: string; quality: string | null; files: number; bytes: number }

const envOf = ({ database, data }: Service) => ({ KINORA_DATABASE_URL: database, KINORA_DATA_DIR: data })

async function runStorage(service: Service, ...args: string[]) {
  const { code, stdout, stderr } = await runKinora(['storage', ...args], envOf(service))
  assert.deepEqual([code, stderr], [0, ''])
  return stdout
}

async function sizesOnDisk(service: Service, pattern: RegExp): Promise<{ files: number; bytes: number }> {
  const found = (await listFiles(service)).filter((path) => pattern.test(path))
  const sizes = await Promise.all(found.map(async (path) => (await stat(path)).size))
  return { files: found.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

describe('kinora storage', () => {
  const service = sharedKinora({ KINORA_RESTORE_DAYS: '1' })

  test('the sizes of each kind are those of the files on disk, and deleted videos are a kind of their own', async (t) => {
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { seconds: 2, size: '426x240' })
    const [kept, deleted, sandbox] = await Promise.all([
      uploadVideo(service, clip, { title: 'Kept\u001b[31m' }),
      uploadVideo(service, clip, { title: 'Deleted' }),
      uploadVideo({ ...service, key: sandboxKey }, clip, { title: 'Trial' }),
    ])
    const uploading = await createVideo(service)
    const part = Buffer.alloc(6 * MiB)
    const range = `bytes 0-${part.length - 1}/${part.length + 10}`
    assert.equal((await sendFile(sourceUrl(service, uploading), part, { range })).status, 201)
    for (const videoId of [kept, deleted]) await waitForEncoding(service, videoId)
    await waitForEncoding({ ...service, key: sandboxKey }, sandbox)
    await waitFor(async () => {
      const [row] = await query(
        service.database,
        'select count(*)::int from pictures where sprites_key is not null and thumbnail_key is not null',
      )
      return row.count === 3
    })
    await call(`${service.url}/videos/${deleted}`, { method: 'DELETE' })
    let rows: Row[] = []
    let largest: { videoId: string; bytes: number }[] = []
    // The job that makes the thumbnail may still replace it.
    await waitFor(
      async () => {
        ;({ storage: rows, largest } = JSON.parse(await runStorage(service, '--json')))
        const all = await sizesOnDisk(service, /./)
        return rows.reduce((sum, { bytes }) => sum + bytes, 0) === all.bytes
      },
      () => JSON.stringify(rows),
    )

    const sum = (found: Row[]) => ({
      files: found.reduce((total, { files }) => total + files, 0),
      bytes: found.reduce((total, { bytes }) => total + bytes, 0),
    })
    const kind = (name: string, environment: string) =>
      sum(rows.filter((row) => row.kind === name && row.environment === environment))
    for (const [videoId, environment] of [
      [kept, 'production'],
      [sandbox, 'sandbox'],
    ] as const) {
      const on = (folder: string) => sizesOnDisk(service, new RegExp(`${videoId}/${folder}`))
      assert.deepEqual(kind('sources', environment), await on('source$'))
      assert.deepEqual(kind('hls', environment), await on('hls/'))
      assert.deepEqual(kind('mp4', environment), await on('mp4/'))
      assert.deepEqual(kind('thumbnails', environment), await on('pictures/'))
    }
    assert.deepEqual(kind('discarded', 'production'), await sizesOnDisk(service, new RegExp(deleted)))
    assert.deepEqual(kind('uploads', 'production'), { files: 1, bytes: part.length })
    const audio = rows.find(({ quality, environment }) => quality === 'audio' && environment === 'production')
    const { files, bytes } = await sizesOnDisk(service, new RegExp(`${kept}/hls/sound/`))
    assert.deepEqual([audio?.files, audio?.bytes], [files, bytes])

    assert.equal(largest.length, 4)
    assert.equal(largest[0]!.videoId, uploading)
    const ofKept = await sizesOnDisk(service, new RegExp(kept))
    assert.equal(largest.find(({ videoId }) => videoId === kept)?.bytes, ofKept.bytes)

    const text = await runStorage(service, '--largest', '2')
    assert.match(text, /^production +files +size\n {2}sources +1 +\d/m)
    assert.match(text, /deleted, can be restored/)
    assert.ok(!text.includes('\u001b'))
    assert.equal(text.split('\n').filter((line) => /vi\w{22}/.test(line)).length, 2)
  })
})
