import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { after, describe, type TestContext, test } from 'node:test'
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { openDiskFiles } from '../../server/lib/files/disk.ts'
import {
  FileNotFoundError,
  FileStoreError,
  type Files,
  type StoredChunk,
} from '../../server/lib/files/files.ts'
import { openS3Files } from '../../server/lib/files/s3.ts'
import { type Part, planParts } from '../../server/lib/files/s3-part-plan.ts'
import { temporaryFolder, timeoutMs, waitFor } from '../support/harness.ts'
import { startS3Store } from '../support/s3-store.ts'
import { lacksSwift, type Swift, startSwift } from '../support/swift.ts'

const MiB = 1024 * 1024

/** A new, empty store. Each `open` acts like a separate process. */
type Store = {
  open(): Promise<Files>
  /** The keys of everything in the store, including unfinished uploads. */
  list(): Promise<string[]>
}

async function* streamed(bytes: Buffer, chunk = 64 * 1024): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}

/** Keeps references to pending promises. Otherwise they are garbage collected together with their open files. */
const hanging: unknown[] = []

/** A body that fails like a broken connection after these bytes, or sends nothing more. */
async function* cutOff(
  bytes: Buffer,
  end: 'breaks' | 'hangs',
  onHang: () => void = () => {},
): AsyncGenerator<Buffer> {
  yield* streamed(bytes)
  if (end === 'breaks') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  onHang()
  await new Promise((done) => hanging.push(done))
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const isStoreError = (kind: FileStoreError['kind']) => (error: unknown) => {
  assert.ok(error instanceof FileStoreError, String(error))
  assert.equal(error.kind, kind)
  return true
}

function cut(bytes: Buffer, size: number): { bytes: Buffer; offset: number }[] {
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, i) => ({
    bytes: bytes.subarray(i * size, (i + 1) * size),
    offset: i * size,
  }))
}

type ContractOptions = {
  skip?: string | false
  /** The store uses the offsets of chunks, so all combinations are tested. */
  usesOffsets?: boolean
  /** Fewer chunks. */
  isSlow?: boolean
}

