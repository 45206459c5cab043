import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { newOwnedName } from '../owner.ts'
import { inBatches, pump } from './body.ts'
import { finishUpload } from './disk-finish.ts'
import { codeOf, guarded, ifThere, makeFolder, moveTo, removeEmptyFolders, writeAt } from './disk-io.ts'
import { listFiles, listFirstNames } from './disk-list.ts'
import { batchBytes, claimsOf, readPiece, removePiece, wholeOf, writePiece } from './disk-upload.ts'
import {
  type Body,
  checkKey,
  FileMissing,
  type Files,
  FilesProblem,
  isHandle,
  mostHotBytes,
  type Piece,
  sizeOf,
} from './files.ts'
import { HotFiles } from './hot.ts'

/** Of files that viewers ask for. */
const mostOpen = 256
/** What is read only to be read: it does not matter that several write to it at once. */
const scratch = Buffer.allocUnsafeSlow(1024 * 1024)

/** Uploads and everything that is not yet whole are below `.uploads`, by handle: keys have no dot in front. */
export async function openDiskFiles(root: string): Promise<Files> {
  await mkdir(root, { recursive: true })
  const uploads = join(root, '.uploads')
  const pathOf = (key: string) => join(root, checkKey(key))
  const folderOf = (handle: string) => {
    if (!isHandle(handle)) throw new FileMissing(`there is no upload "${handle.slice(0, 80)}"`)
    return join(uploads, handle)
  }

  const hot = new HotFiles<FileHandle>({
    /** Reads it once, so that it is in the system's memory when it is sent. */
    open: guarded(async (key: string, size: number) => {
      const file = await ifThere(open(pathOf(key)))
      if (!file) throw new FileMissing(`there is no file ${key}`)
      try {
        for (let done = 0; done < size; ) {
          const { bytesRead } = await file.read(scratch, 0, scratch.length, done)
          if (bytesRead === 0) {
            await file.close()
            return undefined
          }
          done += bytesRead
        }
        return file
      } catch (error) {
        await file.close()
        throw error
      }
    }),
    // It was only read: nothing can be lost.
    close: (file) => void file.close().catch(() => {}),
    weightOf: () => 1,
    mostWeight: mostOpen,
  })

  /** Fills a file beside, then moves it to its key. */
  async function place<T>(key: string, fill: (path: string) => Promise<T>): Promise<T> {
    const target = pathOf(key)
    await makeFolder(root, uploads)
    const beside = folderOf(newOwnedName())
    try {
      const result = await fill(beside)
      await moveTo(root, beside, target)
      return result
    } catch (error) {
      await rm(beside, { force: true }).catch(() => {})
      throw error
    }
  }

  return {
    check: guarded(async () => {
      const probe = join(root, `.check-${randomUUID()}`)
      try {
        await writeFile(probe, 'x')
      } catch (error) {
        if (codeOf(error) === 'ENOENT') throw new FilesProblem('unreachable', error)
        throw error
      } finally {
        await rm(probe, { force: true })
      }
    }),

    read: guarded(async (key: string, range?: { from: number; to: number }) => {
      const file = await ifThere(open(pathOf(key)))
      if (!file) throw new FileMissing(`there is no file ${key}`)
      try {
        const found = await file.stat()
        // A folder can be opened as well.
        if (!found.isFile()) throw new FileMissing(`there is no file ${key}`)
        if (range && (range.from >= found.size || range.to < range.from)) {
          await file.close()
          return Readable.from([])
        }
        return file.createReadStream(range ? { start: range.from, end: range.to } : {})
      } catch (error) {
        await file.close()
        throw error
      }
    }),

    async hold(key, size, canTakeFile) {
      if (!canTakeFile || size > mostHotBytes) return undefined
      const held = await hot.hold(key, size)
      return held && { value: held.value.fd, release: held.release }
    },

    pathOf,

    stat: guarded(async (key: string) => {
      const found = await ifThere(stat(pathOf(key)))
      return found?.isFile() ? { size: found.size, modified: found.mtime } : undefined
    }),

    put: guarded((key: string, body: Body | Buffer) =>
      place(key, async (path) => {
        await using file = await open(path, 'wx')
        let written = 0
        const size = await pump(
          inBatches(Buffer.isBuffer(body) ? oneBuffer(body) : body, batchBytes),
          async (batch) => {
            await writeAt(file, batch, written)
            written += batch.size
          },
        )
        await file.sync()
        return { size }
      }),
    ),

    copy: guarded(async (from: string, to: string) => {
      const source = pathOf(from)
      if (!(await ifThere(stat(source)))?.isFile()) throw new FileMissing(`there is no file ${from}`)
      await place(to, async (path) => {
        await copyFile(source, path, constants.COPYFILE_FICLONE)
        await using file = await open(path, 'r+')
        await file.sync()
      })
    }),

    list: (prefix, onEmptyFolder) => listFiles(root, checkKey(prefix), onEmptyFolder),

    listNames: guarded((prefix: string, after: string, limit: number) =>
      listFirstNames(pathOf(prefix), after, limit),
    ),

    remove: guarded(async (prefix: string) => {
      const path = pathOf(prefix)
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
      await removeEmptyFolders(root, dirname(path))
    }),

    removeEmptyFolder: guarded((folder: string) => removeEmptyFolders(root, pathOf(folder))),

    beginUpload: guarded(async (key: string) => {
      checkKey(key)
      const handle = newOwnedName()
      await makeFolder(root, claimsOf(folderOf(handle)))
      return handle
    }),

    hasUpload: guarded(
      async (handle: string) => (await ifThere(stat(claimsOf(folderOf(handle))))) !== undefined,
    ),

    writePiece: guarded(
      (
        handle: string,
        _order: number,
        offset: number | undefined,
        body: Body,
        signal?: AbortSignal,
        length?: number,
      ) => writePiece(folderOf(handle), offset, body, signal, length),
    ),

    readPiece: guarded((handle: string, piece: Piece) => readPiece(folderOf(handle), piece)),

    removePiece: guarded((handle: string, piece: Piece) => removePiece(folderOf(handle), piece)),

    finishUpload: guarded(async (handle: string, key: string, pieces: Piece[]) => {
      await finishUpload(root, folderOf(handle), pathOf(key), pieces)
      return { size: sizeOf(pieces) }
    }),

    abandonUpload: guarded(async (handle: string) => {
      if (!isHandle(handle)) return
      await rm(folderOf(handle), { recursive: true, force: true, maxRetries: 3 })
    }),

    async *listUploads() {
      for (const handle of (await ifThere(readdir(uploads))) ?? []) {
        if (!isHandle(handle)) continue
        const folder = folderOf(handle)
        const parts = [folder, claimsOf(folder), wholeOf(folder)].map((path) => ifThere(stat(path)))
        const modifiedMs = Math.max(...(await Promise.all(parts)).map((found) => found?.mtimeMs ?? 0))
        if (modifiedMs > 0) yield { handle, modified: new Date(modifiedMs) }
      }
    },

    // A disk has no multipart uploads.
    abortUnfinished: async () => [],

    async close() {
      hot.close()
    },
  }
}

async function* oneBuffer(buffer: Buffer) {
  yield buffer
}
