import assert from 'node:assert/strict'
import type { statfs } from 'node:fs/promises'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { DiskSpace, type Reserve } from './disk-space.ts'
import { openDiskFiles } from './files/disk.ts'
import { FileStoreError } from './files/files.ts'
import { withReserve } from './files/with-reserve.ts'

const MB = 1e6
const isFull = (error: unknown) => error instanceof FileStoreError && error.kind === 'full'

/** A disk whose free space the test sets. `fill` returns when the change has been noticed. */
async function openSpace(
  t: TestContext,
  reserve: Reserve | undefined,
  { totalMB, freeMB }: Record<string, number>,
) {
  let free = freeMB!
  const messages: string[] = []
  const log = {
    warn: (_: object, text: string) => messages.push(text),
    info: (_: object, text: string) => messages.push(text),
  }
  const readFolder = (async () => ({ bsize: MB, blocks: totalMB, bavail: free })) as unknown as typeof statfs
  const dataDir = await mkdtemp(join(tmpdir(), 'kinora-'))
  const space = await DiskSpace.open({ dataDir, reserve, log, readFolder })
  t.after(() => space.close())
  return {
    space,
    dataDir,
    messages,
    async fill(freeMB: number) {
      free = freeMB
      while (space.disks[0]!.freeBytes !== free * MB) await new Promise((done) => setTimeout(done, 20))
    },
  }
}

test('the reserve is 1 GB, a twentieth of a small disk, or what the setting says', async (t) => {
  const cases = [
    [undefined, 1_000_000, 1_000],
    [undefined, 64, 3.2],
    [{ bytes: 500 * MB }, 1_000, 500],
    [{ fraction: 0.02 }, 1_000_000, 20_000],
    [{ bytes: 0 }, 1_000, 0],
  ] as const
  for (const [reserve, totalMB, expectedMB] of cases) {
    const { space } = await openSpace(t, reserve, { totalMB, freeMB: 0 })
    assert.equal(space.disks[0]?.reserveBytes, expectedMB * MB)
    assert.equal(space.isLow, expectedMB > 0)
    if (expectedMB === 0) space.checkWrite(MB)
    else assert.throws(() => space.checkWrite(MB), isFull)
  }
})

test('below the reserve no upload begins, and one that has begun may use half of it', async (t) => {
  const { space, dataDir, messages, fill } = await openSpace(
    t,
    { bytes: 100 * MB },
    { totalMB: 1_000, freeMB: 100 },
  )
  const disk = await openDiskFiles(dataDir)
  const files = withReserve(disk, space)
  t.after(() => disk.close())
  async function* body(freeMB: number) {
    yield Buffer.from('begin ')
    await fill(freeMB)
    yield Buffer.from('end')
  }
  const handle = await files.beginUpload('videos/a')
  const chunk = await files.writeChunk(handle, body(51), { order: 0, offset: 0 })
  assert.equal(chunk.size, 9)
  await assert.rejects(files.beginUpload('videos/b'), isFull)
  await assert.rejects(files.writeChunk(handle, body(51), { order: 9, offset: 9 }), isFull)
  // Without new bytes.
  await files.finishUpload(handle, 'videos/a', [chunk])
  await files.put('videos/b', Buffer.from('small'))

  await fill(100)
  await assert.rejects(files.put('videos/c', body(49)), isFull)
  await assert.rejects(files.put('videos/c', Buffer.from('small')), isFull)
  await assert.rejects(files.copy('videos/a', 'videos/c'), isFull)
  assert.equal((await buffer(await files.read('videos/a'))).toString(), 'begin end')
  await files.remove('videos/a')
  assert.equal(await files.stat('videos/c'), undefined)

  await fill(100)
  await files.copy('videos/b', 'videos/c')
  // What is written until the next reading of the disk counts.
  async function* flood() {
    for (;;) yield Buffer.alloc(MB)
  }
  await assert.rejects(files.put('videos/d', flood()), isFull)
  await fill(101)
  assert.throws(() => space.checkWrite(60 * MB), isFull)
  // What was refused does not count.
  space.checkWrite(40 * MB)
  assert.equal(messages.filter((text) => /almost full/.test(text)).length, 2)
  assert.equal(messages.filter((text) => /enough disk space again/.test(text)).length, 2)
})

test('work waits until there is enough space, or until the service stops', async (t) => {
  const { space, fill } = await openSpace(t, { bytes: 100 * MB }, { totalMB: 1_000, freeMB: 99 })
  const stopping = new AbortController()
  let isFree = false
  const waiting = space.whenFree(stopping.signal).then(() => {
    isFree = true
  })
  const stopped = assert.rejects(space.whenFree(AbortSignal.abort()), { name: 'AbortError' })
  await fill(98)
  assert.equal(isFree, false)
  await fill(100)
  await Promise.all([waiting, stopped])
})