function contract(
  name: string,
  makeStore: (t: TestContext) => Promise<Store>,
  { skip = false, usesOffsets = false, isSlow = false }: ContractOptions = {},
) {
  const start = async (t: TestContext) => {
    const store = await makeStore(t)
    const files = await store.open()
    t.after(() => files.close())
    return { store, files }
  }

  describe(`files ${name}`, { skip }, () => {
    test('a stored file can be read completely or by range', async (t) => {
      const { files } = await start(t)
      await files.check()
      for (const size of [0, 1, 100_000, 20 * MiB + 7]) {
        const bytes = randomBytes(size)
        const stored = await files.put('videos/vi1/source', streamed(bytes))
        assert.deepEqual(stored, { size })
        const found = await files.stat('videos/vi1/source')
        assert.equal(found?.size, size)
        assert.ok(Math.abs(Date.now() - found.modified.getTime()) < 60_000, String(found.modified))
        assert.ok(bytes.equals(await bytesOf(await files.read('videos/vi1/source'))))
      }
      const bytes = randomBytes(1000)
      await files.put('videos/vi1/source', bytes)
      const part = async (from: number, to: number) =>
        bytesOf(await files.read('videos/vi1/source', { from, to }))
      assert.ok(bytes.subarray(0, 1).equals(await part(0, 0)))
      assert.ok(bytes.subarray(10, 21).equals(await part(10, 20)))
      assert.ok(bytes.subarray(990).equals(await part(990, 5000)))
      assert.equal((await part(1000, 1001)).length, 0)
    })

    test('a small file is cached once for all callers, and a large file is not cached', async (t) => {
      const { files } = await start(t)
      const bytes = randomBytes(100_000)
      await files.put('a/small', bytes)
      await files.put('a/large', randomBytes(5 * MiB))
      const [one, two] = await Promise.all([
        files.acquire('a/small', 100_000, true),
        files.acquire('a/small', 100_000, true),
      ])
      assert.ok(one && one.value === two?.value)
      assert.ok((Buffer.isBuffer(one.value) ? one.value : readFileSync(one.value)).equals(bytes))
      assert.equal(await files.acquire('a/large', 5 * MiB, true), undefined)
      const other = await files.acquire('a/small', 100_000, false)
      assert.ok(other === undefined || Buffer.isBuffer(other.value), 'the caller cannot use a descriptor')
      await files.put('a/other', bytes)
      assert.equal(await files.acquire('a/other', 100_001, true), undefined, 'shorter than expected')
      await assert.rejects(files.acquire('a/none', 10, true), FileNotFoundError)
      await assert.rejects(files.acquire('../a', 10, true), /is not a key/)
    })

    test('reading a missing file fails, and removing it does not', async (t) => {
      const { files } = await start(t)
      await files.put('videos/vi1/source', Buffer.from('x'))
      assert.equal(await files.stat('videos/vi2/source'), undefined)
      assert.equal(await files.stat('videos/vi1'), undefined)
      assert.equal(await files.stat('videos/vi1/source/below'), undefined)
      for (const key of ['videos/vi2/source', 'videos/vi1', 'videos/vi1/source/below']) {
        await assert.rejects(files.read(key), FileNotFoundError)
      }
      await assert.rejects(files.read('videos/vi2/source', { from: 0, to: 1 }), FileNotFoundError)
      await assert.rejects(files.copy('videos/vi2/source', 'videos/vi3/source'), FileNotFoundError)
      await files.remove('videos/vi2')
    })

    test('list and remove cover the file or everything below the prefix, and nothing else', async (t) => {
      const { store, files } = await start(t)
      for (const key of ['a/1/x', 'a/1/y/z', 'a/10/x', 'b']) await files.put(key, Buffer.from(key))
      assert.deepEqual((await Array.fromAsync(files.list('a/1'))).sort(), ['a/1/x', 'a/1/y/z'])
      assert.deepEqual(await Array.fromAsync(files.list('c')), [])
      await files.remove('a/1')
      assert.deepEqual(await store.list(), ['a/10/x', 'b'])
      await files.remove('b')
      assert.deepEqual(await store.list(), ['a/10/x'])
    })

    test('a copy is independent of the original', async (t) => {
      const { files } = await start(t)
      const bytes = randomBytes(3 * MiB)
      await files.put('a/source', bytes)
      await files.copy('a/source', 'b/source')
      await files.remove('a')
      assert.ok(bytes.equals(await bytesOf(await files.read('b/source'))))
    })

    test('every operation rejects invalid keys', async (t) => {
      const { store, files } = await start(t)
      const bad = [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        'a/../b',
        './a',
        'a/.b',
        '.uploads/x',
        'a\\b',
        'a b',
        'ä',
      ]
      for (const key of [...bad, 'a\0b', 'a\n', 'a%2f', `${'x'.repeat(300)}`]) {
        await assert.rejects(files.put(key, Buffer.from('x')), /is not a key/, key)
        await assert.rejects(files.read(key), /is not a key/, key)
        await assert.rejects(files.stat(key), /is not a key/, key)
        await assert.rejects(files.remove(key), /is not a key/, key)
        await assert.rejects(files.copy('a', key), /is not a key|no file/, key)
        await assert.rejects(files.beginUpload(key), /is not a key/, key)
      }
      await assert.rejects(
        files.writeChunk('../../etc', streamed(Buffer.from('x')), { order: 1, offset: 0 }),
        FileNotFoundError,
      )
      await files.abandonUpload('../../etc')
      assert.deepEqual(await store.list(), [])
    })

    test('concurrent chunks in any order from two processes become the file', async (t) => {
      const { store, files } = await start(t)
      const other = await store.open()
      t.after(() => other.close())
      const bytes = randomBytes(33 * MiB + 5)
      const forms = [
        ['known', 5 * MiB],
        ['length', 6 * MiB + 1],
        ['none', 5 * MiB + 3],
      ] as const
      for (const [form, size] of usesOffsets ? forms : forms.slice(1, 2)) {
        const handle = await files.beginUpload('v/source')
        const chunks: StoredChunk[] = []
        const parts = cut(bytes, size).map((part, order) => ({ ...part, order }))
        await Promise.all(
          parts
            .toSorted(() => Math.random() - 0.5)
            .map(async ({ bytes: part, offset, order }, i) => {
              const at = form === 'none' ? undefined : offset
              const length = form === 'length' ? part.length : undefined
              const by = i % 2 ? files : other
              const chunk = await by.writeChunk(handle, streamed(part), {
                order: order + 1,
                offset: at,
                length,
              })
              assert.equal(chunk.size, part.length)
              assert.ok(part.equals(await bytesOf(await files.readChunk(handle, chunk))))
              chunks[order] = chunk
            }),
        )
        assert.equal(await files.stat('v/source'), undefined)
        assert.deepEqual(await other.finishUpload(handle, 'v/source', chunks), { size: bytes.length })
        assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))), form)
        await assert.rejects(files.readChunk(handle, chunks[0]!), FileNotFoundError)
        assert.deepEqual(await store.list(), ['v/source'], form)
        await files.remove('v')
      }
    })

    test('wrong offsets lose no byte, even if chunks overlap', async (t) => {
      const { store, files } = await start(t)
      const other = await store.open()
      t.after(() => other.close())
      const sizes = [7, 5, 9, 6, 5, 1].map((size) => size * MiB + 11)
      for (let round = 0; round < (usesOffsets ? 3 : 1); round++) {
        const parts = sizes.map((size) => randomBytes(size))
        const handle = await files.beginUpload('v/source')
        const chunks = await Promise.all(
          parts.map((part, i) =>
            (i % 2 ? files : other).writeChunk(handle, streamed(part), {
              order: i + 1,
              offset: i * sizes[round]!,
            }),
          ),
        )
        await files.finishUpload(handle, 'v/source', chunks)
        assert.ok(Buffer.concat(parts).equals(await bytesOf(await files.read('v/source'))))
        assert.deepEqual(await store.list(), ['v/source'])
      }
    })

    test('two concurrent chunks with the same offset do not damage each other', async (t) => {
      const { files } = await start(t)
      const handle = await files.beginUpload('v/source')
      const [first, second, rest] = [randomBytes(6 * MiB), randomBytes(6 * MiB), randomBytes(100)]
      const [a, b] = await Promise.all([
        files.writeChunk(handle, streamed(first), { order: 1, offset: 0 }),
        files.writeChunk(handle, streamed(second), { order: 1, offset: 0 }),
      ])
      const c = await files.writeChunk(handle, streamed(rest), { order: 2, offset: 6 * MiB })
      await files.removeChunk(handle, b)
      await files.finishUpload(handle, 'v/source', [a, c])
      assert.ok(Buffer.concat([first, rest]).equals(await bytesOf(await files.read('v/source'))))
    })

    test('a removed chunk makes room for another one', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      const [wrong, right, rest] = [randomBytes(8 * MiB), randomBytes(6 * MiB), randomBytes(3)]
      const removed = await files.writeChunk(handle, streamed(wrong), { order: 1, offset: 0 })
      await files.removeChunk(handle, removed)
      await files.removeChunk(handle, removed)
      const chunks = [
        await files.writeChunk(handle, streamed(right), { order: 1, offset: 0 }),
        await files.writeChunk(handle, streamed(rest), { order: 2, offset: 6 * MiB }),
      ]
      await files.finishUpload(handle, 'v/source', chunks)
      assert.ok(Buffer.concat([right, rest]).equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('a single chunk of any size becomes the file, with and without an offset', async (t) => {
      const { files } = await start(t)
      for (const size of [0, 1, 300_000, 9 * MiB]) {
        for (const offset of usesOffsets ? [0, undefined] : [0]) {
          const bytes = randomBytes(size)
          const handle = await files.beginUpload('v/source')
          const chunk = await files.writeChunk(handle, streamed(bytes), { order: 1, offset })
          assert.deepEqual(await files.finishUpload(handle, 'v/source', [chunk]), { size })
          assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
        }
      }
    })

    test('many tiny parts become the file', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(200_003)
      const handle = await files.beginUpload('v/source')
      const chunks: StoredChunk[] = []
      for (const [i, part] of cut(bytes, isSlow ? 5_000 : 1_000).entries()) {
        chunks.push(
          await files.writeChunk(handle, streamed(part.bytes), {
            order: i + 1,
            offset: i % 3 ? part.offset : undefined,
          }),
        )
      }
      await files.finishUpload(handle, 'v/source', chunks)
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('finishing an upload again changes nothing', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(11 * MiB)
      for (const isKnown of usesOffsets ? [true, false] : [true]) {
        const handle = await files.beginUpload('v/source')
        const chunks: StoredChunk[] = []
        for (const [i, part] of cut(bytes, 5 * MiB).entries()) {
          const offset = isKnown ? part.offset : undefined
          chunks.push(await files.writeChunk(handle, streamed(part.bytes), { order: i + 1, offset }))
        }
        const again = await store.open()
        t.after(() => again.close())
        await Promise.all([
          files.finishUpload(handle, 'v/source', chunks),
          again.finishUpload(handle, 'v/source', chunks),
        ])
        assert.deepEqual(await again.finishUpload(handle, 'v/source', chunks), { size: bytes.length })
        assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
        // Swift keeps the parts of an object that was overwritten.
        const kept = (await store.list()).filter((key) => !key.startsWith('segments/'))
        assert.deepEqual(kept, ['v/source'])
        await files.remove('v')
        await assert.rejects(files.finishUpload(handle, 'v/source', chunks), FileNotFoundError)
        assert.deepEqual(
          (await store.list()).filter((key) => !key.startsWith('segments/')),
          [],
        )
      }
    })

    test('an abandoned upload leaves nothing behind', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      await files.writeChunk(handle, streamed(randomBytes(6 * MiB)), { order: 1, offset: 0 })
      await files.writeChunk(handle, streamed(randomBytes(10)), { order: 2 })
      await files.abandonUpload(handle)
      await files.abandonUpload(handle)
      assert.deepEqual(await store.list(), [])
    })

    test('a body that breaks or is aborted leaves nothing behind', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(20 * MiB)
      await assert.rejects(files.put('v/source', cutOff(bytes, 'breaks')), { code: 'ECONNRESET' })
      assert.deepEqual(await store.list(), [])
      const handle = await files.beginUpload('v/source')
      const empty = await store.list()
      for (const offset of usesOffsets ? [0, 3 * MiB, undefined] : [0]) {
        const broken = files.writeChunk(handle, cutOff(bytes, 'breaks'), { order: 1, offset })
        await assert.rejects(broken, { code: 'ECONNRESET' })
        const end = new AbortController()
        const hung = cutOff(bytes, 'hangs', () => end.abort(new Error('canceled')))
        const waiting = files.writeChunk(handle, hung, { order: 1, offset, signal: end.signal })
        await assert.rejects(waiting, /canceled/)
        await assert.rejects(
          files.writeChunk(handle, streamed(bytes), { order: 1, offset, signal: end.signal }),
          /canceled/,
        )
        assert.deepEqual(
          (await store.list()).filter((key) => !key.endsWith('/whole')),
          empty,
        )
      }
      const chunk = await files.writeChunk(handle, streamed(bytes), { order: 1, offset: 0 })
      await files.finishUpload(handle, 'v/source', [chunk])
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('after a kill the upload can be continued, and interrupted writes have no effect', async (t) => {
      const { store, files: killed } = await start(t)
      const bytes = randomBytes(16 * MiB)
      const [first, second] = cut(bytes, 8 * MiB)
      const handle = await killed.beginUpload('v/source')
      const chunks = [await killed.writeChunk(handle, streamed(first!.bytes), { order: 1, offset: 0 })]
      // A killed process does not clean up, and neither does one that waits forever.
      const wrong = randomBytes(5 * MiB)
      const [hungChunk, hungFile] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const body = cutOff(wrong, 'hangs', hungChunk.resolve)
      void killed.writeChunk(handle, body, { order: 2, offset: 8 * MiB }).catch(() => {})
      void killed.put('v/other', cutOff(wrong, 'hangs', hungFile.resolve)).catch(() => {})
      await Promise.all([hungChunk.promise, hungFile.promise])

      const files = await store.open()
      t.after(() => files.close())
      chunks.push(await files.writeChunk(handle, streamed(second!.bytes), { order: 2, offset: 8 * MiB }))
      await files.finishUpload(handle, 'v/source', chunks)
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.equal(await files.stat('v/other'), undefined)
    })

    test('interrupted uploads and writes are listed and can be removed', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      await files.writeChunk(handle, streamed(randomBytes(6 * MiB)), { order: 1, offset: 0 })
      await files.put('v/kept', Buffer.from('x'))
      void files.put('v/other', cutOff(randomBytes(9 * MiB), 'hangs')).catch(() => {})
      // The upload, and the temporary file of the interrupted write.
      await waitFor(async () => (await Array.fromAsync(files.listUploads())).length === 2)
      await waitFor(async () => (await store.list()).length > 3)
      const found = await Array.fromAsync(files.listUploads())
      assert.ok(found.some((each) => each.handle === handle))
      for (const { modified } of found) assert.ok(Math.abs(Date.now() - modified.getTime()) < 60_000)
      assert.deepEqual(await files.abortOrphanedUploads(['v/'], new Date()), [])
      for (const each of found) await files.abandonUpload(each.handle)
      await files.abortOrphanedUploads(['v/'], inTwoHours())
      assert.deepEqual(await store.list(), ['v/kept'])
    })

    test('names are listed in order, page by page, without duplicates', async (t) => {
      const { files } = await start(t)
      const names = ['aa', 'ab', 'b0', 'b1', 'cc', 'zz', '00']
      for (const name of names) await files.put(`v/${name}/x/y`, Buffer.from('x'))
      await files.put('v/dd', Buffer.from('x'))
      await files.put('w/e', Buffer.from('x'))
      const sorted = [...names, 'dd'].sort()
      assert.deepEqual(await files.listNames('v', '', 100), sorted)
      const paged: string[] = []
      for (let page = await files.listNames('v', '', 3); page.length > 0; ) {
        assert.ok(page.length <= 3)
        paged.push(...page)
        page = await files.listNames('v', page.at(-1)!, 3)
      }
      assert.deepEqual(paged, sorted)
      assert.deepEqual(await files.listNames('none', '', 3), [])
    })
  })
}

