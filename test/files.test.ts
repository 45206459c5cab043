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
import { openDiskFiles } from '../server/lib/files/disk.ts'
import { FileMissing, type Files, FilesProblem, type Piece } from '../server/lib/files/files.ts'
import { openS3Files } from '../server/lib/files/s3.ts'
import { type Part, planParts } from '../server/lib/files/s3-plan.ts'
import { patienceMs, temporaryFolder, waitFor } from './harness.ts'
import { startS3Store } from './s3-store.ts'
import { lacksSwift, type Swift, startSwift } from './swift.ts'

const MiB = 1024 * 1024

/** A store of its own, empty; each `open` is another process to it. */
type Store = {
  open(): Promise<Files>
  /** Everything that is stored, as keys; what belongs to no finished file included. */
  list(): Promise<string[]>
}

async function* streamed(bytes: Buffer, chunk = 64 * 1024): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}

/** Held, as what nobody can wake any more is collected, its files with it. */
const hanging: unknown[] = []

/** Some bytes, then it breaks like a connection, or says nothing more. */
async function* cutOff(bytes: Buffer, end: 'breaks' | 'hangs'): AsyncGenerator<Buffer> {
  yield* streamed(bytes)
  if (end === 'breaks') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  await new Promise((done) => hanging.push(done))
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const isProblem = (kind: FilesProblem['kind']) => (error: unknown) => {
  assert.ok(error instanceof FilesProblem, String(error))
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
  /** Pieces are placed by their offsets, so all forms of them are tried. */
  usesOffsets?: boolean
  /** Fewer pieces. */
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
    test('a file comes back as it was put, whole or by range', async (t) => {
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

    test('a small file is held at hand, the same for all; others are not', async (t) => {
      const { files } = await start(t)
      const bytes = randomBytes(100_000)
      await files.put('a/small', bytes)
      await files.put('a/large', randomBytes(5 * MiB))
      const [one, two] = await Promise.all([
        files.hold('a/small', 100_000, true),
        files.hold('a/small', 100_000, true),
      ])
      assert.ok(one && one.value === two?.value)
      assert.ok((Buffer.isBuffer(one.value) ? one.value : readFileSync(one.value)).equals(bytes))
      assert.equal(await files.hold('a/large', 5 * MiB, true), undefined)
      const other = await files.hold('a/small', 100_000, false)
      assert.ok(other === undefined || Buffer.isBuffer(other.value), 'a descriptor is of no use')
      await files.put('a/other', bytes)
      assert.equal(await files.hold('a/other', 100_001, true), undefined, 'shorter than it should be')
      await assert.rejects(files.hold('a/none', 10, true), FileMissing)
      await assert.rejects(files.hold('../a', 10, true), /is not a key/)
    })

    test('what is not there is missing, and may be removed', async (t) => {
      const { files } = await start(t)
      await files.put('videos/vi1/source', Buffer.from('x'))
      assert.equal(await files.stat('videos/vi2/source'), undefined)
      assert.equal(await files.stat('videos/vi1'), undefined)
      assert.equal(await files.stat('videos/vi1/source/below'), undefined)
      for (const key of ['videos/vi2/source', 'videos/vi1', 'videos/vi1/source/below']) {
        await assert.rejects(files.read(key), FileMissing)
      }
      await assert.rejects(files.read('videos/vi2/source', { from: 0, to: 1 }), FileMissing)
      await assert.rejects(files.copy('videos/vi2/source', 'videos/vi3/source'), FileMissing)
      await files.remove('videos/vi2')
    })

    test('listing and removing take the file or all below, and nothing beside', async (t) => {
      const { store, files } = await start(t)
      for (const key of ['a/1/x', 'a/1/y/z', 'a/10/x', 'b']) await files.put(key, Buffer.from(key))
      assert.deepEqual((await Array.fromAsync(files.list('a/1'))).sort(), ['a/1/x', 'a/1/y/z'])
      assert.deepEqual(await Array.fromAsync(files.list('c')), [])
      await files.remove('a/1')
      assert.deepEqual(await store.list(), ['a/10/x', 'b'])
      await files.remove('b')
      assert.deepEqual(await store.list(), ['a/10/x'])
    })

    test('a copy is a file of its own', async (t) => {
      const { files } = await start(t)
      const bytes = randomBytes(3 * MiB)
      await files.put('a/source', bytes)
      await files.copy('a/source', 'b/source')
      await files.remove('a')
      assert.ok(bytes.equals(await bytesOf(await files.read('b/source'))))
    })

    test('keys that are none are refused by everything', async (t) => {
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
      await assert.rejects(files.writePiece('../../etc', 1, 0, streamed(Buffer.from('x'))), FileMissing)
      await files.abandonUpload('../../etc')
      assert.deepEqual(await store.list(), [])
    })

    test('pieces in any order, at once, from two processes become the file', async (t) => {
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
        const pieces: Piece[] = []
        const parts = cut(bytes, size).map((part, order) => ({ ...part, order }))
        await Promise.all(
          parts
            .toSorted(() => Math.random() - 0.5)
            .map(async ({ bytes: part, offset, order }, i) => {
              const at = form === 'none' ? undefined : offset
              const length = form === 'length' ? part.length : undefined
              const by = i % 2 ? files : other
              const piece = await by.writePiece(handle, order + 1, at, streamed(part), undefined, length)
              assert.equal(piece.size, part.length)
              assert.ok(part.equals(await bytesOf(await files.readPiece(handle, piece))))
              pieces[order] = piece
            }),
        )
        assert.equal(await files.stat('v/source'), undefined)
        assert.deepEqual(await other.finishUpload(handle, 'v/source', pieces), { size: bytes.length })
        assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))), form)
        await assert.rejects(files.readPiece(handle, pieces[0]!), FileMissing)
        assert.deepEqual(await store.list(), ['v/source'], form)
        await files.remove('v')
      }
    })

    test('offsets that were guessed wrong cost no byte, though pieces overlap', async (t) => {
      const { store, files } = await start(t)
      const other = await store.open()
      t.after(() => other.close())
      const sizes = [7, 5, 9, 6, 5, 1].map((size) => size * MiB + 11)
      for (let round = 0; round < (usesOffsets ? 3 : 1); round++) {
        const parts = sizes.map((size) => randomBytes(size))
        const handle = await files.beginUpload('v/source')
        const pieces = await Promise.all(
          parts.map((part, i) =>
            (i % 2 ? files : other).writePiece(handle, i + 1, i * sizes[round]!, streamed(part), undefined),
          ),
        )
        await files.finishUpload(handle, 'v/source', pieces)
        assert.ok(Buffer.concat(parts).equals(await bytesOf(await files.read('v/source'))))
        assert.deepEqual(await store.list(), ['v/source'])
      }
    })

    test('two at once in the same place do not harm each other', async (t) => {
      const { files } = await start(t)
      const handle = await files.beginUpload('v/source')
      const [first, second, rest] = [randomBytes(6 * MiB), randomBytes(6 * MiB), randomBytes(100)]
      const [a, b] = await Promise.all([
        files.writePiece(handle, 1, 0, streamed(first)),
        files.writePiece(handle, 1, 0, streamed(second)),
      ])
      const c = await files.writePiece(handle, 2, 6 * MiB, streamed(rest))
      await files.removePiece(handle, b)
      await files.finishUpload(handle, 'v/source', [a, c])
      assert.ok(Buffer.concat([first, rest]).equals(await bytesOf(await files.read('v/source'))))
    })

    test('a removed piece makes room for another one', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      const [wrong, right, rest] = [randomBytes(8 * MiB), randomBytes(6 * MiB), randomBytes(3)]
      const refused = await files.writePiece(handle, 1, 0, streamed(wrong))
      await files.removePiece(handle, refused)
      await files.removePiece(handle, refused)
      const pieces = [
        await files.writePiece(handle, 1, 0, streamed(right)),
        await files.writePiece(handle, 2, 6 * MiB, streamed(rest)),
      ]
      await files.finishUpload(handle, 'v/source', pieces)
      assert.ok(Buffer.concat([right, rest]).equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('one piece alone, of any size, known offset or not', async (t) => {
      const { files } = await start(t)
      for (const size of [0, 1, 300_000, 9 * MiB]) {
        for (const offset of usesOffsets ? [0, undefined] : [0]) {
          const bytes = randomBytes(size)
          const handle = await files.beginUpload('v/source')
          const piece = await files.writePiece(handle, 1, offset, streamed(bytes))
          assert.deepEqual(await files.finishUpload(handle, 'v/source', [piece]), { size })
          assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
        }
      }
    })

    test('many tiny parts', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(200_003)
      const handle = await files.beginUpload('v/source')
      const pieces: Piece[] = []
      for (const [i, part] of cut(bytes, isSlow ? 5_000 : 1_000).entries()) {
        pieces.push(
          await files.writePiece(handle, i + 1, i % 3 ? part.offset : undefined, streamed(part.bytes)),
        )
      }
      await files.finishUpload(handle, 'v/source', pieces)
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('finishing again changes nothing', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(11 * MiB)
      for (const isKnown of usesOffsets ? [true, false] : [true]) {
        const handle = await files.beginUpload('v/source')
        const pieces: Piece[] = []
        for (const [i, part] of cut(bytes, 5 * MiB).entries()) {
          const offset = isKnown ? part.offset : undefined
          pieces.push(await files.writePiece(handle, i + 1, offset, streamed(part.bytes)))
        }
        const again = await store.open()
        t.after(() => again.close())
        await Promise.all([
          files.finishUpload(handle, 'v/source', pieces),
          again.finishUpload(handle, 'v/source', pieces),
        ])
        assert.deepEqual(await again.finishUpload(handle, 'v/source', pieces), { size: bytes.length })
        assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
        // Swift keeps the parts of an object that another one has replaced.
        const kept = (await store.list()).filter((key) => !key.startsWith('segments/'))
        assert.deepEqual(kept, ['v/source'])
        await files.remove('v')
        await assert.rejects(files.finishUpload(handle, 'v/source', pieces), FileMissing)
        assert.deepEqual(
          (await store.list()).filter((key) => !key.startsWith('segments/')),
          [],
        )
      }
    })

    test('an abandoned upload leaves nothing and takes nothing more', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      await files.writePiece(handle, 1, 0, streamed(randomBytes(6 * MiB)))
      await files.writePiece(handle, 2, undefined, streamed(randomBytes(10)))
      await files.abandonUpload(handle)
      await files.abandonUpload(handle)
      assert.deepEqual(await store.list(), [])
    })

    test('a body that breaks, or that is given up, leaves nothing behind', async (t) => {
      const { store, files } = await start(t)
      const bytes = randomBytes(20 * MiB)
      await assert.rejects(files.put('v/source', cutOff(bytes, 'breaks')), { code: 'ECONNRESET' })
      assert.deepEqual(await store.list(), [])
      const handle = await files.beginUpload('v/source')
      const empty = await store.list()
      for (const offset of usesOffsets ? [0, 3 * MiB, undefined] : [0]) {
        const broken = files.writePiece(handle, 1, offset, cutOff(bytes, 'breaks'))
        await assert.rejects(broken, { code: 'ECONNRESET' })
        const end = new AbortController()
        const waiting = files.writePiece(handle, 1, offset, cutOff(bytes, 'hangs'), end.signal)
        setTimeout(() => end.abort(new Error('given up')), 50)
        await assert.rejects(waiting, /given up/)
        await assert.rejects(files.writePiece(handle, 1, offset, streamed(bytes), end.signal), /given up/)
        assert.deepEqual(
          (await store.list()).filter((key) => !key.endsWith('/whole')),
          empty,
        )
      }
      const piece = await files.writePiece(handle, 1, 0, streamed(bytes))
      await files.finishUpload(handle, 'v/source', [piece])
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.deepEqual(await store.list(), ['v/source'])
    })

    test('after a kill in the middle the upload goes on, and what was cut off does not show', async (t) => {
      const { store, files: killed } = await start(t)
      const bytes = randomBytes(16 * MiB)
      const [first, second] = cut(bytes, 8 * MiB)
      const handle = await killed.beginUpload('v/source')
      const pieces = [await killed.writePiece(handle, 1, 0, streamed(first!.bytes))]
      // A process that is killed does not clear away: neither does one that waits for ever.
      const wrong = randomBytes(5 * MiB)
      void killed.writePiece(handle, 2, 8 * MiB, cutOff(wrong, 'hangs')).catch(() => {})
      void killed.put('v/other', cutOff(wrong, 'hangs')).catch(() => {})
      await new Promise((done) => setTimeout(done, 100))

      const files = await store.open()
      t.after(() => files.close())
      pieces.push(await files.writePiece(handle, 2, 8 * MiB, streamed(second!.bytes)))
      await files.finishUpload(handle, 'v/source', pieces)
      assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
      assert.equal(await files.stat('v/other'), undefined)
    })

    test('what nobody has written to is found and cleared away', async (t) => {
      const { store, files } = await start(t)
      const handle = await files.beginUpload('v/source')
      await files.writePiece(handle, 1, 0, streamed(randomBytes(6 * MiB)))
      await files.put('v/kept', Buffer.from('x'))
      void files.put('v/other', cutOff(randomBytes(9 * MiB), 'hangs')).catch(() => {})
      // The upload, and what is left of the write that was cut off.
      await waitFor(async () => (await Array.fromAsync(files.listUploads())).length === 2)
      await waitFor(async () => (await store.list()).length > 3)
      const found = await Array.fromAsync(files.listUploads())
      assert.ok(found.some((each) => each.handle === handle))
      for (const { modified } of found) assert.ok(Math.abs(Date.now() - modified.getTime()) < 60_000)
      assert.deepEqual(await files.abortUnfinished(['v/'], new Date()), [])
      for (const each of found) await files.abandonUpload(each.handle)
      await files.abortUnfinished(['v/'], inTwoHours())
      assert.deepEqual(await store.list(), ['v/kept'])
    })

    test('names are listed in order, page by page, each once', async (t) => {
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

/** When leases that were not renewed have expired. */
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
  test('pieces that lie as they should are not copied: the file is the one they were written to', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    const handle = await files.beginUpload('v/source')
    const parts = cut(randomBytes(16 * MiB), 4 * MiB)
    const pieces = await Promise.all(
      parts.map(({ bytes, offset }, i) =>
        files.writePiece(handle, i + 1, offset, streamed(bytes), undefined, bytes.length),
      ),
    )
    const { ino } = await stat(join(folder, '.uploads', handle, 'whole'))
    await files.finishUpload(handle, 'v/source', pieces)
    assert.equal((await stat(join(folder, 'v/source'))).ino, ino)
    assert.deepEqual(await readdir(join(folder, '.uploads')), [])
  })

  test('a writer that is cut off gives its space back', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    const handle = await files.beginUpload('v/source')
    await files.writePiece(handle, 1, 0, streamed(randomBytes(MiB)))
    await assert.rejects(files.writePiece(handle, 2, MiB, cutOff(randomBytes(9 * MiB), 'breaks')))
    assert.equal((await stat(join(folder, '.uploads', handle, 'whole'))).size, MiB)
  })

  test('a full disk is told as such, leaves nothing behind, and what was there before is whole', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk')
    const folder = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'kinora-test', folder], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`no small disk can be mounted here: ${(error as Error).message}`)
    }
    try {
      const files = await openDiskFiles(folder)
      const kept = randomBytes(4 * MiB)
      await files.put('v/kept', kept)
      const handle = await files.beginUpload('v/source')
      const piece = await files.writePiece(handle, 1, 0, streamed(kept))
      const before = (await listFolder(folder)).length
      const much = randomBytes(30 * MiB)
      await assert.rejects(files.put('v/much', streamed(much)), isProblem('full'))
      await assert.rejects(files.put('v/kept', streamed(much)), isProblem('full'))
      await assert.rejects(files.writePiece(handle, 2, 4 * MiB, streamed(much)), isProblem('full'))
      await assert.rejects(files.writePiece(handle, 2, undefined, streamed(much)), isProblem('full'))
      assert.equal((await listFolder(folder)).length, before)
      // Room for this is there only because all of the above gave theirs back.
      const rest = randomBytes(12 * MiB)
      const pieces = [piece, await files.writePiece(handle, 2, 4 * MiB, streamed(rest))]
      await files.finishUpload(handle, 'v/source', pieces)
      assert.ok(Buffer.concat([kept, rest]).equals(await readFile(join(folder, 'v/source'))))
      assert.ok(kept.equals(await readFile(join(folder, 'v/kept'))))
      await writeFile(join(folder, 'filler'), randomBytes(24 * MiB)).catch(() => {})
      await assert.rejects(files.check(), isProblem('full'))
    } finally {
      execFileSync('umount', [folder])
    }
  })

  test('removing the last file removes the folders above it, and a list reports folders that are empty', async (t) => {
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

  test('a folder that is removed as empty while files are stored in it costs no file', async (t) => {
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

  test('a folder that is gone, as when a disk is not mounted, is not made anew', async (t) => {
    const folder = join(await temporaryFolder(t), 'files')
    const files = await openDiskFiles(folder)
    await rm(folder, { recursive: true })
    await assert.rejects(files.check(), isProblem('unreachable'))
    await assert.rejects(files.put('v/source', Buffer.from('x')), isProblem('unreachable'))
    await assert.rejects(files.beginUpload('v/source'), isProblem('unreachable'))
  })

  test('a folder that may not be written to refuses', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root may write everywhere')
    const folder = await temporaryFolder(t)
    const files = await openDiskFiles(folder)
    await chmod(folder, 0o500)
    await assert.rejects(files.check(), isProblem('refused'))
    await assert.rejects(files.put('v/source', Buffer.from('x')), isProblem('refused'))
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

// One for all tests, as its four processes take seconds of CPU to start; each test has a bucket of its own.
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
  test('an address of the store gives out the file, whole or by range, with the headers it was told', async (t) => {
    const { settings } = await startOnSwift()
    const files = openS3Files({ ...settings, isRedirecting: true })
    t.after(() => files.close())
    const bytes = randomBytes(9 * MiB)
    await files.put('v/a', streamed(bytes))
    const answer = { type: 'video/mp4', cacheControl: 'private, max-age=5', disposition: 'attachment' }
    const address = (await files.addressOf?.('v/a', answer)) ?? ''
    const whole = await fetch(address)
    assert.deepEqual(
      ['content-type', 'cache-control', 'content-disposition'].map((name) => whole.headers.get(name)),
      ['video/mp4', 'private, max-age=5', 'attachment'],
    )
    assert.ok(bytes.equals(Buffer.from(await whole.arrayBuffer())))
    const part = await fetch(address, { headers: { range: 'bytes=8388600-8388700' } })
    assert.equal(part.status, 206)
    assert.ok(bytes.subarray(8_388_600, 8_388_701).equals(Buffer.from(await part.arrayBuffer())))
    assert.equal((await fetch(address.replace('v/a', 'v/b'))).status, 403)
  })

  test('a body whose hash is signed is taken', async (t) => {
    const { settings } = await startOnSwift()
    const files = openS3Files({ ...settings, endpoint: settings.endpoint.replace('127.0.0.1', '0.0.0.0') })
    t.after(() => files.close())
    const bytes = randomBytes(9 * MiB)
    await files.put('v/a', streamed(bytes))
    assert.ok(bytes.equals(await bytesOf(await files.read('v/a'))))
  })

  test('a store that is killed loses nothing: readers wait for it, writers come back', async (t) => {
    const { store, settings } = await startOnSwift()
    // It takes seconds to start.
    const files = openS3Files({ ...settings, limits: { giveUpMs: patienceMs } })
    t.after(() => files.close())
    const bytes = randomBytes(24 * MiB)
    const [first, second] = cut(bytes, 12 * MiB)
    const handle = await files.beginUpload('v/source')
    const pieces = [await files.writePiece(handle, 1, 0, streamed(first!.bytes))]
    const stream = await files.readPiece(handle, pieces[0]!)
    await once(stream, 'readable')
    async function* body() {
      yield* streamed(second!.bytes.subarray(0, 9 * MiB))
      await waitFor(async () => (await store.list(settings.bucket)).some((key) => key.includes('/lease-')))
      await store.kill()
      yield* streamed(second!.bytes.subarray(9 * MiB))
    }
    await assert.rejects(files.writePiece(handle, 2, undefined, body()), isProblem('unreachable'))
    const read = bytesOf(stream)
    await store.start()
    assert.ok(first!.bytes.equals(await read))
    pieces.push(await files.writePiece(handle, 2, undefined, streamed(second!.bytes)))
    await files.finishUpload(handle, 'v/source', pieces)
    assert.ok(bytes.equals(await bytesOf(await files.read('v/source'))))
    assert.deepEqual(await store.list(settings.bucket), ['v/source'])
  })
})

describe('files on S3', () => {
  test('a store that cannot be reached, refuses, lacks the bucket, fails or is full is told as such', async (t) => {
    const { settings } = await startS3Store(t)
    const answer = { status: 500, code: 'InternalError' }
    const failing = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(answer.status, { 'content-type': 'application/xml' })
        response.end(request.method === 'HEAD' ? '' : `<Error><Code>${answer.code}</Code></Error>`)
      })
    }).listen(0, '127.0.0.1')
    await once(failing, 'listening')
    t.after(() => failing.close())
    const endpoint = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`

    const check = async (changes: Partial<typeof settings>, kind: FilesProblem['kind']) => {
      const files = openS3Files({ ...settings, ...changes })
      const started = Date.now()
      await assert.rejects(files.check(), isProblem(kind))
      await assert.rejects(files.put('v/a', Buffer.from('x')), isProblem(kind))
      await assert.rejects(files.put('v/a', streamed(randomBytes(20 * MiB))), isProblem(kind))
      await assert.rejects(files.read('v/a'), isProblem(kind))
      const handle = await files.beginUpload('v/source')
      await assert.rejects(files.writePiece(handle, 1, 0, streamed(randomBytes(10))), isProblem(kind))
      assert.ok(Date.now() - started < 60_000, 'tried for too long')
      await files.close()
    }
    await check({ endpoint: 'http://127.0.0.1:1' }, 'unreachable')
    await check({ endpoint: 'http://no-such-host.invalid' }, 'unreachable')
    await check({ bucket: 'another' }, 'refused')
    await check({ endpoint }, 'unreachable')
    Object.assign(answer, { status: 403, code: 'AccessDenied' })
    await check({ endpoint }, 'refused')
    Object.assign(answer, { status: 507, code: 'XMinioStorageFull' })
    await check({ endpoint }, 'full')
  })

  test('an address of the store gives out the file, and says of it what it was told to', async (t) => {
    const { settings } = await startS3Store(t)
    const closed = openS3Files(settings)
    t.after(() => closed.close())
    assert.equal(closed.addressOf, undefined)
    const files = openS3Files({ ...settings, isRedirecting: true })
    t.after(() => files.close())
    const bytes = randomBytes(1000)
    await files.put('v/a', bytes)
    const answer = { type: 'video/mp4', cacheControl: 'private, max-age=5', disposition: 'attachment' }
    const address = new URL((await files.addressOf?.('v/a', answer)) ?? '')
    assert.ok(bytes.equals(Buffer.from(await (await fetch(address)).arrayBuffer())))
    // The store of the tests takes no notice of what it is told to say.
    assert.deepEqual(
      ['type', 'cache-control', 'disposition'].map(
        (name) =>
          address.searchParams.get(`response-content-${name}`) ??
          address.searchParams.get(`response-${name}`),
      ),
      ['video/mp4', 'private, max-age=5', 'attachment'],
    )
    assert.throws(() => files.addressOf?.('../a', answer), /is not a key/)
  })

  test('a store that goes away in the middle of a body is told, and what it kept is cleared away later', async (t) => {
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
    await assert.rejects(files.writePiece(handle, 1, 0, body()), isProblem('unreachable'))
    await store.restart()
    await files.abandonUpload(handle)
    await files.abortUnfinished([], inTwoHours())
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
    // Begun two hours ago: the lease, which is as old as the store says, was renewed since.
    store.backdateUploads(2 * 3_600_000)
    assert.deepEqual(await files.abortUnfinished(['v/'], new Date()), [])
    resolve()
    await put
    assert.ok(bytes.equals(await bytesOf(await files.read('v/long'))))
    assert.deepEqual(await Array.fromAsync(files.listUploads()), [])
  })

  test('multipart uploads of which nothing is known are aborted once they are old, and others are left alone', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const client = new S3Client({
      ...{ endpoint: store.endpoint, region: 'us-east-1', forcePathStyle: true },
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    t.after(() => client.destroy())
    const ours = ['v/a', 'v/a', 'v/b', '.uploads/x/piece', 'v/c']
    for (const Key of [...ours, 'elsewhere/a']) {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: 'videos', Key }))
      const part = { Bucket: 'videos', Key, UploadId, PartNumber: 1, Body: Buffer.from('x') }
      await client.send(new UploadPartCommand(part))
    }
    assert.deepEqual(await files.abortUnfinished(['v/'], new Date()), [])
    store.backdateUploads(2 * 3_600_000)
    assert.deepEqual((await files.abortUnfinished(['v/'], new Date())).sort(), ours.sort())
    assert.deepEqual(await store.openUploads(), ['elsewhere/a'])
  })

  const isPart = (method: string, path: string) => method === 'PUT' && path.includes('partNumber=')
  const isAbort = ({ method, path }: { method: string; path: string }) =>
    method === 'DELETE' && path.includes('uploadId=')

  test('a multipart upload is aborted only after its requests have ended', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    const held = () => store.requests.filter(({ state, path }) => state === 'held' && isPart('PUT', path))
    for (const end of ['breaks', 'is given up'] as const) {
      store.requests.length = 0
      const release = store.hold(isPart)
      const given = new AbortController()
      async function* body() {
        yield* streamed(randomBytes(17 * MiB))
        await waitFor(() => held().length === 2)
        if (end === 'breaks') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
        given.abort(new Error('given up'))
        await new Promise((done) => hanging.push(done))
      }
      const handle = await files.beginUpload('v/source')
      const writing = files.writePiece(handle, 1, 0, body(), given.signal)
      writing.catch(() => {})
      await waitFor(() => held().length === 2)
      // A request of its own that goes through shows that an abort could have come by now.
      await files.put('v/other', Buffer.from('x'))
      assert.ok(!store.requests.some(isAbort), 'aborted while its parts are on their way')
      release()
      await assert.rejects(writing, /aborted|given up/)
      assert.ok(store.requests.some(isAbort))
      assert.deepEqual(await store.openUploads(), [])
      assert.deepEqual(await Array.fromAsync(files.listUploads()), [])
    }
  })

  test('a part that is stored after the abort is aborted again', async (t) => {
    const store = await startS3Store(t)
    const files = openS3Files(store.settings)
    t.after(() => files.close())
    // As S3 does it: an abort takes what is there, and a part that was under way comes after it.
    store.ignoreAborts(2)
    await assert.rejects(files.put('v/source', cutOff(randomBytes(17 * MiB), 'breaks')), {
      code: 'ECONNRESET',
    })
    assert.equal(store.requests.filter(isAbort).length, 3)
    assert.deepEqual(await store.openUploads(), [])
  })

  test('an upload that is abandoned while its parts are joined leaves no part and no file', async (t) => {
    const store = await startS3Store(t)
    const [files, other] = [openS3Files(store.settings), openS3Files(store.settings)]
    t.after(() => Promise.all([files.close(), other.close()]))
    const handle = await files.beginUpload('v/source')
    const parts = cut(randomBytes(18 * MiB), 6 * MiB)
    const pieces = await Promise.all(
      parts.map(({ bytes, offset }, i) => files.writePiece(handle, i + 1, offset, streamed(bytes))),
    )
    const release = store.hold(isPart)
    store.requests.length = 0
    const joining = files.finishUpload(handle, 'v/source', pieces)
    joining.catch(() => {})
    await waitFor(() => store.requests.filter(({ method, path }) => isPart(method, path)).length === 3)
    await other.abandonUpload(handle)
    assert.ok(!store.requests.some(isAbort), 'aborted while parts are being copied')
    release()
    await assert.rejects(joining, FileMissing)
    assert.deepEqual(await store.openUploads(), [])
    assert.deepEqual(await listFolder(join(store.folder, 'buckets/videos/objects')), [])
  })

  test('parts are never too small or too large, and together they are the file', () => {
    const rounds: [sizes: number[], least: number, most: number][] = [
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
    for (const [sizes, least, most] of rounds) {
      const pieces = sizes.map((size, i) => ({ place: String(i), size }))
      const plan = planParts(pieces, least, most)
      const lengthOf = (part: Part) => part.reduce((sum, { from, to }) => sum + to - from + 1, 0)
      const told = `${sizes} -> ${JSON.stringify(plan)}`
      for (const part of plan.slice(0, -1)) assert.ok(lengthOf(part) >= least, told)
      for (const part of plan) assert.ok(lengthOf(part) > 0 && lengthOf(part) <= most, told)
      const bytes = plan.flat().flatMap(({ place, from, to }) => span(place, from, to))
      assert.deepEqual(
        bytes,
        pieces.flatMap(({ place, size }) => span(place, 0, size - 1)),
        told,
      )
    }
  })
})

const span = (place: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `${place}:${from + i}`)