/** By then, leases that were not renewed have expired. */
const inTwoHours = () => new Date(Date.now() + 2 * 3_600_000)

async function listFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const found = entries.filter((entry) => entry.isFile())
  return found.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort()
}

contract(
  'on disk',
  async (t) => {
    const folder = await temporaryFolder(t)
    return { open: () => openDiskFiles(folder), list: () => listFolder(folder) }
  },
  { usesOffsets: true },
)

describe('files on disk', () => {
  test('chunks with correct offsets are not copied: the finished file is the one they were written to', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    const handle = await files.beginUpload('v/source')
    const parts = cut(randomBytes(16 * MiB), 4 * MiB)
    const chunks = await Promise.all(
      parts.map(({ bytes, offset }, i) =>
        files.writeChunk(handle, streamed(bytes), { order: i + 1, offset, length: bytes.length }),
      ),
    )
    const { ino } = await stat(join(folder, '.uploads', handle, 'whole'))
    await files.finishUpload(handle, 'v/source', chunks)
    assert.equal((await stat(join(folder, 'v/source'))).ino, ino)
    assert.deepEqual(await readdir(join(folder, '.uploads')), [])
  })

  test('an interrupted writer frees its disk space', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    const handle = await files.beginUpload('v/source')
    await files.writeChunk(handle, streamed(randomBytes(MiB)), { order: 1, offset: 0 })
    await assert.rejects(
      files.writeChunk(handle, cutOff(randomBytes(9 * MiB), 'breaks'), { order: 2, offset: MiB }),
    )
    assert.equal((await stat(join(folder, '.uploads', handle, 'whole'))).size, MiB)
  })

  test('a full disk is reported as such, leaves nothing behind, and existing files stay intact', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk')
    const folder = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'kinora-test', folder], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`cannot mount a small disk: ${(error as Error).message}`)
    }
    try {
      const files = await openDiskFiles(folder)
      const kept = randomBytes(4 * MiB)
      await files.put('v/kept', kept)
      const handle = await files.beginUpload('v/source')
      const chunk = await files.writeChunk(handle, streamed(kept), { order: 1, offset: 0 })
      const before = (await listFolder(folder)).length
      const much = randomBytes(30 * MiB)
      await assert.rejects(files.put('v/much', streamed(much)), isStoreError('full'))
      await assert.rejects(files.put('v/kept', streamed(much)), isStoreError('full'))
      await assert.rejects(
        files.writeChunk(handle, streamed(much), { order: 2, offset: 4 * MiB }),
        isStoreError('full'),
      )
      await assert.rejects(files.writeChunk(handle, streamed(much), { order: 2 }), isStoreError('full'))
      assert.equal((await listFolder(folder)).length, before)
      // There is room for this only because all writes above freed their space.
      const rest = randomBytes(12 * MiB)
      const chunks = [chunk, await files.writeChunk(handle, streamed(rest), { order: 2, offset: 4 * MiB })]
      await files.finishUpload(handle, 'v/source', chunks)
      assert.ok(Buffer.concat([kept, rest]).equals(await readFile(join(folder, 'v/source'))))
      assert.ok(kept.equals(await readFile(join(folder, 'v/kept'))))
      await writeFile(join(folder, 'filler'), randomBytes(24 * MiB)).catch(() => {})
      await assert.rejects(files.check(), isStoreError('full'))
    } finally {
      execFileSync('umount', [folder])
    }
  })

  test('removing the last file removes its parent folders, and a list reports empty folders', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    for (const key of ['v/1/hls/a/0', 'v/1/hls/a/1', 'v/2/x']) await files.put(key, Buffer.from('x'))
    await files.remove('v/1/hls/a/0')
    assert.equal((await readdir(join(folder, 'v/1/hls/a'))).length, 1)
    await files.remove('v/1/hls/a/1')
    assert.deepEqual(await readdir(join(folder, 'v')), ['2'])
    await files.remove('v/2')
    assert.deepEqual(await readdir(folder), ['.uploads', 'v'])
    await mkdir(join(folder, 'v/3/a/b'), { recursive: true })
    await mkdir(join(folder, 'v/3/c'))
    const empty: string[] = []
    assert.deepEqual(await Array.fromAsync(files.list('v/3', (each) => empty.push(each))), [])
    assert.deepEqual(empty.sort(), ['v/3/a/b', 'v/3/c'])
    for (const each of empty) await files.removeEmptyFolder(each)
    assert.deepEqual(await readdir(join(folder, 'v')), [])
  })

  test('removing an empty folder while a file is stored in it loses no file', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    for (let i = 0; i < 50; i++) {
      const sweeping = (async () => {
        for (let n = 0; n < 20; n++) await files.removeEmptyFolder('v/1/hls/240p')
      })()
      await files.put('v/1/hls/240p/x', Buffer.from('x'))
      assert.equal((await files.stat('v/1/hls/240p/x'))?.size, 1)
      await files.remove('v/1/hls/240p/x')
      await sweeping
    }
  })

  test('a missing root folder, as when a disk is not mounted, is not created again', async (t) => {
    const folder = join(await temporaryFolder(t), 'files')
    const files = await openDiskFiles(folder)
    await rm(folder, { recursive: true })
    await assert.rejects(files.check(), isStoreError('unreachable'))
    await assert.rejects(files.put('v/source', Buffer.from('x')), isStoreError('unreachable'))
    await assert.rejects(files.beginUpload('v/source'), isStoreError('unreachable'))
  })

  test('a folder without write permission is reported as refused', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root can write to every folder')
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    await chmod(folder, 0o500)
    await assert.rejects(files.check(), isStoreError('refused'))
    await assert.rejects(files.put('v/source', Buffer.from('x')), isStoreError('refused'))
    await chmod(folder, 0o700)
  })
})

contract('on S3', async (t) => {
  const { folder, settings } = await startS3Store(t)
  return {
    open: async () => openS3Files(settings),
    list: async () => {
      const objects = 'buckets/videos/objects/'
      const isContent = (path: string) => path.startsWith('_multipart') || /^(?!.*check).*\.data$/.test(path)
      const found = (await listFolder(folder)).filter(isContent)
      return found.map((path) => path.replace(objects, '').replace(/\.data$/, '')).sort()
    },
  }
})

// One Swift for all tests, because its four processes take seconds of CPU to start. Each test has its own bucket.
let swift: Promise<Swift> | undefined
const swiftEnds: (() => unknown)[] = []
after(async () => {
  for (const end of swiftEnds) await end()
})

async function startOnSwift() {
  swift ??= startSwift({ after: (end) => swiftEnds.push(end) })
  const store = await swift
  const bucket = await store.createBucket()
  return { store, settings: { ...store.keys, endpoint: store.endpoint, bucket } }
}

contract(
  'on Swift',
  async () => {
    const { store, settings } = await startOnSwift()
    return { open: async () => openS3Files(settings), list: () => store.list(settings.bucket) }
  },
  { skip: lacksSwift, isSlow: true },
)

describe('files on Swift', { skip: lacksSwift }, () => {
  test('a signed URL returns the file, complete or by range, with the requested headers', async (t) => {
    const { settings } = await startOnSwift()
    const files = openS3Files({ ...settings, isRedirecting: true })
    t.after(() => files.close())
    const bytes = randomBytes(9 * MiB)
    await files.put('v/a', streamed(bytes))
    const headers = { type: 'video/mp4', cacheControl: 'private, max-age=5', disposition: 'attachment' }
    const url = (await files.signedUrl?.('v/a', headers)) ?? ''
    const complete = await fetch(url)
    assert.deepEqual(
      ['content-type', 'cache-control', 'content-disposition'].map((name) => complete.headers.get(name)),
      ['video/mp4', 'private, max-age=5', 'attachment'],
    )
    assert.ok(bytes.equals(Buffer.from(await complete.arrayBuffer())))
    const part = await fetch(url, { headers: { range: 'bytes=8388600-8388700' } })
    assert.equal(part.status, 206)
    assert.ok(bytes.subarray(8_388_600, 8_388_701).equals(Buffer.from(await part.arrayBuffer())))
    assert.equal((await fetch(url.replace('v/a', 'v/b'))).status, 403)
  })

  test('a body with a signed hash is accepted', async (t) => {
    const { settings } = await startOnSwift()
    const files = openS3Files({ ...settings, endpoint: settings.endpoint.replace('127.0.0.1', '0.0.0.0') })
    t.after(() => files.close())
    const bytes = randomBytes(9 * MiB)
    await files.put('v/a', streamed(bytes))
    assert.ok(bytes.equals(await bytesOf(await files.read('v/a'))))
  })

  test('a killed store loses nothing: readers wait for it, and writers can try again', async (t) => {
    const { store, settings } = await startOnSwift()
    // Swift takes seconds to start.
    const files = openS3Files({ ...settings, limits: { totalMs: timeoutMs } })
    t.after(() => files.close())
    const bytes = randomBytes(24 * MiB)
    const [first, second] = cut(bytes, 12 * MiB)
    const handle = await files.beginUpload('v/source')
    const chunks = [await files.writeChunk(handle, streamed(first!.bytes), { order: 1, offset: 0 })]
    const stream = await files.readChunk(handle, chunks[0]!)
    await once(stream, 'readable')
    async function* body() {
      yield* streamed(second!.bytes.subarray(0, 9 * MiB))
      await waitFor(async () => (await store.list(settings.bucket)).some((key) => key.includes('/lease-')))
      await store.kill()
      yield* streamed(second!.bytes.subarray(9 * MiB))
    }
    await assert.rejects(files.writeChunk(handle, body(), { order: 2 }), isStoreError('unreachable'))
    const read = bytesOf(stream)
    await store.start()
    assert.ok(first!.bytes.equals(await read))
    chunks.push(await files.writeChunk(handle, streamed(second!.bytes), { order: 2 }))
    await files.finishUpload(handle, 'v/source', chunks)
    assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
    // The store was gone when the first attempt should have been aborted.
    await files.abortOrphanedUploads(['v'], new Date(Date.now() + 3_600_000))
    assert.deepEqual(await store.list(settings.bucket), ['v/source'])
  })
})

describe('files on S3', () => {
  test('a store that is unreachable, denies access, has no bucket, fails or is full is reported as such', async (t) => {
    const { settings } = await startS3Store(t)
    const failure = { status: 500, code: 'InternalError' }
    let requests = 0
    const failing = createServer((request, response) => {
      requests++
      request.resume().on('end', () => {
        response.writeHead(failure.status, { 'content-type': 'application/xml' })
        response.end(request.method === 'HEAD' ? '' : `<Error><Code>${failure.code}</Code></Error>`)
      })
    }).listen(0, '127.0.0.1')
    await once(failing, 'listening')
    t.after(() => failing.close())
    const endpoint = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`

    const check = async (changes: Partial<typeof settings>, kind: FileStoreError['kind']) => {
      const files = openS3Files({ ...settings, ...changes })
      requests = 0
      await assert.rejects(files.check(), isStoreError(kind))
      await assert.rejects(files.put('v/a', Buffer.from('x')), isStoreError(kind))
      await assert.rejects(files.put('v/a', streamed(randomBytes(20 * MiB))), isStoreError(kind))
      await assert.rejects(files.read('v/a'), isStoreError(kind))
      const handle = await files.beginUpload('v/source')
      await assert.rejects(
        files.writeChunk(handle, streamed(randomBytes(10)), { order: 1, offset: 0 }),
        isStoreError(kind),
      )
      // Five operations and the clean-up after a chunk, with three attempts each.
      assert.ok(requests <= 18, `${requests} requests`)
      await files.close()
    }
    await check({ endpoint: 'http://127.0.0.1:1' }, 'unreachable')
    await check({ endpoint: 'http://no-such-host.invalid' }, 'unreachable')
    await check({ bucket: 'another' }, 'refused')
    await check({ endpoint }, 'unreachable')
    Object.assign(failure, { status: 403, code: 'AccessDenied' })
    await check({ endpoint }, 'refused')
    Object.assign(failure, { status: 507, code: 'XMinioStorageFull' })
    await check({ endpoint }, 'full')
  })

  test('a signed URL returns the file and asks for the requested headers', async (t) => {
    const { settings } = await startS3Store(t)
    const closed = openS3Files(settings)
    t.after(() => closed.close())
    assert.equal(closed.signedUrl, undefined)
    const files = openS3Files({ ...settings, isRedirecting: true })
    t.after(() => files.close())
    const bytes = randomBytes(1000)
    await files.put('v/a', bytes)
    const headers = { type: 'video/mp4', cacheControl: 'private, max-age=5', disposition: 'attachment' }
    const url = new URL((await files.signedUrl?.('v/a', headers)) ?? '')
    assert.ok(bytes.equals(Buffer.from(await (await fetch(url)).arrayBuffer())))
    // The store of the tests ignores the requested headers.
    assert.deepEqual(
      ['type', 'cache-control', 'disposition'].map(
        (name) =>
          url.searchParams.get(`response-content-${name}`) ?? url.searchParams.get(`response-${name}`),
      ),
      ['video/mp4', 'private, max-age=5', 'attachment'],
    )
    assert.throws(() => files.signedUrl?.('../a', headers), /is not a key/)
  })

  test('a store that disappears during a body is reported, and its orphans are removed later', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const handle = await files.beginUpload('v/source')
    async function* body() {
      yield* streamed(randomBytes(17 * MiB))
      await waitFor(async () =>
        (await listFolder(store.folder)).some((path) => path.endsWith('parts/2.data')),
      )
      await store.stop()
      yield* streamed(randomBytes(17 * MiB))
    }
    await assert.rejects(
      files.writeChunk(handle, body(), { order: 1, offset: 0 }),
      isStoreError('unreachable'),
    )
    await store.restart()
    await files.abandonUpload(handle)
    await files.abortOrphanedUploads([], inTwoHours())
    assert.deepEqual(
      (await listFolder(store.folder)).filter((path) => /_multipart|uploads/.test(path)),
      [],
    )
  })

  test('a multipart upload whose lease is renewed is never aborted, however old it is', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const { promise: go, resolve } = Promise.withResolvers<void>()
    const bytes = randomBytes(10 * MiB)
    async function* body() {
      yield* streamed(bytes)
      await go
    }
    const put = files.put('v/long', body())
    await waitFor(async () => (await store.openUploads()).length === 1)
    await waitFor(async () => (await Array.fromAsync(files.listUploads())).length === 1)
    // The upload is two hours old now, and its lease was renewed since.
    store.backdateUploads(2 * 3_600_000)
    assert.deepEqual(await files.abortOrphanedUploads(['v/'], new Date()), [])
    resolve()
    await put
    assert.ok(bytes.equals(await bytesOf(await files.read('v/long'))))
    assert.deepEqual(await Array.fromAsync(files.listUploads()), [])
  })

  test('orphaned multipart uploads are aborted once they are old, and others are left alone', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const client = new S3Client({
      endpoint: store.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    t.after(() => client.destroy())
    const ours = ['v/a', 'v/a', 'v/b', '.uploads/x/piece', 'v/c']
    for (const Key of [...ours, 'elsewhere/a']) {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: 'videos', Key }))
      const part = { Bucket: 'videos', Key, UploadId, PartNumber: 1, Body: Buffer.from('x') }
      await client.send(new UploadPartCommand(part))
    }
    assert.deepEqual(await files.abortOrphanedUploads(['v/'], new Date()), [])
    store.backdateUploads(2 * 3_600_000)
    assert.deepEqual((await files.abortOrphanedUploads(['v/'], new Date())).sort(), ours.sort())
    assert.deepEqual(await store.openUploads(), ['elsewhere/a'])
  })

  /** Requests that a test holds or counts must not time out, however slow the machine is. */
  const longLimits = { idleMs: timeoutMs, totalMs: timeoutMs }
  const isPart = (method: string, path: string) => method === 'PUT' && path.includes('partNumber=')
  const isAbort = ({ method, path }: { method: string; path: string }) =>
    method === 'DELETE' && path.includes('uploadId=')

  test('a multipart upload is aborted only after its requests have ended', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files({ ...store.settings, limits: longLimits })
    t.after(() => files.close())
    const held = () => store.requests.filter(({ state, path }) => state === 'held' && isPart('PUT', path))
    for (const end of ['breaks', 'is canceled'] as const) {
      store.requests.length = 0
      const release = store.hold(isPart)
      const given = new AbortController()
      const bothHeld = waitFor(() => held().length === 2)
      async function* body() {
        yield* streamed(randomBytes(17 * MiB))
        await bothHeld
        if (end === 'breaks') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
        given.abort(new Error('canceled'))
        await new Promise((done) => hanging.push(done))
      }
      const handle = await files.beginUpload('v/source')
      const writing = files.writeChunk(handle, body(), { order: 1, offset: 0, signal: given.signal })
      writing.catch(() => {})
      await bothHeld
      // Another request has succeeded, so an abort could have been sent by now.
      await files.put('v/other', Buffer.from('x'))
      assert.ok(!store.requests.some(isAbort), 'aborted while its parts were being sent')
      release()
      await assert.rejects(writing, /aborted|canceled/)
      assert.ok(store.requests.some(isAbort))
      assert.deepEqual(await store.openUploads(), [])
      assert.deepEqual(await Array.fromAsync(files.listUploads()), [])
    }
  })

  test('a part that is stored after the abort is aborted again', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files({ ...store.settings, limits: longLimits })
    t.after(() => files.close())
    // As in S3: an abort removes the existing parts, and a pending part is stored afterwards.
    store.ignoreAborts(2)
    await assert.rejects(files.put('v/source', cutOff(randomBytes(17 * MiB), 'breaks')), {
      code: 'ECONNRESET',
    })
    assert.equal(store.requests.filter(isAbort).length, 3)
    assert.deepEqual(await store.openUploads(), [])
  })

  test('an upload that is abandoned while its parts are joined leaves no part and no file', async (t) => {
    const store = await startS3Store(t)
    const longSettings = { ...store.settings, limits: longLimits }
    const [files, other] = [openS3Files(longSettings), openS3Files(longSettings)]
    t.after(() => Promise.all([files.close(), other.close()]))
    const handle = await files.beginUpload('v/source')
    const parts = cut(randomBytes(18 * MiB), 6 * MiB)
    const chunks = await Promise.all(
      parts.map(({ bytes, offset }, i) =>
        files.writeChunk(handle, streamed(bytes), { order: i + 1, offset }),
      ),
    )
    const release = store.hold(isPart)
    store.requests.length = 0
    const joining = files.finishUpload(handle, 'v/source', chunks)
    joining.catch(() => {})
    await waitFor(() => store.requests.filter(({ method, path }) => isPart(method, path)).length === 3)
    await other.abandonUpload(handle)
    assert.ok(!store.requests.some(isAbort), 'aborted while parts were being copied')
    release()
    await assert.rejects(joining, FileNotFoundError)
    assert.deepEqual(await store.openUploads(), [])
    assert.deepEqual(await listFolder(join(store.folder, 'buckets/videos/objects')), [])
  })

  test('the store is never asked to copy a part below 5 MiB, which some stores refuse', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const contents = [randomBytes(6 * MiB), randomBytes(100)]
    const handle = await files.beginUpload('v/source')
    const chunks: StoredChunk[] = []
    for (const [order, content] of contents.entries())
      chunks.push(await files.writeChunk(handle, streamed(content), { order }))
    await files.finishUpload(handle, 'v/source', chunks)
    assert.deepEqual(await bytesOf(await files.read('v/source')), Buffer.concat(contents))
    const parts = store.requests.filter(
      ({ method, path }) => method === 'PUT' && path.includes('partNumber='),
    )
    const copied = parts.filter(({ isCopy }) => isCopy).map(({ path }) => /partNumber=(\d+)/.exec(path)?.[1])
    assert.deepEqual(copied, ['1'])
  })

  test('parts are never too small or too large, and together they form the file', () => {
    const rounds: [sizes: number[], min: number, max: number][] = [
      [[], 5, 100],
      [[3], 5, 100],
      [[1, 1, 1], 5, 100],
      [[5, 5, 2], 5, 100],
      [[1, 30, 1], 5, 10],
      [[4, 6, 4, 6, 1], 5, 100],
      [[250, 3, 101, 0, 9, 1], 5, 100],
    ]
    for (let i = 0; i < 500; i++) {
      const sizes = Array.from({ length: 1 + (i % 9) }, () => Math.floor(Math.random() ** 3 * 60))
      rounds.push([sizes, 5, 20])
    }
    for (const [sizes, min, max] of rounds) {
      const chunks = sizes.map((size, i) => ({ location: String(i), size }))
      const plan = planParts(chunks, min, max)
      const lengthOf = (part: Part) => part.reduce((sum, { from, to }) => sum + to - from + 1, 0)
      const details = `${sizes} -> ${JSON.stringify(plan)}`
      for (const part of plan.slice(0, -1)) assert.ok(lengthOf(part) >= min, details)
      for (const part of plan) assert.ok(lengthOf(part) > 0 && lengthOf(part) <= max, details)
      const bytes = plan.flat().flatMap(({ location, from, to }) => span(location, from, to))
      assert.deepEqual(
        bytes,
        chunks.flatMap(({ location, size }) => span(location, 0, size - 1)),
        details,
      )
    }
  })
})

const span = (location: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `${location}:${from + i}`)
